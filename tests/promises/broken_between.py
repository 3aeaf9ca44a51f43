"""Gates broken on purpose between keeps and on the way out; ``holes`` says which promise falls with each."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from truekeep import Keep
from truekeep.errors import UnknownId
from truekeep.read.reader import RecordReader
from truekeep.screens.panel import Panel
from truekeep.screens.standard import LivePanel
from truekeep.stores.ledger import Ledger
from truekeep.stores.records import memory_from
from truekeep.trust.flow import decide
from truekeep.trust.flow.calls import ToolCall
from truekeep.trust.flow.decide import Answer, CallJudgement
from truekeep.trust.flow.evidence import SessionEvidence
from truekeep.trust.flow.reply import CheckedReply
from truekeep.types import Finding, Memory, Standing, Verdict

Patch = pytest.MonkeyPatch


# Between keeps


def _all_open(patch: Patch) -> weakref.WeakSet[Ledger]:
    """Every store that is open, as a service with one cache for all keeps would have them."""
    known, opened = weakref.WeakSet[Ledger](), Ledger.open

    def noted(self: Ledger) -> None:
        known.add(self)
        opened(self)

    patch.setattr(Ledger, "open", noted)
    return known


def _next_door(known: weakref.WeakSet[Ledger], own: Ledger, table: str, row_id: str) -> Any:
    """The row of that id in some other store."""
    for other in known:
        if other is not own and not other._closed and (place := other._verified.index.place(table, row_id)) is not None:
            return other._ours(table, [place])[0]
    return None


def ids_are_found_next_door(patch: Patch) -> None:
    """An id is an id, whichever keep made it."""
    known, get = _all_open(patch), Ledger.get
    patch.setattr(
        Ledger, "get", lambda self, table, name: get(self, table, name) or _next_door(known, self, table, name)
    )


def errors_tell_whose_it_is(patch: Patch) -> None:
    """Who asks for somebody else's memory is told that it is somebody else's."""
    known, found = _all_open(patch), Ledger.find_memory

    def find(self: Ledger, memory_id: str) -> Any:
        if _next_door(known, self, "memories", memory_id) is not None:
            raise UnknownId("That is another keep's.", code="not_yours")
        return found(self, memory_id)

    patch.setattr(Ledger, "find_memory", find)


def one_list_for_all(patch: Patch) -> None:
    """Who lists memories lists those of the home."""
    known, listed = _all_open(patch), Keep.get_memories

    def get_memories(self: Keep, **options: Any) -> list[dict[str, Any]]:
        others = (one for one in known if one is not self._ledger and not one._closed)
        return listed(self, **options) + [_entry(memory_from(row)) for one in others for row in one.all("memories")]

    patch.setattr(Keep, "get_memories", get_memories)


def _entry(memory: Memory) -> dict[str, Any]:
    return {"id": memory.id, "content": memory.text, "may_act": False, "blocked": True}


def a_write_lands_next_door(patch: Patch) -> None:
    """A write goes to the store that was opened last."""
    known, remember = _all_open(patch), Keep.remember

    def remembered(self: Keep, text: str, **fields: Any) -> Verdict:
        for other in known:
            if other is not self._ledger and not other._closed and fields.get("via") == "user":
                with other.writing() as entry:
                    entry.event("note.taken")
                    entry.put("working", f"note {entry.number}", {"note": text})
                    entry.event("note.kept")
        return remember(self, text, **fields)

    patch.setattr(Keep, "remember", remembered)


# On the way in and out


def yesterdays_rules_serve(patch: Patch) -> None:
    """The rules are those with which the keep was opened."""
    current = LivePanel.current
    patch.setattr(LivePanel, "current", lambda self: self._panel if hasattr(self, "_panel") else current(self))


def what_was_let_in_is_shown(patch: Patch) -> None:
    """Who passed the gate once is not asked again."""
    patch.setattr(RecordReader, "block_reason", lambda *_, **__: ())


def the_owner_is_not_screened(patch: Patch) -> None:
    """Whatever the owner hands over is the owner's."""
    examine = Panel.examine

    def examined(self: Panel, fields: Mapping[str, str], standing: Standing) -> list[Finding]:
        return [] if standing is Standing.OWNER else examine(self, fields, standing)

    patch.setattr(Panel, "examine", examined)


def reads_may_go_anywhere(patch: Patch) -> None:
    """Whoever only reads does no harm."""
    patch.setattr(decide, "_reading", lambda *_: CallJudgement(Answer.ALLOW, "reads", ("It only reads.",)))


def asking_once_asks_for_all(patch: Patch) -> None:
    """An effect goes through in every session, as in one that read nothing foreign."""
    judge_call = decide.judge_call

    def judged(evidence: SessionEvidence, call: ToolCall) -> CallJudgement:
        return judge_call(replace(evidence, clean=True), call)

    patch.setattr("truekeep.act.boundary.judge_call", judged)


def answers_are_shown_as_they_are(patch: Patch) -> None:
    """An answer is no call."""
    patch.setattr("truekeep.act.boundary.check_reply", lambda _, text: CheckedReply(text, ()))
