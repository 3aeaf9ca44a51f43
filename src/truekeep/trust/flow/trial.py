"""A trial of one call: how far a request, a plan entry or a grant carries it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from truekeep.trust.flow.calls import ToolCall
from truekeep.trust.flow.evidence import SessionEvidence, ValueOrigin
from truekeep.trust.flow.forms import name_words
from truekeep.trust.flow.reading import read
from truekeep.trust.flow.roles import ArgumentLeaf, ArgumentRole


@dataclass(slots=True)
class EffectTrial:
    """How far one request, plan entry or grant carries a call."""

    origins: dict[str, ValueOrigin] = field(default_factory=dict)
    missing: list[ArgumentLeaf] = field(default_factory=list)
    code: str = ""
    uses: dict[str, frozenset[str]] = field(default_factory=dict)

    fit: int = 0
    """How well the request's words fit the call; of several requests that prove it the best one is used up."""

    @property
    def rank(self) -> tuple[bool, int, bool, int]:
        """Proved before unproved, then fewer open targets, then no fault, then the better fit."""
        return bool(self.missing or self.code), len(self.missing), bool(self.code), -self.fit

    def part(self, evidence: SessionEvidence, call: ToolCall) -> None:
        """Take back what the owner confirmed in another call: a yes is for that call's values and its party."""
        said = [leaf for leaf in call.targets if self.origins.get(leaf.path) is ValueOrigin.CONFIRMED]
        if said and not any(_belongs(evidence, call, said, values) for values in evidence.confirmed):
            self.origins.update((leaf.path, ValueOrigin.NOWHERE) for leaf in said)
            self.missing.extend(said)

    def settle(self, leaf: ArgumentLeaf, origin: ValueOrigin | None) -> None:
        """Note where a target was proved, or that it was not."""
        self.origins[leaf.path] = origin or ValueOrigin.NOWHERE
        if origin is None:
            self.missing.append(leaf)


def _belongs(evidence: SessionEvidence, call: ToolCall, said: Iterable[ArgumentLeaf], values: frozenset[str]) -> bool:
    """Whether values were confirmed together; one that others wrote holds only with the names it was shown with."""
    readings = [read(leaf.text) for leaf in said]
    if not all(reading.flat in values for reading in readings):
        return False
    is_heard = evidence.foreign.is_cut_short or any(
        True for reading in readings for _ in evidence.foreign.hinting(reading)
    )
    return not is_heard or all(read(name).flat in values for name in parties(call))


def parties(call: ToolCall) -> list[str]:
    """The values of a call that say whom or what it is about; amounts and times do not."""
    return [
        leaf.text.lower()
        for leaf in call.leaves
        if leaf.role is ArgumentRole.TARGET and leaf.text.strip() and (isinstance(leaf.value, str) or _is_id(leaf.key))
    ]


def _is_id(key: str) -> bool:
    words = name_words(key)
    return bool(words) and words[-1] in ("id", "ids", "number", "nr", "no")
