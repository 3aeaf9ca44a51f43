"""Pending: what waits for the person, as a tool, and one dialog in which they can say yes to several notes at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_types import CallToolResult

from truekeep.quarantine.noted import goes_with_others
from truekeep.review.decisions import is_note, item_etag
from truekeep.serve.mcp import answers
from truekeep.serve.mcp.arguments import Pending
from truekeep.serve.mcp.asking import Asking, PersonAnswer, PersonCall, PersonReply, Result
from truekeep.serve.mcp.questions import MOST_TOGETHER, Question, Unaskable, about_saving
from truekeep.serve.mcp.visible import one_paragraph
from truekeep.trust.origin import is_moved

if TYPE_CHECKING:
    from truekeep.keep import Keep
    from truekeep.types import Item

_BY, _YES, _NO = "owner", "confirmed in the client", "declined in the client"
_MOST_SHOWN = 50
"""Notes that are shown; all are counted."""


async def pending(call: PersonCall, given: Pending, asking: Asking) -> Result:
    """What waits; with ``ask`` the person is asked about as many of the notes as one dialog holds."""
    notes = await call.binding.as_host(_notes)
    chosen, question = _together(notes) if given.ask else ([], Unaskable(""))

    async def then(reply: PersonReply) -> CallToolResult:
        done = await call.binding.as_host(lambda keep: _decided(keep, chosen, reply))
        return await call.binding.as_host(lambda keep: _told(keep, call, reply, done))

    return await asking.ask(call, question, then)


def _notes(keep: Keep) -> list[Item]:
    """The agent's notes that wait; what is held back for other reasons is for people's eyes."""
    return [item for item in keep.review.list() if is_note(item) and not is_moved(item.memory.origin)]


def _together(notes: list[Item]) -> tuple[list[Item], Question | Unaskable]:
    """The notes of one dialog, oldest first: several plain ones, or one that has to be looked at by itself."""
    plain = [item for item in notes if goes_with_others(item)]
    chosen: list[Item] = []
    for item in (plain or notes[:1])[:MOST_TOGETHER]:
        if isinstance(about_saving([one_paragraph(one.memory.text) for one in (*chosen, item)]), Question):
            chosen.append(item)
    if not chosen:
        return [], Unaskable("cannot_be_shown_verbatim" if notes else "nothing_waits")
    return chosen, about_saving([one_paragraph(item.memory.text) for item in chosen])


def _decided(keep: Keep, chosen: list[Item], reply: PersonReply) -> int:
    """Carry the person's answer out; what was decided or changed meanwhile stays as it is. How many were confirmed."""
    if reply.answer is PersonAnswer.YES:
        seen = [(item.id, item_etag(item)) for item in chosen]
        told = keep.review.decide(seen, approve=True, by=_BY, reason=_YES)
        return sum(code == "done" for code in told.values())
    if reply.answer is PersonAnswer.NO and len(chosen) == 1:
        # Of several nobody can tell which one was meant: they go on waiting, and can be looked at one by one.
        keep.review.leave(chosen[0].id, by=_BY, reason=_NO)
    return 0


def _told(keep: Keep, call: PersonCall, reply: PersonReply, confirmed: int) -> CallToolResult:
    notes = _notes(keep)
    shown = [keep.get_memory(item.memory.id) for item in notes[:_MOST_SHOWN] if _is_there(keep, item)]
    actions = [one.action for one in keep.actions.pending(call.binding.session)]
    return answers.pending(shown, len(notes), answers.waiting(keep.review.noted()), actions, reply, confirmed)


def _is_there(keep: Keep, item: Item) -> bool:
    return keep.review.known(item.memory.text) is not None
