"""Rebuilding sessions: working memory, what was distilled, prompts and waiting calls, as the embedded keep's values."""

from __future__ import annotations

from datetime import timedelta

from truekeep.client.members import Members, as_list, as_text, malformed
from truekeep.client.rebuild import verdict
from truekeep.distil import Distilled, Taken
from truekeep.errors import InvalidRequest
from truekeep.extract.conversation import Extraction, Message, Support
from truekeep.extract.jobs import Task
from truekeep.extract.library import PromptVersion, State
from truekeep.extract.working import Window, WorkingMemory
from truekeep.quote import Proof
from truekeep.tickets import WAITING, TicketRecord

_STATES = {state.value: state for state in State}


def working(held: object) -> WorkingMemory:
    """A session with what it holds."""
    members = Members(held)
    seconds, budget = members.maybe_number("ttl_seconds"), members.maybe_number("token_budget")
    try:
        return WorkingMemory(
            session=members.text("session"),
            created_at=members.moment("created_at"),
            updated_at=members.moment("updated_at"),
            messages=members.each("messages", message),
            data=members.mapping("data"),
            context=members.text("context"),
            via=members.text("via"),
            speaker=members.maybe_text("speaker"),
            ttl=timedelta(seconds=seconds) if seconds is not None else None,
            token_budget=int(budget) if budget is not None else None,
        )
    except (InvalidRequest, OverflowError):
        raise malformed() from None


def message(held: object) -> Message:
    """One message of a session."""
    members = Members(held)
    return Message(
        id=members.text("id"),
        channel=members.text("channel"),
        text=members.text("text"),
        at=members.moment("at"),
        role=members.text("role"),
        principal=members.maybe_text("principal"),
        is_dated=members.flag("is_dated"),
        alias=members.text("alias"),
    )


def window(held: object) -> Window:
    """What of a session fits its budget."""
    members = Members(held)
    return Window(
        members.each("messages", message),
        members.text("summary"),
        members.texts("summarised"),
        frozenset(members.texts("channels")),
    )


def distilled(held: object, task: Task) -> Distilled:
    """What came of one run over a session."""
    members = Members(held)
    taken = members.each("taken", lambda one: _taken(one, task.strategy))
    return Distilled(task, taken, members.whole("messages"), members.whole("repeated"), members.text("code"))


def _taken(held: object, strategy: str) -> Taken:
    members = Members(held)
    proof = Members(members.mapping("proof"))
    extraction = Extraction(
        text=members.text("text"),
        supports=members.each("supports", _support),
        strategy=strategy,
        kind=members.text("kind"),
        topics=members.texts("topics"),
        entities=members.texts("entities"),
        prompt=members.maybe_text("prompt"),
        model=members.maybe_text("model"),
    )
    proved = Proof(proof.flag("ok"), proof.text("code"), proof.text("reason"))
    return Taken(extraction, proved, verdict(members.mapping("verdict")))


def _support(held: object) -> Support:
    quote, message_id = as_list(held, 2)
    return Support(as_text(quote), as_text(message_id) if message_id is not None else None)


def prompt(held: object) -> PromptVersion:
    """One version of a named prompt."""
    members = Members(held)
    return PromptVersion(
        name=members.text("name"),
        version=members.whole("version"),
        text=members.text("text"),
        hash=members.text("hash"),
        state=members.one_of("state", _STATES),
        added_by=members.text("added_by"),
        added_at=members.moment("added_at"),
        decided_by=members.maybe_text("decided_by"),
        decided_at=members.maybe_moment("decided_at"),
        reason=members.text("reason"),
    )


def waiting(held: object) -> TicketRecord:
    """A call that waits for the owner; the keyed hash of the call stays with the service."""
    members = Members(held)
    return TicketRecord(
        id=members.text("id"),
        session=members.text("session"),
        action=members.text("action"),
        call="",
        arguments=members.text("arguments"),
        state=WAITING,
        code=members.text("code"),
        reasons=members.texts("reasons"),
        run=members.text("run"),
        at=members.moment("at"),
        expires_at=members.moment("expires_at"),
        matched=members.texts("matched"),
        relied_on=members.texts("relied_on"),
        is_consequential=members.flag("consequential"),
    )
