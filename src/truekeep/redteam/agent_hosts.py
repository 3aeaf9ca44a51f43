"""A keep as the agent's memory: with the gate in recall, with the act boundary, or with both."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from truekeep.errors import ActionRefused, ConfirmationNeeded, TruekeepError
from truekeep.guarding import guard
from truekeep.redteam.agent.host import Office, Outcome
from truekeep.redteam.agent.scenario import Call, Event
from truekeep.redteam.influence.sources import made_up, near_copy
from truekeep.types import Decision, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from truekeep.extract.llm import ChatModel
    from truekeep.handles import Session
    from truekeep.keep import Keep

MEMBERS = ("eva", "dan", "kim", "mal")
"""Who is in a shared keep; the first is the one whose agent is attacked."""
_CAME = {Decision.ACCEPT: "stored", Decision.QUARANTINE: "held", Decision.REJECT: "refused"}


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

    def write(self, event: Event) -> str:
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

    def read(self, session: str, event: Event) -> None:
        """Over the channel it came by."""
        self._sessions[session].observe(event.via, event.text, principal=event.source or None)

    def store(self, session: str, event: Event) -> None:
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
        """By the model, if it is to be asked, and by the built-in extractor."""
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
        hits = self._sessions[session].bind("agent").recall(query, k=self._k, influence_only=self._guarding.gate)
        return [hit.text for hit in hits]

    def act(self, session: str, call: Call) -> Outcome:
        """Through ``guard``, if there is a boundary: checked, the ticket redeemed, and only then done."""
        if not self._guarding.boundary:
            return Outcome(self.office.do(session, call.tool, call.arguments))
        try:
            return Outcome(self._guarded(session, call)(**call.arguments))
        except ConfirmationNeeded as asked:
            return Outcome("confirm", asked.answer.code, str(asked.answer.ticket))
        except ActionRefused as refused:
            return Outcome("deny", refused.answer.code)
        except TruekeepError as refused:
            return Outcome("deny", refused.code)

    def confirm(self, session: str, call: Call, ticket: str) -> Outcome:
        """Over the owner's channel; then the call is made once more, with the ticket."""
        self._keep.bind(self._owners[session], session=session).confirm(ticket)
        return Outcome(self._guarded(session, call)(**call.arguments, ticket=ticket))

    def _guarded(self, session: str, call: Call) -> Callable[..., str]:
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
