"""Held tools: what is withheld of a server, kept in the sidecar until somebody has read it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from truekeep.errors import InvalidRequest, UnknownId
from truekeep.protect.proxy.pins import HeldTool, PinnedTools

if TYPE_CHECKING:
    from truekeep.keep import Keep


class HeldTools:
    """What of one server's tools is offered, and what is held. ``first_use`` pins what was never met before."""

    def __init__(self, keep: Keep, server: str, *, first_use: bool = True) -> None:
        self.server = server
        self._pins = PinnedTools(keep, server)
        self._first_use = first_use
        self._held: dict[str, HeldTool] = {}

    def passed(self, definitions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The definitions that are as they were pinned; the others are noted for whoever decides."""
        names, held = self._pins.sort(definitions, first_use=self._first_use)
        self._held = {one.name: one for one in held}
        self._pins.note(held)
        return [one for one in definitions if one["name"] in set(names)]

    def is_held(self, name: str) -> bool:
        """Whether a tool is there and withheld."""
        return name in self._held

    def held(self) -> list[HeldTool]:
        """What was withheld when the tools were looked at last."""
        return list(self._held.values())


def waiting(keep: Keep, server: str) -> list[HeldTool]:
    """The tools of a server that wait for somebody, as they were offered last."""
    return PinnedTools(keep, server).noted()


def accept(keep: Keep, server: str, tool: str, digest: str) -> HeldTool:
    """Pin what a tool was last offered as, if that is still what was read."""
    found = next((one for one in waiting(keep, server) if one.name == tool and one.digest.startswith(digest)), None)
    if found is None or len(digest) < 12:
        raise UnknownId(
            "Nothing of that name and hash is held.",
            code="unknown_held_tool",
            hint="List what is held with 'truekeep protect mcp accept SERVER'.",
        )
    PinnedTools(keep, server).accept(found)
    return found


def as_table(held: HeldTool) -> Mapping[str, Any]:
    """A held tool for people and programs."""
    return {"tool": held.name, "why": held.why, "hash": held.digest[:16], "difference": held.difference()}


def checked_name(server: str) -> str:
    """The operator's name for a server: it names the pins, so it is plain."""
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,60}", server):
        raise InvalidRequest("A server's name is letters, digits, '-', '_' and '.'.", code="invalid_server_name")
    return server
