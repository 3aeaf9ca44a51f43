"""The mediator: what every adapter does, without any framework.

It opens a mediated session for each conversation, reports everything that enters the agent's context, gives the block
of memories for the prompt, and answers each call. It fails closed:

- What cannot be reported now is kept and reported before the next call is judged; while it cannot be, calls are denied.
- What truekeep refuses to take in (too long, not Unicode) is reported as something foreign that nobody could look at.
- An error while a call is judged denies that call. No method of a conversation raises, so the conversation goes on.
- Messages that truekeep never saw are foreign, whoever the framework says they are from; only what stands at the end of
  a context when a run starts is the owner's.

Nothing of a conversation is logged: a log line has the kind of an error and its code.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from truekeep.adapters.calls import AgentCall, CallPermit, ContextEntry, EntryKind, OfferedTool, as_json, mark_of
from truekeep.adapters.permits import CallPermits
from truekeep.adapters.reports import UNSEEN, SessionReports, code_of, log, logger
from truekeep.errors import InvalidRequest
from truekeep.trust import fence
from truekeep.trust.flow.tools import Tool, tool_for

if TYPE_CHECKING:
    from truekeep.keep import Keep
    from truekeep.sessions.transcripts import Observation

_MOST_CONVERSATIONS = 1_024
"""Conversations that are kept at hand; one that comes back later is known from the store."""
_LONGEST_PLAIN_NAME = 120
"""Longer names of conversations are hashed; a session's name has room for the parts that sub-agents add."""


@dataclass(frozen=True, slots=True)
class Delegation:
    """The call in which a sub-agent is started."""

    parent: MediatedConversation
    call: AgentCall
    children: list[MediatedConversation] = field(default_factory=list)

    def wrote(self, entry: ContextEntry) -> bool:
        """Whether a sub-agent's prompt is just what the agent wrote: what the tool's code adds may be anybody's."""
        try:
            given = self.call.plain().values()
        except InvalidRequest:
            return False
        return not entry.attached and entry.text.strip() in {one.strip() for one in given if isinstance(one, str)}


_running: ContextVar[Delegation | None] = ContextVar("truekeep_running_call", default=None)


def running_conversation(keep: Keep) -> MediatedConversation | None:
    """The conversation whose call is being carried out just here, if it is one of this keep's."""
    delegation = _running.get()
    return delegation.parent if delegation is not None and delegation.parent.mediator.keep is keep else None


class Mediator:
    """The conversations of one keep. ``tools`` are the operator's declarations, which count before a framework's.

    ``pins`` are the hashes (``Tool.digest``) of definitions that the operator has read, for tools that come from
    elsewhere. ``trust_hints`` believes what servers say of their own tools. ``member`` says for whom the conversations
    act in a shared keep. ``learn=False`` keeps nothing of what is said in them.
    """

    def __init__(
        self,
        keep: Keep,
        *,
        tools: Iterable[Tool] = (),
        pins: Iterable[str] = (),
        trust_hints: bool = False,
        member: str | None = None,
        learn: bool = True,
    ) -> None:
        self.keep = keep
        self.tools = {tool.name: tool for tool in tools}
        self.pins = frozenset(pins)
        self.trust_hints = trust_hints
        self.member = member
        self.learn = learn
        self._conversations: OrderedDict[str, MediatedConversation] = OrderedDict()
        self._lock = threading.Lock()

    def conversation(self, name: str | None = None, *, parent: str | None = None) -> MediatedConversation:
        """The conversation of that name; without one, a new one. ``parent`` is the session that it goes on from.

        Inside a call of another conversation it is a sub-agent's, and goes on from that one.
        """
        delegation = _running.get()
        if delegation is None:
            return self._get(_session_name(name) if name else f"run-{uuid4().hex}", parent)
        place = hashlib.sha256(delegation.call.id.encode(errors="replace")).hexdigest()[:12]
        is_same = delegation.parent.mediator.keep is self.keep
        above = delegation.parent.name if is_same else None
        child = self._get(f"{delegation.parent.name}/{place}"[-200:], above)
        child.delegation = delegation
        if not is_same:
            child.missed("it was started by a conversation of another keep")
        if child not in delegation.children:
            delegation.children.append(child)
        return child

    def _get(self, name: str, parent: str | None) -> MediatedConversation:
        with self._lock:
            if name not in self._conversations:
                self._conversations[name] = MediatedConversation(self, name, parent)
            self._conversations.move_to_end(name)
            while len(self._conversations) > _MOST_CONVERSATIONS:
                self._conversations.popitem(last=False)
            return self._conversations[name]

    @property
    def owner(self) -> str:
        """The channel of whom the conversations act for."""
        return f"member:{self.member}" if self.member else "user"


