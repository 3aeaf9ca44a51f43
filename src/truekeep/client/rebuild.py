"""Rebuilding: JSON members become the values that an embedded keep returns.

What of a value does not travel is as by default; what does has to be there and of its type (``stores/codec.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from truekeep.act.boundary import ActionAnswer, Ticket, Traced
from truekeep.act.tickets import WAITING, TicketRecord
from truekeep.client.answers import Members, as_list, as_text, malformed
from truekeep.errors import InvalidRequest
from truekeep.extract.conversation import Extraction, Support
from truekeep.extract.jobs import Task
from truekeep.extract.library import PromptVersion
from truekeep.extract.run import Distilled, Taken
from truekeep.extract.working import Window, WorkingMemory
from truekeep.incident.records import Forgotten, ForgottenMatch, Incident
from truekeep.incident.report import IncidentReport, ReportSection
from truekeep.ops.erasure import Receipt
from truekeep.read.recall import Recall
from truekeep.stores.codec import Shape, others
from truekeep.trust.flow.evidence import PlanEntry, StandingGrant
from truekeep.trust.flow.reply import CheckedReply
from truekeep.types import (
    AuditEvent,
    Channel,
    Decision,
    Finding,
    Item,
    Memory,
    Origin,
    Recalled,
    Snapshot,
    Threat,
    Verdict,
    Verification,
)

T = TypeVar("T")
Redeem = Callable[[str, str, Mapping[str, Any]], None]
_THREATS = frozenset(Threat)


def _answered(kind: type[T], **options: Any) -> Shape[T]:
    return Shape(kind, refuse=malformed, **options)


_FINDING = _answered(Finding, given=("response",), names={"rule_id": "rule", "threat": "class"})
_VERDICT = _answered(Verdict, given=("reason", "findings"), names={"memory_id": "id", "item_id": "review_id"})
_ORIGIN = _answered(Origin, sparse=others(Origin, "channel"))
_SHOWN = ("id", "text", "standing", "origin", "created_at", "as_of", "kind", "topics", "entities", "metadata")
_MEMORY = _answered(
    Memory, given=others(Memory, *_SHOWN, "expires_at", "version", "valid_from", "verified"), shapes=(_ORIGIN,)
)
_RECALLED = _answered(Recalled, given=("memory",))
_HELD = _answered(
    Memory,
    given=others(Memory, "text", "standing", "origin", "created_at"),
    names={"text": "content"},
    shapes=(_ORIGIN,),
)
_ITEM = _answered(Item, given=("memory", "findings", "effects"))
_TRACED = _answered(Traced, names={"origin": "from"})
_ACTION = _answered(ActionAnswer, given=("ticket", "traced", "matched"), names={"has_effects": "effects"})
_SNAPSHOT = _answered(Snapshot)
_SECTION = _answered(ReportSection)
_INCIDENT = _answered(Incident, given=("gists", "stones", "sealed"))
_MATCH = _answered(ForgottenMatch, names={"memory_id": "id"})
_EVENT = _answered(AuditEvent)
_VERIFICATION = _answered(Verification)
_CHANNEL = _answered(Channel)
_RECEIPT = _answered(Receipt)
_WORKING = _answered(WorkingMemory, names={"ttl": "ttl_seconds"})
_WINDOW = _answered(Window)
_EXTRACTION = _answered(Extraction, given=("strategy",))
_DISTILLED = _answered(Distilled, given=("task", "taken"))
_PROMPT = _answered(PromptVersion)
_WAITS = (
    "id",
    "session",
    "action",
    "arguments",
    "code",
    "reasons",
    "run",
    "at",
    "expires_at",
    "matched",
    "origins",
    "sources",
    "leaving",
    "was_clean",
    "has_effects",
)
_GRANT = _answered(StandingGrant)
_WAITING = _answered(
    TicketRecord,
    given=others(TicketRecord, *_WAITS, "has_effects"),
    names={"has_effects": "effects"},
)


def verdict(held: object) -> Verdict:
    """What was decided about a text. A rejection says why under ``error``."""
    members = Members(held)
    reason = members.text("error" if members.text("decision") == Decision.REJECT else "reason")
    return _VERDICT.read(held, reason=reason, findings=members.each("findings", finding))


def finding(held: object) -> Finding:
    """What a screen saw; a class that this version does not know is a threat."""
    members = Members(held)
    known = members.text("class") if members.text("class") in _THREATS else Threat.OTHER.value
    return _FINDING.read(members.everything() | {"class": known})


def recall(held: object) -> Recall:
    """The hits of a recall, and what was withheld."""
    members = Members(held)
    return Recall(members.each("hits", _recalled), members.counts("withheld"), members.text("degraded"))


def _recalled(held: object) -> Recalled:
    memory, whole = _MEMORY.read(held), Members(held).maybe_text("whole")
    return _RECALLED.read(held, memory=memory if whole is None else replace(memory, text=whole))


def item(held: object) -> Item:
    """Something that waits for a person, with as much of its memory as is shown of it."""
    members = Members(held)
    memory = _HELD.read(held, id=members.maybe_text("target") or members.text("id"), as_of=None)
    memory = replace(memory, as_of=memory.created_at)
    return _ITEM.read(held, memory=memory, findings=members.each("findings", finding))


def action_answer(held: object, redeem: Redeem) -> ActionAnswer:
    """The act boundary's answer; its ticket is redeemed over the same client."""
    members = Members(held)
    ticket = members.maybe_text("ticket")
    traced = members.each("arguments", _TRACED.read)
    return _ACTION.read(
        held,
        ticket=Ticket(ticket, redeem) if ticket is not None else None,
        traced=traced,
        matched=tuple(dict.fromkeys(source for one in traced for source in one.sources if source.startswith("mem_"))),
    )


