"""Decide when two texts state the same claim, when one contradicts or succeeds the other, and when a claim holds.

Equality is exact on canonical words and values: subject, attribute, every value, denial and time. Similarity
plays no part. In doubt two claims are different, because a false "same" would let one text vouch for another.

``valid_time`` reads off since when and until when a claim holds. Only a text of one clause gives its own times: in a
longer one they belong to one of several facts. A weekday, a month or a day without its year is the last one before it
was said for a beginning, and the next one after it for an end. What can mean two days gives none. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from truekeep.text.analysis import analysed
from truekeep.text.clause import SELF, Clause, clauses
from truekeep.text.dates import resolved
from truekeep.text.language import lexemes
from truekeep.text.tokens import Kind, Salient
from truekeep.text.words import asks

if TYPE_CHECKING:
    from truekeep.text.clause import Clause
    from truekeep.text.salient import ValueScan

_FIELD, _CLAUSE = "\x1f", "\x1e"
_VALUE_KINDS = tuple(f"{kind}:" for kind in Kind)


class Relation(StrEnum):
    """How a newcomer stands to an elder."""

    UNRELATED = "unrelated"
    SAME = "same"
    CONTRADICTS = "contradicts"
    SUCCEEDS = "succeeds"
    """The newcomer says that things changed from some time on; the elder was true until then."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a text states, clause by clause, in canonical words."""

    clauses: tuple[Clause, ...]
    key: str
    bound: bool
    """Whether it says something, and of whom: "his account is …" by itself, or a question, corroborates nothing."""
    names: frozenset[str] = frozenset()
    """The words in it that are part of a proper name."""

    @property
    def subject(self) -> tuple[str, ...]:
        """Whom or what the first clause is about."""
        return self.clauses[0].subject if self.clauses else ()

    @property
    def attribute(self) -> tuple[str, ...]:
        """Which attribute the first clause gives, if it gives one."""
        return self.clauses[0].attribute if self.clauses else ()

    @property
    def values(self) -> tuple[Salient, ...]:
        """All typed values, in order; spans are in the plain spelling of the text."""
        return tuple(value for clause in self.clauses for value in clause.values)

    @property
    def valid_from(self) -> str:
        """The date since which it holds, in canonical form, where the text gives one."""
        return next((clause.since for clause in self.clauses if clause.since), "")

    @property
    def valid_until(self) -> str:
        """The date until which it holds, in canonical form, where the text gives one."""
        return next((clause.until for clause in self.clauses if clause.until), "")


def claim_of(text: str | ValueScan, *, speaker: str | None = None) -> Claim:
    """The claim a text states. ``speaker`` is who "I" is; without it, "I" only equals "I"."""
    scanned = analysed(text).scan if isinstance(text, str) else text
    parts = tuple(_spoken_by(clause, speaker) for clause in clauses(scanned))
    names = frozenset(word for value in scanned.values if value.kind is Kind.NAME for word in value.value.split())
    bound = bool(parts) and (bool(names) or not any(clause.has_pronoun for clause in parts))
    bound = bound and not asks(scanned.view.text)
    return Claim(parts, _CLAUSE.join(_clause_key(clause) for clause in parts), bound, names)


def claim_key(text: str, *, speaker: str | None = None) -> str:
    """A canonical string, equal for two texts exactly when they state the same claim."""
    return claim_of(text, speaker=speaker).key


def clause_keys(claim: Claim) -> tuple[str, ...]:
    """The key that each clause would have as a claim of its own; what is about "it" has none."""
    return tuple(_clause_key(clause) for clause in claim.clauses if not clause.has_pronoun)


