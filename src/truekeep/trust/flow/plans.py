"""Compare a call's value with what a plan entry says about its argument."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from truekeep.trust.flow.forms import acts_of
from truekeep.trust.flow.moments import is_moment
from truekeep.trust.flow.reading import TextReading, read
from truekeep.trust.flow.roles import ArgumentLeaf, ArgumentRole
from truekeep.trust.flow.tools import tool_for

if TYPE_CHECKING:
    from truekeep.trust.flow.evidence import PlanEntry, SessionEvidence


def planned(evidence: SessionEvidence, entry: PlanEntry, leaf: ArgumentLeaf) -> bool:
    """Whether an entry intended this value: as a literal, or as a field of a result.

    What a plan leaves to be composed is content. A target that it leaves open is proved by nothing here: a plan that
    says "some command" would otherwise let any command through.
    """
    said = entry.arguments.get(leaf.top)
    if said is None:
        return False
    if "literal" in said:
        return any(_same(read(leaf.text), read(str(_plain(part)))) for part in _parts(said["literal"]))
    if "result" in said:
        return _from_result(evidence, said["result"], leaf, is_removing="remove" in acts_of(entry.tool))
    # A moment that only others wrote was not composed: they would say when, in an entry that says nothing.
    is_composed = is_moment(leaf.text) and not any(True for _ in evidence.foreign.hinting(read(leaf.text)))
    return bool(said.get("content")) and leaf.role is not ArgumentRole.WHOLE and is_composed


def _from_result(evidence: SessionEvidence, place: Any, leaf: ArgumentLeaf, *, is_removing: bool) -> bool:
    if not isinstance(place, (list, tuple)) or len(place) != 2:
        return False
    values = evidence.records.results.get((str(place[0]), str(place[1])), ())
    if len(values) > 1 and (is_removing or not tool_for(str(place[0]), evidence.tools).own):
        return False  # Which of several is chosen, whoever wrote the results would say; what is gone is gone.
    return leaf.text.strip().lower() in values


def _parts(literal: Any) -> Iterator[Any]:
    if isinstance(literal, Mapping):
        values: Iterable[Any] = literal.values()
    elif isinstance(literal, (list, tuple)):
        values = literal
    else:
        yield literal
        return
    for value in values:
        yield from _parts(value)


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _same(value: TextReading, literal: TextReading) -> bool:
    return value.flat.strip() == literal.flat.strip() or bool(value.sole & literal.sole)
