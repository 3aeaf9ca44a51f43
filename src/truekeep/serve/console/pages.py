"""The console's pages, in the order of the navigation."""

from __future__ import annotations

from truekeep.serve.console import assets, door, inbox

PAGES = (inbox,)
"""A page is a module with a ``router`` and an ``ENTRY``."""
ENTRIES = tuple(page.ENTRY for page in PAGES)
ROUTERS = (assets.router, door.router, *(page.router for page in PAGES))
