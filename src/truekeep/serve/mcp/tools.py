"""Tools: what each of them does over the handle it is bound to, and with the person's yes if they give it.

An agent's words go through the agent's handle. Only ``_owners`` speaks over the person's channel, and only with a reply
in which that person said yes to the text, the memory or the call that they were shown.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_types import CallToolResult

from truekeep.errors import InvalidRequest
from truekeep.serve.mcp import answers
from truekeep.serve.mcp.arguments import (
    AddMemories,
    AddMemory,
    Arguments,
    CheckAction,
    DeleteMemory,
    GetMemories,
    MemorySnapshot,
    Pending,
    SearchMemories,
    UpdateMemory,
    checked,
)
from truekeep.serve.mcp.asking import Asking, PersonAnswer, PersonCall, PersonReply, Result
from truekeep.serve.mcp.pending import pending
from truekeep.serve.mcp.questions import (
    Question,
    Unaskable,
    about_action,
    about_change,
    about_deletion,
)
from truekeep.serve.mcp.saving import CONFIRMED, add_memories, add_memory
from truekeep.types import Decision, Verdict

if TYPE_CHECKING:
    from truekeep.incident.records import Forgotten
    from truekeep.keep import Keep

_NOBODY = PersonReply(PersonAnswer.NOT_ASKED)


async def update_memory(call: PersonCall, given: UpdateMemory, asking: Asking) -> Result:
    """Change what a memory says: the owner's yes does it, an agent's wish is its own to change or a proposal."""
    binding = call.binding
    memory = await _seen(call, given.id)
    question: Question | Unaskable = about_change(memory["content"], given.text)
    if isinstance(question, Question) and binding.owner is not None:
        question = await binding.as_host(lambda keep: _worth_asking(keep, question, call))

    async def then(reply: PersonReply) -> CallToolResult:
        if reply.answer is PersonAnswer.YES:
            return await _owners(call, reply, lambda keep, via: _change(keep, via, call, memory, reply))
        verdict = await binding.as_agent(lambda handle: handle.update_memory(given.id, given.text))
        return await _written(call, verdict, reply)

    return await asking.ask(call, question, then)


async def delete_memory(call: PersonCall, given: DeleteMemory, asking: Asking) -> Result:
    """Delete a memory: the owner's yes does it, an agent's wish waits for review."""
    if bool(given.id) == bool(given.about):
        raise InvalidRequest("Pass an id, or what to forget.", code="invalid_arguments", hint="One of both.")
    if given.about:
        return await _forget(call, given.about, asking)
    memory = await _seen(call, given.id)

    async def then(reply: PersonReply) -> CallToolResult:
        if reply.answer is PersonAnswer.YES:
            return await _owners(call, reply, lambda keep, via: _delete(keep, via, memory))
        verdict = await call.binding.as_agent(lambda handle: handle.delete_memory(given.id))
        return await _written(call, verdict, reply)

    question: Question | Unaskable = about_deletion(memory["content"])
    if "delete" not in call.binding.allowed:
        question = Unaskable("token_may_not_delete")
    return await asking.ask(call, question, then)


async def _forget(call: PersonCall, about: str, asking: Asking) -> Result:
    """Have what the owner said about something forgotten: their yes to just these texts does it."""
    meant = await call.binding.as_agent(lambda handle: handle.forget(about, dry_run=True))
    if not meant.matches:
        raise InvalidRequest("Nothing the owner said is about that.", code="nothing_found", hint="Name it otherwise.")
    ids = [match.memory_id for match in meant.matches]
    memories = [await _seen(call, one) for one in ids]

    async def then(reply: PersonReply) -> CallToolResult:
        if reply.answer is PersonAnswer.YES:
            via = call.person
            done = await call.binding.as_host(lambda keep: _forget_seen(keep, via, memories))
            verdict = Verdict(Decision.ACCEPT, "deleted", "Forgotten; the owner can undo it.", memory_id=done.id)
        else:
            asked = await call.binding.as_agent(lambda handle: handle.forget(ids))
            verdict = Verdict(Decision.QUARANTINE, asked.code, asked.reason, item_id=next(iter(asked.items), None))
        return await _written(call, verdict, reply)

    question = about_deletion(" / ".join(memory["content"] for memory in memories))
    if "delete" not in call.binding.allowed:
        question = Unaskable("token_may_not_delete")
    return await asking.ask(call, question, then)


def _forget_seen(keep: Keep, via: str, memories: Sequence[dict[str, Any]]) -> Forgotten:
    """Forget the memories that the person was shown, as they were shown."""
    for memory in memories:
        _unchanged(keep, memory)
    return keep.forget([memory["id"] for memory in memories], via=via)


async def get_memories(call: PersonCall, given: GetMemories, _: Asking) -> Result:
    """A page of all memories, in the order in which they were stored."""
    after = given.cursor or None
    page = await call.binding.as_agent(lambda handle: handle.get_memories(after=after, limit=given.limit))
    return answers.listed(page, given.limit)


async def search_memories(call: PersonCall, given: SearchMemories, _: Asking) -> Result:
    """The memories that answer a query."""
    found = await call.binding.as_agent(
        lambda handle: handle.recall(
            given.query, k=given.k, influence_only=given.may_act_only, background=not given.may_act_only
        )
    )
    return answers.found(found)


async def memory_snapshot(call: PersonCall, given: MemorySnapshot, _: Asking) -> Result:
    """The frozen text of this session."""
    return answers.frozen(await call.binding.as_agent(lambda handle: handle.snapshot(refresh=given.refresh)))


async def check_action(call: PersonCall, given: CheckAction, asking: Asking) -> Result:
    """Whether a call may be made; what has to be confirmed is put to the owner."""
    judged = await call.binding.as_agent(lambda handle: handle.check_action(given.name, given.arguments))
    if judged.decision != "confirm" or judged.ticket is None:
        return answers.judged(judged, _NOBODY)
    ticket = judged.ticket

    async def then(reply: PersonReply) -> CallToolResult:
        if reply.answer is PersonAnswer.YES:
            via = call.person
            await call.binding.as_host(lambda keep: keep.actions.confirm(ticket, via=via))
        return answers.judged(judged, reply)

    asked = await call.binding.as_host(lambda keep: keep.actions.question(str(ticket)))
    return await asking.ask(call, about_action(given.name, given.arguments, judged.reasons, asked), then)


Does = Callable[[PersonCall, Any, Asking], Awaitable[Result]]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: what it takes, what it gives and what it does."""

    takes: type[Arguments]
    gives: type[Any]
    does: Does

    async def run(self, call: PersonCall, asking: Asking) -> Result:
        """Check the arguments, then do it."""
        return await self.does(call, checked(self.takes, call.params.arguments), asking)


