"""Saving: one fact or several, put to the person in one dialog, and nothing asked or stored twice.

What the person says yes to is their own word. What they were not asked about is the agent's note and waits for them:
``pending`` and the console put it to them later. What they declined stays a note and is not asked about again. A text
that names an account, an address or a link is never confirmed in a row with others, where it could go unread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mcp_types import CallToolResult

from truekeep.serve.mcp import answers
from truekeep.serve.mcp.arguments import AddMemories, AddMemory
from truekeep.serve.mcp.asking import Asking, PersonAnswer, PersonCall, PersonReply, Result
from truekeep.serve.mcp.questions import Question, Unaskable, about_saving
from truekeep.serve.mcp.visible import one_paragraph
from truekeep.text.salient import names_a_target
from truekeep.trust.origin import AGENT
from truekeep.types import MEMBER, Decision, Verdict

if TYPE_CHECKING:
    from truekeep.keep import Keep

CONFIRMED = {"confirmed_over": "mcp"}
"""What is noted on a memory that its owner let in by answering a question in their client."""
_BY, _NO = "owner", "declined in the client"
_WAITS, _DECLINED = "waits_already", "declined_before"
_APART, _TOO_MANY = "names_a_target", "too_long_to_show"


@dataclass(frozen=True, slots=True)
class WantedFact:
    """A text that an agent wants to save, and what is known of it."""

    text: str
    known: str | None = None
    """The memory that says the same already."""
    why: str = ""
    """Why the person is not asked about it, as a code; empty if they may be."""


@dataclass(frozen=True, slots=True)
class SavedFact:
    """What became of one text."""

    verdict: Verdict
    reply: PersonReply
    stored: dict[str, object] | None


async def add_memory(call: PersonCall, given: AddMemory, asking: Asking) -> Result:
    """Save a text: as the owner's words if they say yes, else as what the agent says."""

    async def told(saved: Sequence[SavedFact]) -> CallToolResult:
        return answers.written(saved[0].verdict, saved[0].reply, saved[0].stored)

    return await _save(call, [given.text], asking, told)


async def add_memories(call: PersonCall, given: AddMemories, asking: Asking) -> Result:
    """Save several texts with one question."""

    async def told(saved: Sequence[SavedFact]) -> CallToolResult:
        return answers.written_all([(one.verdict, one.reply, one.stored) for one in saved])

    texts = list(dict.fromkeys(given.texts))
    return await _save(call, texts, asking, told)


async def _save(call: PersonCall, texts: Sequence[str], asking: Asking, told: answers.Told) -> Result:
    wanted = await call.binding.as_host(lambda keep: [_wanted(keep, text, call) for text in texts])
    wanted, question = _to_ask(wanted)

    async def then(reply: PersonReply) -> CallToolResult:
        return await told([await _saved(call, one, reply) for one in wanted])

    return await asking.ask(call, question, then)


def _wanted(keep: Keep, text: str, call: PersonCall) -> WantedFact:
    """What is known of a text, and whether the person may be asked about it at all."""
    known = _known(keep, text, call)
    if known is not None:
        return known
    asked = about_saving([one_paragraph(text)])
    if isinstance(asked, Unaskable):
        return WantedFact(text, why=asked.why)
    owner = call.binding.owner
    if owner is not None and keep.weigh(one_paragraph(text), via=owner).decision is Decision.REJECT:
        # Nobody is asked about what would be refused from them, too: a poison is not put before a person.
        return WantedFact(text, why="would_be_refused")
    return WantedFact(text)


def _known(keep: Keep, text: str, call: PersonCall) -> WantedFact | None:
    """What a text is known as, for a channel that may read: the owner's word that acts, or a note."""
    binding, owner = call.binding, call.binding.owner or ""
    if "read" not in binding.allowed or not keep.channels.get(binding.channel).may("read"):
        return None
    found = keep.review.known(text, member=owner.removeprefix(MEMBER) if owner.startswith(MEMBER) else None)
    if found is None:
        return None
    if keep.get_memory(found.id)["may_act"]:
        return WantedFact(text, found.id, "known")
    if found.origin.channel != AGENT:
        return None  # the owner's word that does not act now can be confirmed anew
    item = keep.review.note_waits(found.id)
    return WantedFact(text, found.id, _WAITS if item is not None and item.state == "open" else _DECLINED)


def _to_ask(wanted: Sequence[WantedFact]) -> tuple[list[WantedFact], Question | Unaskable]:
    """The question about all that fits into one, and why the rest is not in it."""
    asked: list[str] = []
    marked: list[WantedFact] = []
    for one in wanted:
        shown, why = one_paragraph(one.text), one.why
        if not why and len(wanted) > 1 and names_a_target(shown):
            why = _APART
        if not why and isinstance(about_saving([*asked, shown]), Unaskable):
            why = _TOO_MANY
        if not why:
            asked.append(shown)
        marked.append(replace(one, why=why))
    return marked, about_saving(asked) if asked else Unaskable(marked[0].why)


async def _saved(call: PersonCall, one: WantedFact, reply: PersonReply) -> SavedFact:
    """Do with one text what the person's answer, or its absence, means for it."""
    mine = PersonReply(PersonAnswer.NOT_ASKED, one.why) if one.why else reply
    if one.known is not None:
        verdict = Verdict(Decision.ACCEPT, "known", "It is remembered already.", memory_id=one.known)
    elif mine.answer is PersonAnswer.YES:
        shown, via = one_paragraph(one.text), call.person
        verdict = await call.binding.as_host(
            lambda keep: keep.remember(shown, via=via, session=call.binding.session, metadata=CONFIRMED)
        )
    else:
        verdict = await call.binding.as_agent(lambda handle: handle.remember(one.text))
        verdict = await call.binding.as_host(lambda keep: _waiting(keep, verdict, mine))
    is_there = verdict.memory_id is not None
    stored = await call.binding.as_host(lambda keep: keep.get_memory(str(verdict.memory_id))) if is_there else None
    return SavedFact(verdict, mine, stored)


def _waiting(keep: Keep, verdict: Verdict, reply: PersonReply) -> Verdict:
    """A new note waits for the person; one that they declined stays a note, and is not asked about again."""
    item = keep.review.note_waits(verdict.memory_id) if verdict.accepted and verdict.memory_id else None
    if item is None:
        return verdict
    if item.state != "open":
        return verdict
    if reply.answer is PersonAnswer.NO:
        keep.review.leave(item.id, by=_BY, reason=_NO)
        return verdict
    return replace(verdict, item_id=item.id)
