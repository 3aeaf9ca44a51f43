"""Pins: the definitions of a server's tools as they were first met or accepted, sealed in the sidecar keep.

A description is text that a model obeys. A server that is harmless on the day it is installed can change it later (a
"rug pull"), so a definition that is not the pinned one is held: the tool is not offered and not called until somebody
has read the difference and accepted it. A definition in which the rules see a threat is held from the beginning.

The pins are the declared tools of a session that nobody talks in, so they are sealed, audited and restored with
everything else.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truekeep.scan import scan_content
from truekeep.trust import fence
from truekeep.trust.flow.tools import Tool, definition_hash

if TYPE_CHECKING:
    from truekeep.keep import Keep

_DEFINITION = "definition"
_LONGEST = 64_000
"""The longest definition that is screened; nobody reads more, so a longer one is held."""
_MOST_KEPT = 1_000
"""Names of one server that are pinned or noted, twice the most that it may list: one that lists others each time it is
asked does not fill the keep. What comes beyond is held."""


@dataclass(frozen=True, slots=True)
class HeldTool:
    """A tool that is withheld, and why."""

    name: str
    why: str
    """``changed``, ``new`` or ``threat``."""
    pinned: Mapping[str, Any] | None
    offered: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """What an acceptance is bound to: just this definition, and not one that comes after it."""
        return digest_of(self.offered)

    def difference(self) -> list[str]:
        """The change line by line, sanitised."""
        return list(difflib.unified_diff(_lines(self.pinned), _lines(self.offered), "pinned", "offered", lineterm=""))


def digest_of(definition: Mapping[str, Any]) -> str:
    """One hash over everything of a definition."""
    return definition_hash(str(definition.get("name", "")), "", definition)


class PinnedTools:
    """The pinned definitions of one server, by the name that the operator gave it."""

    def __init__(self, keep: Keep, server: str) -> None:
        self._keep = keep
        self._session = f"protect-mcp-pins-{server}"
        self._noted = f"protect-mcp-held-{server}"
        for name in (self._session, self._noted):
            keep.session(name, learn=False)

    def sort(self, offered: Iterable[Mapping[str, Any]], *, first_use: bool) -> tuple[list[str], list[HeldTool]]:
        """Which of the offered tools are as pinned, and which are held. ``first_use`` pins what was never met."""
        passed, held, fresh = [], [], list[Mapping[str, Any]]()
        known = self._kept(self._session)
        for definition in offered:
            name = str(definition["name"])
            pinned = known.get(name)
            has_room = len(known) + len(fresh) < _MOST_KEPT
            why = _why_held(pinned, definition, first_use=first_use and has_room)
            if why:
                held.append(HeldTool(name, why, pinned, definition))
                continue
            passed.append(name)
            if pinned is None:
                fresh.append(definition)
        self._put(self._session, fresh)
        return passed, held

    def note(self, held: Iterable[HeldTool]) -> None:
        """Keep what is withheld where whoever decides can read it without starting the server."""
        known = self._kept(self._noted)
        anew = [one.offered for one in held if known.get(one.name) != one.offered]
        again = [one for one in anew if one["name"] in known]
        room = max(0, _MOST_KEPT - len(known))
        self._put(self._noted, again + [one for one in anew if one["name"] not in known][:room])

    def noted(self) -> list[HeldTool]:
        """What is withheld, as it was offered last, and is not pinned by now."""
        found, accepted = [], self._kept(self._session)
        for name, offered in self._kept(self._noted).items():
            pinned = accepted.get(name)
            if pinned is None or digest_of(pinned) != digest_of(offered):
                found.append(HeldTool(name, _why_held(pinned, offered, first_use=False), pinned, offered))
        return found

    def accept(self, held: HeldTool) -> None:
        """Pin a definition that somebody has read."""
        self._put(self._session, [held.offered])

    def _put(self, session: str, definitions: Iterable[Mapping[str, Any]]) -> None:
        tools = [Tool(str(one["name"]), schema={_DEFINITION: dict(one)}) for one in definitions]
        if tools:
            self._keep.session(session, tools=tools, learn=False)

    def _kept(self, session: str) -> dict[str, Mapping[str, Any]]:
        """The definitions that a session holds, by name."""
        tools = self._keep.actions.declared(session).items()
        kept = {name: tool.schema.get(_DEFINITION) for name, tool in tools}
        return {name: one for name, one in kept.items() if isinstance(one, Mapping)}


def _why_held(pinned: Mapping[str, Any] | None, offered: Mapping[str, Any], *, first_use: bool) -> str:
    if pinned is not None:
        return "" if digest_of(pinned) == digest_of(offered) else "changed"
    text = json.dumps(offered, ensure_ascii=False)
    if len(text) > _LONGEST or scan_content(text):
        return "threat"
    return "" if first_use else "new"


def _lines(definition: Mapping[str, Any] | None) -> list[str]:
    if definition is None:
        return []
    text = json.dumps(_plain(definition), indent=2, sort_keys=True, ensure_ascii=False)
    return [fence.sanitised(line) for line in text.split("\n")]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