class MediatedConversation:
    """One conversation of an agent's or of a sub-agent's. No method raises; any thread may call it."""

    def __init__(self, mediator: Mediator, name: str, parent: str | None = None) -> None:
        self.mediator = mediator
        self.name = name
        self.delegation: Delegation | None = None
        self.unmediated = ""
        """Why it does not count as mediated; empty if it does."""
        self._keep = mediator.keep
        self._parent = parent
        self._lock = threading.RLock()
        self._reports = SessionReports(self._keep, name, mediator.owner, self._begin)
        self._seen: Counter[str] = Counter()
        self._prompts: dict[str, set[str]] = {}
        self._offered: dict[str, tuple[OfferedTool, str]] = {}
        self._permits = CallPermits(self._keep, name, mediator.owner, self._reports)
        self._children: dict[str, list[MediatedConversation]] = {}
        self._said = ""
        self._recollect()

    # What comes in

    def offer(self, tools: Sequence[OfferedTool]) -> None:
        """Declare the tools that the model is shown. What somebody else wrote about them is foreign, unless pinned."""
        with self._lock:
            fresh = [tool for tool in tools if not self._is_offered(tool)]
            if not fresh:
                return
            self._offered |= {tool.name: (tool, tool.texts) for tool in fresh}
            self._reports.add(lambda: self._declare(fresh))
            for tool in fresh:
                if not tool.is_programs and tool.digest not in self.mediator.pins:
                    self._reports.foreign(tool.texts, f"definition of {tool.name}")

    def provider_side(self, what: str, *, where: str = "at the model's provider") -> None:
        """The framework has the provider run something: it cannot be stopped, and what it reads is not seen."""
        with self._lock:
            if self.unmediated:
                return
            self.unmediated = f"{what} runs {where}, out of reach of any guard."
            logger.warning("conversation %s is not mediated: %s", self.name, self.unmediated)
            if self._reports.has_begun:
                self._reports.foreign(UNSEEN, "provider")

    def prompt(self, text: str, *, agent: str = "") -> None:
        """The system prompt that an agent's model is shown. Its first one is the program's; another is not pinned."""
        with self._lock:
            mark, known = mark_of(EntryKind.OTHER, text), self._prompts.setdefault(agent, set())
            if known and mark not in known:
                self._reports.foreign(text, "system prompt")
            known.add(mark)

    def context(self, entries: Sequence[ContextEntry], *, starts: bool = False, is_new: bool = False) -> None:
        """Report what of a context is new. ``starts``: a run starts, so what stands at its end is the owner's.

        ``is_new``: these are only the messages that have just come, so one that was said before is said again.
        """
        with self._lock:
            counts: Counter[str] = Counter(self._seen) if is_new else Counter()
            tail = _tail(entries) if starts else len(entries)
            for place, entry in enumerate(entries):
                mark = entry.mark
                counts[mark] += 1
                if counts[mark] > self._seen[mark]:
                    self._seen[mark] += 1
                    self._take(entry, is_owners=place >= tail)

    def arrived(self, entry: ContextEntry, *, is_owners: bool = False) -> None:
        """Report what a hook says has just come in, as often as it says so: nothing of it is shown a second time."""
        with self._lock:
            self._seen[entry.mark] += 1
            self._take(entry, is_owners=is_owners)

    def summed_up(self, text: str) -> None:
        """The framework put the agent's summary in the place of what came before: it is as clean as that was."""
        with self._lock:
            self._seen[mark_of(EntryKind.OWNER, text)] += 1
            self._reports.agent(text)

    def stands_for_earlier(self, summary: ContextEntry) -> None:
        """As ``summed_up``, for a summary that stays in the context, and is shown in it as the agent's own words."""
        with self._lock:
            if not self._seen[summary.mark]:
                self._seen[summary.mark] += 1
                self._reports.agent(summary.whole)

    def said(self, text: str, *, from_outside: str = "") -> None:
        """Report what the model put out, and what came with it from the provider's side."""
        with self._lock:
            self._seen[mark_of(EntryKind.AGENT, text)] += 1
            if text.strip():
                self._said = text
                self._reports.agent(text)
            if from_outside:
                self.provider_side("A tool whose result came with the answer")
                self._reports.foreign(from_outside, "provider")

    def missed(self, why: Exception | str) -> None:
        """A hook failed: what was to be reported is not known, and counts as foreign."""
        with self._lock:
            logger.warning("a report was missed: %s", why if isinstance(why, str) else code_of(why))
            self._reports.foreign(UNSEEN, "hook")

    # Memories

    def memory_block(self) -> str:
        """The fenced block of memories for the prompt: data, never a system message. Empty if nothing can be read."""
        with self._lock:
            try:
                text = self._keep.snapshot(self.name).text if self._reports.are_written() else ""
                return "" if text == fence.fenced([]) else text
            except Exception as error:  # a prompt without memories is poorer, and nothing worse
                log("the memories could not be read", error)
                return ""

    def remember(self, text: Any) -> str:
        """Take a note of the agent's. It never proves anything; in a tainted conversation it is hearsay."""
        with self._lock:
            try:
                self._reports.require_written()
                verdict = self._keep.remember(text, via="agent", session=self.name)
            except Exception as error:
                log("a note could not be taken", error)
                return f"Not noted ({code_of(error)})."
        return "Noted." if verdict.accepted else f"Not kept ({verdict.code}). {verdict.reason}".strip()

    def recall(self, query: Any) -> str:
        """Memories that answer a question, as fenced data."""
        with self._lock:
            try:
                self._reports.require_written()
                hits = self._keep.recall(query, session=self.name)
            except Exception as error:
                log("a recall failed", error)
                return f"Nothing could be looked up ({code_of(error)})."
        lines = [_line(one) for one in hits]
        text = fence.fenced(lines)
        self._seen[mark_of(EntryKind.RESULT, text)] += 1
        return text

    # Calls

    def turn(self, calls: Sequence[AgentCall]) -> None:
        """Judge the calls of one turn before any of them runs: none was made knowing what another one reads."""
        with self._lock:
            self._permits.turn(calls)

    def judge(self, call: AgentCall) -> CallPermit:
        """May this call be made now? The answer holds once; a call that waits is answered so until it is decided."""
        with self._lock:
            return self._permits.judge(call)

    async def judged(self, call: AgentCall) -> CallPermit:
        """As ``judge``, awaited. What ``turn`` has answered is at hand and needs neither the store nor a thread."""
        if self._permits.is_held(call):
            return self.judge(call)
        import asyncio  # noqa: PLC0415 - loaded by whoever awaits; a hook's process does not

        return await asyncio.to_thread(self.judge, call)

    def decided(self, call: AgentCall, *, yes: bool) -> CallPermit:
        """The owner has answered through the framework's own approval: carry the call out, or do not."""
        with self._lock:
            return self._permits.decided(call, yes=yes)

    def again(self, call: AgentCall, permit: CallPermit) -> None:
        """A call that was allowed has stopped before it was carried out: it may be started once more."""
        with self._lock:
            self._permits.hold(call, permit)

    @contextmanager
    def running(self, call: AgentCall) -> Iterator[None]:
        """Around the tool's own work: a conversation that begins in it is a sub-agent's, and inherits this one."""
        delegation = Delegation(self, call)
        token = _running.set(delegation)
        try:
            yield
        finally:
            _running.reset(token)
            if delegation.children:
                self._children[call.id] = delegation.children

    def ran(self, call: AgentCall, result: Any, shown: str | None = None) -> None:
        """Report what a call gave, structured if it is, and how the model is ``shown`` it."""
        with self._lock:
            text = shown if shown is not None else result if isinstance(result, str) else as_json(result)
            self._seen[mark_of(EntryKind.RESULT, text)] += 1
            if any(child.is_clean and child._said.strip() == text.strip() for child in self._children.pop(call.id, ())):
                # A sub-agent that read nothing foreign answers as the agent itself would have.
                self._reports.agent(text)
                result = text = ""
            self._reports.result(call.shown_name, result)
            if isinstance(result, str) and result != text:
                self._reports.foreign(text, call.shown_name)

    def told(self, message: str) -> None:
        """The model was told something in truekeep's own words instead of a result."""
        with self._lock:
            self._seen[mark_of(EntryKind.RESULT, message)] += 1

    def ended(self) -> None:
        """A run has ended: what the owner said is remembered now."""
        with self._lock:
            try:
                if self._reports.are_written() and self.delegation is None:
                    self._keep.extraction.ended(self.name)
            except Exception as error:
                log("what was said is learned later", error)

    @property
    def is_written(self) -> bool:
        """Whether everything that happened is in the store; what is not waits in this process."""
        with self._lock:
            return self._reports.are_written()

    @property
    def is_clean(self) -> bool:
        """Whether nothing foreign is in it, as far as anybody can know."""
        with self._lock:
            try:
                return self._reports.are_written() and self._keep.is_clean(self.name)
            except Exception as error:
                log("nothing is known of a session", error)
                return False

    # Inside

    def _is_offered(self, tool: OfferedTool) -> bool:
        """Whether the model was shown just this before. The words were copied: a schema may be changed in its place."""
        known, texts = self._offered.get(tool.name, (None, ""))
        return known is tool or (known is not None and texts == tool.texts)

    def _take(self, entry: ContextEntry, *, is_owners: bool) -> None:
        if not entry.whole:
            return
        if is_owners and self.delegation is None:
            self._reports.owner(entry.whole, entry.attached)
        elif is_owners and self.delegation is not None and self.delegation.wrote(entry):
            self._reports.agent(entry.text)
        else:
            self._reports.foreign(entry.whole, entry.tool or entry.kind)

    def _begin(self) -> None:
        learn = self.mediator.learn and self.delegation is None
        self._keep.session(
            self.name, mediated=not self.unmediated, member=self.mediator.member, parent=self._parent, learn=learn
        )

    def _declare(self, tools: Sequence[OfferedTool]) -> None:
        declared = [tool.declared(self._known(tool.name), trust_hints=self.mediator.trust_hints) for tool in tools]
        self._keep.session(self.name, member=self.mediator.member, tools=declared)

    def _known(self, name: str) -> Tool:
        """What the operator says of a tool: to this adapter, else in the settings."""
        known = tool_for(name, self.mediator.tools)
        return known if known != Tool(name) else self._keep.actions.tool(self.name, name)

    def _recollect(self) -> None:
        """For a conversation that this process has not seen yet: what the store knows of it was seen before."""
        try:
            self._seen.update(_mark_of_stored(one) for one in self._keep.actions.took_in(self.name))
        except Exception as error:
            log("an earlier conversation could not be read", error)


def _session_name(name: str) -> str:
    is_plain = name.isascii() and name.isprintable() and " " not in name and len(name) <= _LONGEST_PLAIN_NAME
    return name if is_plain else f"conversation-{hashlib.sha256(name.encode(errors='replace')).hexdigest()}"


def _tail(entries: Sequence[ContextEntry]) -> int:
    """Where the messages begin that nothing of anybody else's follows."""
    place = len(entries)
    while place and entries[place - 1].kind is EntryKind.OWNER:
        place -= 1
    return place


def _mark_of_stored(seen: Observation) -> str:
    if seen.own or seen.pasted:
        return mark_of(EntryKind.OWNER, seen.text)
    return mark_of(EntryKind.AGENT if seen.channel == "agent" else EntryKind.RESULT, seen.text)


def _line(hit: Any) -> str:
    older = hit.newer is not None
    return fence.line(hit.text, as_of=hit.as_of, origin=_origin(hit), may_act=hit.may_act, older=older)


def _origin(hit: Any) -> str:
    return str(hit.memory.origin.principal or hit.memory.origin.channel)
