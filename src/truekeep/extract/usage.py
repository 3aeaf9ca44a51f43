"""Counts what models were asked: calls, tokens, cost, and a budget that is never exceeded knowingly."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from truekeep.extract.failure import ModelError

_MOST_TOKENS = 10_000_000  # more than any model reads in one call; an endpoint that claims more is not believed


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or many calls, and what they cost."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost + other.cost,
        )

    @property
    def tokens(self) -> int:
        """All tokens, in and out."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Prices:
    """What a million tokens cost, in the operator's currency."""

    input: float = 0.0
    output: float = 0.0

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """The price of so many tokens."""
        return (input_tokens * self.input + output_tokens * self.output) / 1_000_000


@dataclass(slots=True)
class Meter:
    """The running total of a process, with an optional budget of tokens. Thread-safe."""

    budget: int | None = None
    _total: Usage = field(default_factory=Usage)
    _lock: Lock = field(default_factory=Lock, repr=False)

    @property
    def total(self) -> Usage:
        """Everything counted so far."""
        with self._lock:
            return self._total

    def require(self, tokens: int) -> None:
        """Refuse a call that would go over the budget."""
        if self.budget is not None and self.total.tokens + tokens > self.budget:
            raise ModelError("The token budget for extraction is used up.", code="model_budget")

    def add(self, usage: Usage) -> None:
        """Count a call."""
        with self._lock:
            self._total += usage


def estimated_tokens(text: str) -> int:
    """About how many tokens a text has: four bytes each, which overestimates most scripts rather than under."""
    return len(text.encode("utf-8", "replace")) // 4 + 1


def reported(usage: Any, prompt: str, reply: str, prices: Prices) -> Usage:
    """The endpoint's own figures where they are believable numbers, an estimate where they are not."""
    figures = usage if isinstance(usage, dict) else {}
    given = _believable(figures.get("prompt_tokens"), estimated_tokens(prompt))
    made = _believable(figures.get("completion_tokens"), estimated_tokens(reply))
    return Usage(1, given, made, prices.cost(given, made))


def _believable(value: object, estimate: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS:
        return value
    return estimate
