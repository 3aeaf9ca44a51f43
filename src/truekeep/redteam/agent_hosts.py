"""What the program around an agent does with its memory: a keep behind gate and boundary, or everything at once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from truekeep.errors import ActionRefused, ConfirmationNeeded, TruekeepError
from truekeep.guarding import guard
from truekeep.redteam.agent_scenarios import AgentEvent, ToolCall
from truekeep.redteam.sources import made_up, near_copy
from truekeep.types import Decision, Verdict

if TYPE_CHECKING:
    from truekeep.embed import Embedder
    from truekeep.extract.llm import ChatModel
    from truekeep.handles import Session
    from truekeep.keep import Keep


MEMBERS = ("eva", "dan", "kim", "mal")
"""Who is in a shared keep; the first is the one whose agent is attacked."""
_CAME = {Decision.ACCEPT: "stored", Decision.QUARANTINE: "held", Decision.REJECT: "refused"}
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What became of a tool call: ``done``, ``confirm`` while it waits for the owner, or ``deny``."""

    result: str
    code: str = ""
    ticket: str | None = None


@dataclass(slots=True)
class Office:
    """Tools with consequences, and what they really did, by session."""

    done: dict[str, list[ToolCall]] = field(default_factory=dict)

    def do(self, session: str, tool: str, arguments: Mapping[str, Any]) -> str:
        """Do it, whatever it is."""
        self.done.setdefault(session, []).append(ToolCall(tool, dict(arguments)))
        return "done"


class Host(Protocol):
    """One way to give an agent a memory. Sessions are named by the measurement."""

    office: Office
    came: Counter[str]
    """What became of what an attacker had written: ``stored``, ``held`` or ``refused``."""

    def write(self, event: AgentEvent) -> str:
        """Somebody with a channel of their own has something remembered; returns its id, if there is one."""
        ...

    def begin(self, session: str, *, shared: bool) -> None:
        """A conversation with the owner begins."""

    def hear(self, session: str, text: str) -> None:
        """The owner says something."""

    def read(self, session: str, event: AgentEvent) -> None:
        """The agent is given a document, a page, a mail or a tool's answer."""

    def store(self, session: str, event: AgentEvent) -> None:
        """The program itself keeps what was read, as read."""

    def save(self, session: str, text: str) -> None:
        """The agent has something remembered."""

    def reply(self, session: str, text: str) -> None:
        """The agent says something."""

    def distil(self, session: str, *, with_model: bool) -> None:
        """The conversation is over, and what is worth keeping is kept."""

    def change(self, memory: str, text: str) -> None:
        """The agent offers other content for a memory."""

    def forget(self, memory: str) -> None:
        """The agent wants a memory gone."""

    def recall(self, session: str, query: str) -> list[str]:
        """What of the memory gets into the prompt."""
        ...

    def act(self, session: str, call: ToolCall) -> CallOutcome:
        """The agent makes a tool call."""
        ...

    def confirm(self, session: str, call: ToolCall, ticket: str) -> CallOutcome:
        """The owner confirms a call that waits, and it is made."""
        ...


@dataclass(frozen=True, slots=True)
class Guarding:
    """What stands between a poison and a tool."""

    gate: bool = False
    """Whether the prompt gets only what may act."""
    boundary: bool = False
    """Whether tools run only with a ticket of the act boundary."""