TOOLS: dict[str, Tool] = {
    "add_memory": Tool(AddMemory, answers.WrittenResult, add_memory),
    "add_memories": Tool(AddMemories, answers.WrittenResults, add_memories),
    "update_memory": Tool(UpdateMemory, answers.WrittenResult, update_memory),
    "get_memories": Tool(GetMemories, answers.Listed, get_memories),
    "search_memories": Tool(SearchMemories, answers.Listed, search_memories),
    "delete_memory": Tool(DeleteMemory, answers.WrittenResult, delete_memory),
    "memory_snapshot": Tool(MemorySnapshot, answers.Frozen, memory_snapshot),
    "check_action": Tool(CheckAction, answers.JudgedResult, check_action),
    "pending": Tool(Pending, answers.PendingResult, pending),
}


async def _owners(call: PersonCall, reply: PersonReply, work: Callable[[Keep, str], Verdict]) -> CallToolResult:
    """Do over the person's channel what they said yes to."""
    via = call.person
    return await _written(call, await call.binding.as_host(lambda keep: work(keep, via)), reply)


def _change(keep: Keep, via: str, call: PersonCall, memory: dict[str, Any], reply: PersonReply) -> Verdict:
    _unchanged(keep, memory)
    fields = {"session": call.binding.session, "metadata": CONFIRMED}
    return keep.update_memory(memory["id"], reply.shown, via=via, **fields)  # type: ignore[arg-type]


def _delete(keep: Keep, via: str, memory: dict[str, Any]) -> Verdict:
    _unchanged(keep, memory)
    return keep.delete_memory(memory["id"], via=via, reason="asked for by an agent, confirmed over mcp")


def _unchanged(keep: Keep, memory: dict[str, Any]) -> None:
    """The person's yes was to what they saw."""
    now = keep.get_memory(memory["id"])
    if (now["version"], now["content"]) != (memory["version"], memory["content"]):
        raise InvalidRequest(
            "The memory was changed while the person was asked.", code="changed_meanwhile", hint="Call the tool again."
        )


async def _seen(call: PersonCall, memory_id: str) -> dict[str, Any]:
    """A memory as it is shown; for a channel that may not read it is as if it did not exist to be shown."""
    return await call.binding.as_host(lambda keep: keep.get_memory(memory_id))


def _worth_asking(keep: Keep, question: Question | Unaskable, call: PersonCall) -> Question | Unaskable:
    """Nobody is asked about what would be refused from them, too: a poison is not put before a person."""
    if isinstance(question, Unaskable):
        return question
    verdict = keep.weigh(question.shown, via=call.person)
    return Unaskable("would_be_refused") if verdict.decision is Decision.REJECT else question


async def _written(call: PersonCall, verdict: Verdict, reply: PersonReply) -> CallToolResult:
    is_there = verdict.memory_id is not None and verdict.code != "deleted"
    stored = await _seen(call, str(verdict.memory_id)) if is_there else None
    return answers.written(verdict, reply, stored)
