"""The console's pages, in the order of the navigation."""

from __future__ import annotations

from truekeep.serve.console import assets, audit, dashboard, door, inbox, incident, memories, rewinding

PAGES = (inbox, memories, incident, audit, dashboard)
"""A page is a module with a ``router`` and an ``ENTRY``."""
ENTRIES = tuple(page.ENTRY for page in PAGES)
ROUTERS = (assets.router, door.router, rewinding.router, *(page.router for page in PAGES))