def _spoken_by(clause: Clause, speaker: str | None) -> Clause:
    if speaker is None:
        return clause
    name = tuple(speaker.casefold().split())

    def named(words: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(part for word in words for part in (name if word == SELF else (word,)))

    return replace(clause, about=named(clause.about), value=named(clause.value))


def _clause_key(clause: Clause) -> str:
    about = " ".join(clause.about) if clause.is_attribute else ""
    return _FIELD.join((about, " ".join(clause.value), clause.tense, str(clause.negations), clause.since, clause.until))


def same_claim(a: Claim | str, b: Claim | str) -> bool:
    """Whether both state the same claim about the same, named subject."""
    first, second = _as_claim(a), _as_claim(b)
    return bool(first.key) and first.bound and second.bound and first.key == second.key


def contradicts(a: Claim | str, b: Claim | str) -> bool:
    """Whether both speak of the same subject and attribute and cannot both hold at once."""
    return relation(_as_claim(a), _as_claim(b)) is Relation.CONTRADICTS


def relation(elder: Claim, newcomer: Claim) -> Relation:
    """How the newcomer stands to the elder; the strongest relation between any two of their clauses counts."""
    if same_claim(elder, newcomer):
        return Relation.SAME
    if not (elder.bound and newcomer.bound):
        return Relation.UNRELATED
    found = {_clause_relation(old, new) for old in _about_someone(elder) for new in _about_someone(newcomer)}
    return next((r for r in (Relation.CONTRADICTS, Relation.SUCCEEDS) if r in found), Relation.UNRELATED)


def _about_someone(claim: Claim) -> list[Clause]:
    """The clauses that say whom they are about; "it is" is about something else every time."""
    return [clause for clause in claim.clauses if not clause.has_pronoun]


def _clause_relation(old: Clause, new: Clause) -> Relation:
    if _is_change(old, new):
        return Relation.SUCCEEDS
    if old.is_attribute != new.is_attribute or old.tense != new.tense or not _conflict(old, new):
        return Relation.UNRELATED
    if (old.since, old.until) != (new.since, new.until):
        return Relation.SUCCEEDS if new.since and new.since != old.since else Relation.UNRELATED
    return Relation.CONTRADICTS


def _conflict(old: Clause, new: Clause) -> bool:
    """Whether the two give different answers to one question."""
    if old.is_attribute and (old.about != new.about or not old.about):
        return False
    if old.value == new.value:
        return (old.negations - new.negations) % 2 == 1
    if old.negations or new.negations:
        return False
    return _other_answer(old, new) if old.is_attribute else _other_object(old, new)


def _other_answer(old: Clause, new: Clause) -> bool:
    if old.is_one_of_several or new.is_one_of_several:
        return False
    if any(word in lexemes().several for word in old.attribute):
        return False
    kinds = _kinds(old.value), _kinds(new.value)
    if kinds[0] or kinds[1]:
        return kinds[0] == kinds[1] and _untyped(old.value) == _untyped(new.value)
    return bool(old.attribute)


def _other_object(old: Clause, new: Clause) -> bool:
    """Another object of a verb that takes one at a time: "Eva lives in Berlin", "Eva lives in Paris"."""
    functional = lexemes().functional
    verb = next((i for i, word in enumerate(old.value) if word in functional), None)
    if not verb or old.value[: verb + 1] != new.value[: verb + 1]:
        return False
    before, after = old.value[verb + 1 :], new.value[verb + 1 :]
    return bool(before and after) and _kinds(before) == _kinds(after)


def _is_change(old: Clause, new: Clause) -> bool:
    """ "I moved to Berlin" after "I live in Paris"."""
    changes = lexemes().changes
    place = next((i for i, word in enumerate(new.value) if word in changes), None)
    if not place or new.is_attribute or old.is_attribute or new.negations or old.negations:
        return False
    return old.value[: place + 1] == (*new.value[:place], changes[new.value[place]])


def _kinds(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word.partition(":")[0] for word in words if word.startswith(_VALUE_KINDS))


def _untyped(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in words if not word.startswith(_VALUE_KINDS))


def _as_claim(given: Claim | str) -> Claim:
    return claim_of(given) if isinstance(given, str) else given


_DAY = re.compile(r"(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?", re.ASCII)
_YEARLY = re.compile(r"--(\d{2})(?:-(\d{2}))?", re.ASCII)
_WEEKDAY = re.compile(r"w[0-6]", re.ASCII)
_YEARS_AROUND = range(-8, 9)

Span = tuple[date, date]
"""The first day of a stretch of time, and the first day after it."""


def valid_time(claim: Claim, said_at: datetime) -> tuple[datetime | None, datetime | None]:
    """The first moment at which the claim holds and the first at which it no longer does, where it says so."""
    if len(claim.clauses) != 1:
        return None, None
    clause = claim.clauses[0]
    since = _span(clause.since or _change_date(clause), said_at, ends=False)
    until = _span(clause.until, said_at, ends=True)
    return _moment(since[0]) if since else None, _moment(until[1]) if until else None


def _change_date(clause: Clause) -> str:
    """When a change took place: "I moved to Brno in May"."""
    if clause.is_attribute or clause.negations or not any(word in lexemes().changes for word in clause.value[1:]):
        return ""
    dates = [value.key for value in clause.values if value.kind is Kind.DATE]
    return dates[0] if len(dates) == 1 else ""


def _span(canonical: str, said_at: datetime, *, ends: bool) -> Span | None:
    value = canonical.partition(":")[2]
    if yearly := _YEARLY.fullmatch(value):
        return _nearest(int(yearly[1]), int(yearly[2]) if yearly[2] else None, said_at.date(), ends=ends)
    if not ends and _WEEKDAY.fullmatch(value):
        past = said_at.date() - timedelta(days=(said_at.weekday() - int(value[1:])) % 7)
        return past, past + timedelta(days=1)
    meant = resolved(value, said_at)
    match = _DAY.fullmatch(next(iter(meant))) if len(meant) == 1 else None
    if match is None:
        return None
    return _days(int(match[1]), int(match[2]) if match[2] else None, int(match[3]) if match[3] else None)


def _nearest(month: int, day: int | None, today: date, *, ends: bool) -> Span | None:
    spans = [span for shift in _YEARS_AROUND if (span := _days(today.year + shift, month, day))]
    if ends:
        return next((span for span in spans if span[1] > today), None)
    return next((span for span in reversed(spans) if span[0] <= today), None)


def _days(year: int, month: int | None, day: int | None) -> Span | None:
    try:
        if month is None:
            return date(year, 1, 1), date(year + 1, 1, 1)
        if day is None:
            return date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)
        return date(year, month, day), date(year, month, day) + timedelta(days=1)
    except (ValueError, OverflowError):
        return None


def _moment(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