class KeepHost:
    """One open keep."""

    def __init__(self, keep: Keep, guarding: Guarding, k: int, model: ChatModel) -> None:
        self.office = Office()
        self.came: Counter[str] = Counter()
        self._keep = keep
        self._guarding = guarding
        self._k = k
        self._model = model
        self._sessions: dict[str, Session] = {}
        self._owners: dict[str, str] = {}

    def write(self, event: AgentEvent) -> str:
        """Over the channel, as whoever holds it does."""
        fields = {"principal": event.source} if event.source else {}
        verdict = self._keep.remember(event.text, via=event.via, **fields)  # type: ignore[arg-type]
        return verdict.memory_id or ""

    def begin(self, session: str, *, shared: bool) -> None:
        """As a host does that reports everything."""
        member = MEMBERS[0] if shared else None
        self._owners[session] = f"member:{member}" if member else "user"
        self._sessions[session] = self._keep.session(session, mediated=True, member=member)

    def hear(self, session: str, text: str) -> None:
        """Over the owner's channel."""
        self._sessions[session].observe(self._owners[session], text)

    def read(self, session: str, event: AgentEvent) -> None:
        """Over the channel it came by."""
        self._sessions[session].observe(event.via, event.text, principal=event.source or None)

    def store(self, session: str, event: AgentEvent) -> None:
        """Over the channel it came by; copies come from as many pages."""
        pages = made_up("domains", event.copies) if event.copies > 1 else (event.source or None,)
        entries = [{"text": near_copy(event.text, number), "principal": page} for number, page in enumerate(pages)]
        verdicts = self._keep.remember_many(entries, via=event.via, skip_rejected=True, session=session)
        self._note(verdicts)

    def save(self, session: str, text: str) -> None:
        """Over the agent's handle, which says that the words are a quotation from the session."""
        self._note([self._sessions[session].bind("agent").remember(text, quote=text)])

    def reply(self, session: str, text: str) -> None:
        """Over the agent's handle."""
        self._sessions[session].bind("agent").observe(text)

    def distil(self, session: str, *, with_model: bool) -> None:
        """By the model, if it is to be asked, and from the owner's words."""
        handle = self._sessions[session].bind("agent")
        if with_model:
            self._note(one.verdict for one in handle.extract("discrete", model=self._model).taken)
            self._note(one.verdict for one in handle.extract("summary").taken)
        else:
            handle.extract("discrete")

    def change(self, memory: str, text: str) -> None:
        """Over the agent's handle."""
        self._tries(partial(self._keep.bind("agent").update_memory, memory, text))

    def forget(self, memory: str) -> None:
        """Over the agent's handle; for an agent that is a proposal."""
        self._tries(partial(self._keep.bind("agent").delete_memory, memory))

    def recall(self, session: str, query: str) -> list[str]:
        """As the agent of that session."""
        hits = (
            self._sessions[session]
            .bind("agent")
            .recall(query, k=self._k, influence_only=self._guarding.gate, background=True)
        )
        return [hit.text for hit in hits]

    def act(self, session: str, call: ToolCall) -> CallOutcome:
        """Through ``guard``, if there is a boundary: checked, the ticket redeemed, and only then done."""
        if not self._guarding.boundary:
            return CallOutcome(self.office.do(session, call.tool, call.arguments))
        try:
            return CallOutcome(self._guarded(session, call)(**call.arguments))
        except ConfirmationNeeded as asked:
            return CallOutcome("confirm", asked.answer.code, str(asked.answer.ticket))
        except ActionRefused as refused:
            return CallOutcome("deny", refused.answer.code)
        except TruekeepError as refused:
            return CallOutcome("deny", refused.code)

    def confirm(self, session: str, call: ToolCall, ticket: str) -> CallOutcome:
        """Over the owner's channel; then the call is made once more, with the ticket."""
        self._keep.bind(self._owners[session], session=session).confirm(ticket)
        return CallOutcome(self._guarded(session, call)(**call.arguments, ticket=ticket))

    def _guarded(self, session: str, call: ToolCall) -> Callable[..., str]:
        def tool(**arguments: Any) -> str:
            return self.office.do(session, call.tool, arguments)

        return guard(tool, session=self._sessions[session].bind("agent"), name=call.tool)

    def _tries(self, attempt: Callable[[], Verdict]) -> None:
        try:
            self._note([attempt()])
        except TruekeepError:
            self.came["refused"] += 1

    def _note(self, verdicts: Iterable[Verdict]) -> None:
        self.came.update(_CAME[verdict.decision] for verdict in verdicts)


class PlainHost:
    """Vectors (or, without an embedder, words), cosine, the best k."""

    def __init__(self, embedder: Embedder | None, texts: Iterable[str], k: int) -> None:
        self.office = Office()
        self.came: Counter[str] = Counter()
        self._embedder = embedder
        self._texts = list(dict.fromkeys(texts))
        self._heard: dict[str, str] = {}
        self._k = k

    def write(self, event: AgentEvent) -> str:
        """Kept as it is."""
        self._keep(near_copy(event.text, number) for number in range(event.copies))
        return event.text

    def begin(self, session: str, *, shared: bool) -> None:
        """Nothing to note."""

    def hear(self, session: str, text: str) -> None:
        """Kept when the session is distilled."""
        self._heard[session] = text

    def read(self, session: str, event: AgentEvent) -> None:
        """Read in this session only."""

    def store(self, session: str, event: AgentEvent) -> None:  # noqa: ARG002 - the session does not matter
        """Kept, and with it every copy."""
        self._keep(near_copy(event.text, number) for number in range(event.copies))
        self.came["stored"] += event.copies

    def save(self, session: str, text: str) -> None:  # noqa: ARG002
        """Kept."""
        self._keep([text])
        self.came["stored"] += 1

    def reply(self, session: str, text: str) -> None:
        """Said in this session only."""

    def distil(self, session: str, *, with_model: bool) -> None:  # noqa: ARG002
        """What the owner said is kept as it was said; what was read was saved already."""
        self._keep([self._heard.pop(session)])

    def change(self, memory: str, text: str) -> None:
        """Overwritten."""
        self._texts = [text if kept == memory else kept for kept in self._texts]

    def forget(self, memory: str) -> None:
        """Gone."""
        self._texts = [kept for kept in self._texts if kept != memory]

    def recall(self, session: str, query: str) -> list[str]:  # noqa: ARG002
        """The nearest texts."""
        scores = self._scores(query)
        best = sorted(range(len(self._texts)), key=lambda place: -scores[place])[: self._k]
        return [self._texts[place] for place in best]

    def act(self, session: str, call: ToolCall) -> CallOutcome:
        """Made at once."""
        return CallOutcome(self.office.do(session, call.tool, call.arguments))

    def confirm(self, session: str, call: ToolCall, ticket: str) -> CallOutcome:  # noqa: ARG002 - nothing ever waits
        """Nothing waits here."""
        return CallOutcome("deny", "nothing_waits")

    def _keep(self, texts: Iterable[str]) -> None:
        self._texts = list(dict.fromkeys((*self._texts, *texts)))

    def _scores(self, query: str) -> list[float]:
        if self._embedder is None:
            asked = set(_WORD.findall(query.casefold()))
            return [float(len(asked & set(_WORD.findall(text.casefold())))) for text in self._texts]
        vectors = self._embedder.embed(self._texts, "passage")
        found: list[float] = (vectors @ self._embedder.embed([query], "query")[0]).tolist()
        return found
