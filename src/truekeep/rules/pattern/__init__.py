"""Patterns: JavaScript regular expressions matched exactly, quickly, and in linear time when they fight back."""

from __future__ import annotations

import functools
import re as plain_re
from importlib import import_module
from typing import Any

from truekeep.rules.model import PatternSpec
from truekeep.rules.pattern import emit, literals
from truekeep.rules.pattern.linear import LinearMatcher
from truekeep.rules.pattern.measure import check_size, is_empty_everywhere, reach
from truekeep.rules.pattern.parser import parse_pattern
from truekeep.rules.pattern.relax import relaxed
from truekeep.rules.pattern.syntax import (
    BackReference,
    Choice,
    LookAround,
    Node,
    PatternAnchor,
    PatternError,
    PatternGroup,
    PatternSequence,
    Repeat,
)

__all__ = ["FARTHEST", "Pattern", "PatternError", "Undecided", "compile_spec"]


FARTHEST = 600
"""Characters that decide about a match of a pattern that is not far."""
_BESIDE = 2_000
"""Characters above which a search may take a millisecond; to let other threads go on meanwhile costs less than one."""


class Undecided(Exception):  # an answer, not a programming error
    """The pattern has a back-reference and the text made it too slow to decide."""


class Pattern:
    """One pattern. ``find`` gives the same answer however fast or slow the machine is."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.groups: dict[int, Node] = {}
        self.has_references = _collect(node, self.groups)
        self._linear = LinearMatcher(node, self.groups)
        self._quick: dict[bool, Any] = {}

    @functools.cached_property
    def matches_empty(self) -> bool:
        """Whether the pattern matches the empty text at every place, and so says nothing."""
        return is_empty_everywhere(self.node)

    @functools.cached_property
    def is_far(self) -> bool:
        """Whether more than a passage of a text may have to be looked at to decide about one match."""
        return reach(self.node) > FARTHEST

    @functools.cached_property
    def literals(self) -> frozenset[str]:
        """Lower-case strings one of which is in every match; empty if none are known."""
        return literals.required(self.node)

    def find(
        self, text: str, patience: float = 0.002, *, longest: bool = True, first: int = 0
    ) -> tuple[int, int] | None:
        """The leftmost match, the longest from its start (unless that is not asked for), or ``None``.

        With ``first`` the leftmost of those that start there or later. A backtracking matcher looks first; when it
        takes longer than ``patience`` seconds the linear one takes over: the clock decides who
        answers, never what the answer is.
        """
        try:
            start = self._quick_start(text, patience, first)
        except TimeoutError:
            if self.has_references and self._linear.leftmost(text, first) is not None:
                raise Undecided from None
            start = None if self.has_references else self._linear.leftmost(text, first)
        if start is None:
            return None
        return start, self.end_from(text, start) if longest else start

    @functools.cached_property
    def unexcused(self) -> Pattern | None:
        """The pattern without its exceptions, or ``None`` if it makes none."""
        node = relaxed(self.node)
        return None if node is self.node else Pattern(node)

    @functools.cached_property
    def wordless(self) -> Pattern | None:
        """The pattern without exceptions and word boundaries, or ``None`` if it has no word boundaries."""
        node = relaxed(self.node, words=True)
        return None if node is relaxed(self.node) or node is self.node else Pattern(node)

    def starts(self, text: str) -> bytearray:
        """For every place of ``text``, 1 if a match starts there."""
        return self._linear.starts(text)

    def find_linear(self, text: str) -> tuple[int, int] | None:
        """The same as :meth:`find` without the backtracking matcher."""
        start = self._linear.leftmost(text)
        return None if start is None else (start, self.end_from(text, start))

    def prepare(self, text: str) -> None:
        """Compile what :meth:`find` needs for a text like this one."""
        narrow = text.isascii()
        if narrow not in self._quick:
            self._quick[narrow] = _quick(self.node, self.has_references, narrow)

    def _quick_start(self, text: str, patience: float, first: int) -> int | None:
        if patience <= 0:
            raise TimeoutError
        self.prepare(text)
        # A text as long as a file is searched beside other threads. Where no other matcher could take over it is not:
        # the time that is counted is the whole process's, and theirs would be in it.
        beside = len(text) > _BESIDE and not self.has_references
        found = self._quick[text.isascii()].search(text, first, timeout=patience, concurrent=beside)
        return None if found is None else int(found.start())

    def end_from(self, text: str, start: int) -> int:
        """The end of the longest match from ``start`` (``start`` itself if there is none)."""
        end = self._linear.longest(text, start)
        return start if end is None else end


def _quick(node: Node, capturing: bool, narrow: bool) -> Any:
    # Loaded late: only texts with a candidate pay for it.
    regex: Any = import_module("regex")

    flags = regex.ASCII | regex.V0 | (regex.IGNORECASE if narrow else 0)
    try:
        return regex.compile(emit.exact(node, capturing=capturing, narrow=narrow), flags, cache_pattern=False)
    except regex.error as error:
        raise PatternError(f"invalid regex: {error}") from None


def _collect(node: Node, groups: dict[int, Node]) -> bool:
    """Fill ``groups`` with every capturing group; true if the pattern refers back to one."""
    match node:
        case BackReference():
            return True
        case PatternGroup():
            groups[node.number] = node.part
            return _collect(node.part, groups)
        case Repeat() | LookAround():
            return _collect(node.part, groups)
        case PatternSequence():
            found = [_collect(part, groups) for part in node.parts]
            return any(found)
        case Choice():
            found = [_collect(option, groups) for option in node.options]
            return any(found)
        case _:
            return False


def compile_spec(spec: PatternSpec) -> Pattern:
    """The compiled pattern of ``spec``. Raises :class:`PatternError`."""
    return Pattern(spec_node(spec))


@functools.lru_cache(maxsize=10_000)
def spec_node(spec: PatternSpec) -> Node:
    """The tree of ``spec``; the text operators become literals with anchors."""
    if spec.operator == "regex":
        node = parse_pattern(spec.source, ignore_case=spec.ignore_case)
        check_size(node)
        return node
    literal = parse_pattern(plain_re.escape(spec.source), ignore_case=spec.ignore_case)
    if spec.operator == "contains":
        return literal
    if spec.operator == "starts_with":
        return PatternSequence((PatternAnchor("start"), literal))
    return PatternSequence((PatternAnchor("start"), literal, PatternAnchor("end")))
