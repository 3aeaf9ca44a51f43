"""The console's pages, in the order of the navigation."""

from __future__ import annotations

from truekeep.serve.console import (
    assets,
    audit,
    bulk,
    calls,
    dashboard,
    deciding,
    door,
    inbox,
    incident,
    memories,
    rewinding,
    source,
)

PAGES = (inbox, calls, memories, incident, audit, dashboard)
"""A page is a module with a ``router`` and an ``ENTRY``."""
ENTRIES = tuple(page.ENTRY for page in PAGES)
_BESIDE = (assets, door, deciding, bulk, source, rewinding)
"""What pages send their forms to, and what all of them use."""
ROUTERS = tuple(module.router for module in (*_BESIDE, *PAGES))
