"""Rebuilding reports: what an administrator is told, as the values that an embedded keep returns."""

from __future__ import annotations

from truekeep.client.members import Members, as_list, as_number, as_text, as_texts, malformed
from truekeep.client.rebuild import STANDINGS
from truekeep.erasure import Receipt
from truekeep.incident import Incident, Report, Section
from truekeep.types import AuditEvent, Channel, Verification


def report(held: object) -> Report:
    """A report: its data, and what its page for people is made of."""
    members = Members(held)
    page = Members(members.mapping("page"))
    data = {name: value for name, value in members.everything().items() if name != "page"}
    facts = {name: as_text(value) for name, value in page.mapping("facts").items()}
    return Report(page.text("title"), facts, page.each("sections", _section), data)


def _section(held: object) -> Section:
    title, columns, rows = as_list(held, 3)
    return Section(as_text(title), as_texts(columns), tuple(as_texts(row) for row in as_list(rows)))


def incident(held: object) -> Incident:
    """A revocation, a rewind or a consolidation."""
    members = Members(held)
    versions = Members(members.mapping("versions"))
    return Incident(
        id=members.text("id"),
        kind=members.text("kind"),
        by=members.text("by"),
        reason=members.text("reason"),
        at=members.moment("at"),
        what={name: as_text(value) for name, value in members.mapping("what").items()},
        removed=versions.each("removed", _version),
        restored=versions.each("restored", _version),
        items=members.texts("items"),
        undone_by=members.maybe_text("undone_by"),
    )


def _version(held: object) -> tuple[str, int]:
    memory_id, version = as_list(held, 2)
    return as_text(memory_id), int(as_number(version))


def event(held: object) -> AuditEvent:
    """One entry of the audit log."""
    members = Members(held)
    return AuditEvent(
        members.whole("seq"),
        members.moment("at"),
        members.text("kind"),
        members.mapping("body"),
        members.text("hash"),
    )


def verification(held: object) -> Verification:
    """What a verification found."""
    members = Members(held)
    return Verification(
        members.flag("ok"),
        members.whole("events"),
        members.whole("rows"),
        members.texts("problems"),
        members.texts("unverified"),
    )


def channel(held: object) -> Channel:
    """A way in."""
    members = Members(held)
    label = members.maybe_text("standing")
    if label is not None and label not in STANDINGS:
        raise malformed()
    standing = STANDINGS[label] if label is not None else None
    return Channel(members.text("name"), standing, frozenset(members.texts("capabilities")))


def receipt(held: object) -> Receipt:
    """What was erased, or would be. Every member is in what the keep signed, so nothing is left out."""
    members = Members(held)
    return Receipt(
        keep=members.text("keep"),
        at=members.text("at"),
        by=members.text("by"),
        subject=members.text("subject"),
        removed=members.counts("removed"),
        redacted=members.counts("redacted"),
        memories=members.texts("memories"),
        derived=members.texts("derived"),
        event=members.whole("event") if members.everything().get("event") is not None else None,
        scrubbed=members.flag("scrubbed"),
        public_key=members.text("public_key"),
        signature=members.text("signature"),
    )
