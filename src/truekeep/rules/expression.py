"""AND, OR, NOT and parentheses over named conditions: parsed once, evaluated without recursion limits to fear."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Literal

MAX_LENGTH = 4_000
"""A condition is read by a person; a longer one is an attempt on the parser."""
MAX_DEPTH = 40
"""The parser calls itself for each bracket."""
_TOKEN = re.compile(r"\s*(?:(?P<paren>[()])|(?P<word>[^\s()]+))")


class ExpressionError(ValueError):
    """A condition expression that cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A node of a condition expression: a name, or an operator over further nodes."""

    kind: Literal["name", "and", "or", "not"]
    name: str = ""
    parts: tuple[Expression, ...] = ()

    def holds(self, true_names: Collection[str]) -> bool:
        """Whether the expression is true when exactly ``true_names`` are."""
        if self.kind == "name":
            return self.name in true_names
        if self.kind == "not":
            return not self.parts[0].holds(true_names)
        if self.kind == "and":
            return all(part.holds(true_names) for part in self.parts)
        return any(part.holds(true_names) for part in self.parts)

    def could_hold(self, possible: Collection[str]) -> bool:
        """Whether the expression may be true when at most ``possible`` are; what is negated is not counted on."""
        if self.kind == "name":
            return self.name in possible
        if self.kind == "and":
            return all(part.could_hold(possible) for part in self.parts)
        return self.kind == "not" or any(part.could_hold(possible) for part in self.parts)

    def negated(self) -> frozenset[str]:
        """Every name that stands under a NOT."""
        if self.kind == "not":
            return self.names()
        return frozenset().union(*(part.negated() for part in self.parts))

    def names(self) -> frozenset[str]:
        """Every condition name the expression mentions."""
        if self.kind == "name":
            return frozenset({self.name})
        return frozenset().union(*(part.names() for part in self.parts))


def any_of(names: Iterable[str]) -> Expression:
    """True when at least one of ``names`` is; never true of no names at all."""
    return Expression("or", parts=tuple(Expression("name", name) for name in names))


def all_of(names: Iterable[str]) -> Expression:
    """True when every one of ``names`` is. No names is an error: an empty "all of" would always hold."""
    parts = tuple(Expression("name", name) for name in names)
    if not parts:
        raise ExpressionError("'all' of no conditions would always be true")
    return Expression("and", parts=parts)


def parse_expression(text: str, known: Collection[str]) -> Expression:
    """Parse ``text`` over the condition names in ``known``; ``any`` and ``all`` stand for all of them."""
    stripped = text.strip()
    if len(stripped) > MAX_LENGTH:
        raise ExpressionError(f"condition expression is longer than {MAX_LENGTH} characters")
    if stripped not in known:
        if stripped.lower() in {"any", "or", "any of them", "1 of them"}:
            return any_of(known)
        if stripped.lower() in {"all", "and", "all of them"}:
            return all_of(known)
    return _Parser(stripped, known).parse()


class _Parser:
    """Recursive descent; OR binds loosest, then AND, then NOT, as in the format's reference."""

    def __init__(self, text: str, known: Collection[str]) -> None:
        self._known = known
        self._tokens = [match.group("paren") or match.group("word") for match in _TOKEN.finditer(text)]
        self._at = 0
        self._depth = 0

    def parse(self) -> Expression:
        if not self._tokens:
            raise ExpressionError("condition expression is empty")
        result = self._joined("or")
        if self._at < len(self._tokens):
            raise ExpressionError(f"unexpected '{self._tokens[self._at][:40]}' in condition expression")
        return result

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _joined(self, operator: Literal["or", "and"]) -> Expression:
        parts = [self._operand(operator)]
        while self._peek().lower() == operator and self._peek() not in self._known:
            self._at += 1
            parts.append(self._operand(operator))
        return parts[0] if len(parts) == 1 else Expression(operator, parts=tuple(parts))

    def _operand(self, operator: Literal["or", "and"]) -> Expression:
        return self._joined("and") if operator == "or" else self._factor()

    def _factor(self) -> Expression:
        word = self._peek()
        self._at += 1
        if not word:
            raise ExpressionError("condition expression ends where a condition name is expected")
        if word in self._known:
            return Expression("name", word)
        if word.lower() == "not":
            return Expression("not", parts=(self._nested(self._factor),))
        if word == "(":
            inner = self._nested(lambda: self._joined("or"))
            if self._peek() != ")":
                raise ExpressionError("missing ')' in condition expression")
            self._at += 1
            return inner
        raise ExpressionError(f"condition expression names '{word[:40]}', which is not a condition of this rule")

    def _nested(self, parse: Callable[[], Expression]) -> Expression:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ExpressionError(f"condition expression is nested deeper than {MAX_DEPTH}")
        result = parse()
        self._depth -= 1
        return result
