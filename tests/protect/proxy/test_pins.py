"""Pins of a server that lists something else each time it is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from truekeep import Keep
from truekeep.config import Settings
from truekeep.protect.proxy.held import HeldTools, waiting


def _tools(listing: int, count: int = 400) -> list[dict[str, Any]]:
    schema = {"type": "object", "properties": {"item": {"type": "string"}}}
    return [
        {"name": f"list_{listing}_{number}", "description": "Lists the shelves.", "inputSchema": schema}
        for number in range(count)
    ]


@pytest.mark.slow
def test_a_server_with_other_tools_at_each_listing_does_not_fill_the_keep(tmp_path: Path) -> None:
    with Keep.open("alice", home=tmp_path, settings=Settings(embedder="none"), background=False) as keep:
        held = HeldTools(keep, "shop")
        passed = [len(held.passed(_tools(listing))) for listing in range(6)]
        assert passed == [400, 400, 200, 0, 0, 0]
        assert held.is_held("list_5_0")
        assert len(waiting(keep, "shop")) == 1_000
        assert len(held.passed(_tools(0))) == 400, "what was pinned stays so"
        events = keep.audit.head
        held.passed(_tools(9))
        assert keep.audit.head == events, "what is not noted writes nothing"
