"""Find what the owner asked for in this session: a plain request, not a question, a report or an if."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from truekeep.action.arguments import name_words
from truekeep.action.index import ValueIndex
from truekeep.action.segments import Segment
from truekeep.text.language import read_table
from truekeep.text.lexemes import lexeme
from truekeep.text.salient import Kind

_PREFIX = 5
_LEADING = frozenset(
    {
        "please",
        "ok",
        "okay",
        "hi",
        "hey",
        "hello",
        "now",
        "then",
        "and",
        "also",
        "so",
        "yes",
        "bitte",
        "prosím",
        "proszę",
    }
)
_BEFORE_VERB = frozenset({"to", "you", "and", "then", "please", "just", "let's", "zu", "de", "di", "te"})
_ASKING = frozenset({"can", "could", "would", "will"})


@dataclass(frozen=True, slots=True)
class _Tables:
    verbs: dict[str, frozenset[str]]
    hypothetical: frozenset[str]
    questions: frozenset[str]
    reporting: frozenset[str]
    wanting: frozenset[str]
    reminders: frozenset[str]
    generic: frozenset[str]
    denying: frozenset[str]
    nothing: frozenset[str]


@cache
def tables() -> _Tables:
    """The words of asking, read once."""
    table = read_table("actions", "requests.toml")
    words = {name: frozenset(values) for name, values in table["words"].items()}
    return _Tables(verbs={verb: frozenset(forms) for verb, forms in table["verbs"].items()}, **words)


def verb_forms(action: str, asked_by: tuple[str, ...]) -> frozenset[str]:
    """The words by which the owner would ask for this action."""
    parts = name_words(action)
    forms = set(asked_by)
    for part in parts:
        forms |= tables().verbs.get(part, frozenset())
    if forms - set(asked_by):
        return frozenset(forms)
    return frozenset({*forms, *(part for part in parts[:1])})


def requests(
    action: str,
    asked_by: tuple[str, ...],
    owner: ValueIndex,
    spent: frozenset[tuple[str, int]],
    pasted: ValueIndex | None = None,
) -> tuple[Segment, ...]:
    """The owner's live requests for this action, oldest first; one that was taken back is gone.

    ``pasted`` holds the owner's messages with what counts as pasted in them. That asks for nothing, but it does take
    back: a page that says "do not pay" beforehand must not make the owner's own "do not pay" a copy without effect.
    """
    forms = verb_forms(action, asked_by)
    objects = [part for part in name_words(action) if part not in tables().generic and not _is_verb(part, forms)]
    live: list[Segment] = []
    for segment in _mentions(forms, owner):
        if _is_refusal(segment, forms):
            live = [request for request in live if not _takes_back(segment, request)]
        elif _is_request(segment, forms) and all(_mentioned(word, segment) for word in objects):
            live.append(segment)
    for refusal in _mentions(forms, pasted) if pasted is not None else ():
        if _is_refusal(refusal, forms):
            live = [one for one in live if _is_later(one, owner, refusal, pasted) or not _takes_back(refusal, one)]
    return tuple(segment for segment in live if (segment.source, segment.number) not in spent)


def _is_verb(part: str, forms: frozenset[str]) -> bool:
    return part in forms or part in tables().verbs or part.isdigit() or len(part) < 2


def _mentions(forms: frozenset[str], owner: ValueIndex) -> Iterator[Segment]:
    """Segments whose clause has the verb, in the order in which they were said."""
    sources = {segment.source for form in forms for segment in owner.word(form)}
    for source_id, source in owner.sources.items():
        if source_id in sources:
            yield from (segment for segment in source.segments if forms & set(segment.clause_order))


def _is_refusal(segment: Segment, forms: frozenset[str]) -> bool:
    words = segment.clause_order
    for_nothing = (
        word in forms and tables().nothing & set(words[place + 1 : place + 3]) for place, word in enumerate(words)
    )
    return any(for_nothing) or (segment.is_negated and not tables().reminders & set(words))


def _is_later(request: Segment, owner: ValueIndex, refusal: Segment, pasted: ValueIndex | None) -> bool:
    """Whether the owner asked after the refusal; where the times do not tell, the refusal stands."""
    asked, refused = owner.sources[request.source].at, pasted.sources[refusal.source].at if pasted else None
    return asked is not None and refused is not None and asked > refused


def _takes_back(refusal: Segment, request: Segment) -> bool:
    names = {word for value in refusal.values if value.kind is Kind.NAME for word in value.value.split()}
    return not names or bool(names & request.words)


def _is_request(segment: Segment, forms: frozenset[str]) -> bool:
    words = segment.clause_order
    known = tables()
    row = _without_leading(words)
    if not row:
        return False
    if row[0] in _ASKING and row[1:2] == ("you",):
        row = row[2:]
    told = set(row)
    if known.hypothetical & told or known.reporting & told or (row[:1] and row[0] in known.questions):
        return False
    if segment.is_history or (row[:1] == ("i",) and not known.wanting & set(words)):
        return False
    return _stands_as_request(row, forms) or bool(known.wanting & set(words))


def _without_leading(words: tuple[str, ...]) -> tuple[str, ...]:
    place = 0
    while place < len(words) and words[place] in _LEADING:
        place += 1
    return words[place:]


def _stands_as_request(row: tuple[str, ...], forms: frozenset[str]) -> bool:
    """Whether the verb opens the clause or follows a word that leads up to one."""
    return any(word in forms and (place == 0 or row[place - 1] in _BEFORE_VERB) for place, word in enumerate(row))


def _mentioned(word: str, segment: Segment) -> bool:
    if word in segment.clause_order or lexeme(word) in segment.lexemes:
        return True
    return len(word) >= _PREFIX and any(said.startswith(word[:_PREFIX]) for said in segment.clause_order)