def snapshot(held: object) -> Snapshot:
    """The frozen text for a session's prompt."""
    return _SNAPSHOT.read(held)


def shown(held: object) -> dict[str, Any]:
    """A memory of a listing, as a dictionary."""
    members = Members(held)
    for name in ("id", "content", "standing", "as_of"):
        members.text(name)
    members.flag("blocked")
    members.flag("may_act")
    members.texts("block_reason")
    return members.everything()


def report(held: object) -> IncidentReport:
    """A report: its data, and what its page for people is made of."""
    members = Members(held)
    page = Members(members.mapping("page"))
    data = {name: value for name, value in members.everything().items() if name != "page"}
    facts = {name: as_text(value) for name, value in page.mapping("facts").items()}
    sections = page.each("sections", lambda one: _SECTION.read(_by_name(ReportSection, one)))
    return IncidentReport(page.text("title"), facts, sections, data)


def forgotten(held: object) -> Forgotten:
    """What came of a wish to forget."""
    members = Members(held)
    return Forgotten(
        members.text("code"),
        members.text("reason"),
        tuple(members.each("matches", _MATCH.read)),
        members.maybe_text("id"),
        members.texts("items"),
    )


def incident(held: object) -> Incident:
    """A revocation, a rewind or a consolidation; which versions it removed and restored stands by itself."""
    members = Members(held)
    return _INCIDENT.read(members.everything() | members.mapping("versions"))


def event(held: object) -> AuditEvent:
    """One entry of the audit log."""
    return _EVENT.read(held)


def verification(held: object) -> Verification:
    """What a verification found."""
    return _VERIFICATION.read(held)


def channel(held: object) -> Channel:
    """A way in."""
    return _CHANNEL.read(held)


def receipt(held: object) -> Receipt:
    """What was erased, or would be. Every member is in what the keep signed, so nothing is left out."""
    return _RECEIPT.read(held)


def working(held: object) -> WorkingMemory:
    """A session with what it holds."""
    try:
        return _WORKING.read(held)
    except InvalidRequest:
        raise malformed() from None


def window(held: object) -> Window:
    """What of a session fits its budget."""
    return _WINDOW.read(held)


def distilled(held: object, task: Task) -> Distilled:
    """What came of one run over a session."""
    taken = Members(held).each("taken", lambda one: _taken(one, task.strategy))
    return _DISTILLED.read(held, task=task, taken=taken)


def _taken(held: object, strategy: str) -> Taken:
    members = Members(held)
    supports = list(members.each("supports", lambda one: _by_name(Support, one)))
    extraction = _EXTRACTION.read(members.everything() | {"supports": supports}, strategy=strategy)
    told = verdict(members.mapping("verdict"))
    return Taken(extraction, members.flag("owners_words"), told, members.text("gist"))


def prompt(held: object) -> PromptVersion:
    """One version of a named prompt."""
    return _PROMPT.read(held)


def waiting(held: object) -> TicketRecord:
    """A call that waits for the owner; the keyed hash of the call stays with the service."""
    return _WAITING.read(held, call="", state=WAITING)


def checked_reply(held: object) -> CheckedReply:
    """An answer that may be shown."""
    members = Members(held)
    removed = tuple((as_text(place), as_text(code)) for place, code in members.each("removed", _pair))
    return CheckedReply(members.text("text"), removed)


def plan_entry(held: object) -> PlanEntry:
    """One call of a plan."""
    members = Members(held)
    arguments = Members(members.everything().get("arguments")).everything()
    return PlanEntry(members.text("id"), members.text("tool"), arguments)


def grant(held: object) -> StandingGrant:
    """A standing permission."""
    return _GRANT.read(held)


def _pair(held: object) -> tuple[Any, Any]:
    first, second = as_list(held, 2)
    return first, second


def _by_name(kind: type, held: object) -> dict[str, Any]:
    """The members of a value that travels as a list of them."""
    names = [one.name for one in fields(kind)]
    return dict(zip(names, as_list(held, len(names)), strict=True))
