"""Parse JavaScript regular expressions (with leading inline flags) into a tree."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from truekeep.rules.pattern import charset
from truekeep.rules.pattern.charset import CharSet
from truekeep.rules.pattern.properties import property_set
from truekeep.rules.pattern.syntax import (
    EMPTY,
    INFINITY,
    AnchorKind,
    BackReference,
    Chars,
    Choice,
    LookAround,
    Node,
    PatternAnchor,
    PatternError,
    PatternGroup,
    PatternSequence,
    Repeat,
)

MAX_LENGTH = 20_000
"""Far longer than any published pattern; a rule file is somebody else's."""
MAX_DEPTH = 60
"""The parser calls itself for each group."""
MAX_REPEAT = 100_000
"""Each repetition is a state of its own."""
_FLAGS = re.compile(r"\(\?([a-z]*)(?:-([a-z]+))?([:)])")
_BRACES = re.compile(r"\{([0-9]{1,9})(,([0-9]{0,9}))?\}")
_CONTROL = {"n": "\n", "r": "\r", "t": "\t", "v": "\v", "f": "\f"}
_CLASSES = {"d": charset.DIGIT, "w": charset.WORD, "s": charset.SPACE}
_QUANTIFIERS = frozenset("*+?{")
_KNOWN_FLAGS = frozenset("imsux")


@dataclass(slots=True)
class Flags:
    """The flags in force at one place of a pattern."""

    ignore_case: bool = True
    multiline: bool = False
    dot_all: bool = False
    unicode: bool = False


def parse_pattern(source: str, *, ignore_case: bool = True) -> Node:
    """The tree of ``source``. Like the format's reference engine, letters match in either case by default."""
    if len(source) > MAX_LENGTH:
        raise PatternError(f"pattern is longer than {MAX_LENGTH:,} characters")
    flags = Flags(ignore_case=ignore_case, unicode="\\u{" in source or "\\p{" in source or "\\P{" in source)
    return _Parser(source, flags).parse()


class _Parser:
    def __init__(self, source: str, flags: Flags) -> None:
        self._source = source
        self._flags = flags
        self._at = 0
        self._depth = 0
        self._groups = 0
        self._names = _group_names(source)

    def parse(self) -> Node:
        node = self._choice()
        if self._at < len(self._source):
            raise self._error("unmatched ')'")
        return node

    def _error(self, reason: str) -> PatternError:
        return PatternError(f"invalid regex: {reason} at character {self._at + 1}")

    def _peek(self) -> str:
        return self._source[self._at] if self._at < len(self._source) else ""

    def _eat(self, text: str) -> bool:
        if self._source.startswith(text, self._at):
            self._at += len(text)
            return True
        return False

    def _choice(self) -> Node:
        options = [self._sequence()]
        while self._eat("|"):
            options.append(self._sequence())
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self._peek() not in ("", "|", ")"):
            if self._peek() == "(" and self._switches_flags():
                continue
            began = self._at
            node = self._quantified(self._atom(), began)
            if node is not EMPTY:
                parts.append(node)
        return parts[0] if len(parts) == 1 else PatternSequence(tuple(parts)) if parts else EMPTY

    def _switches_flags(self) -> bool:
        """``(?i)`` and the like: not JavaScript, but the format allows them and they hold from here on."""
        match = _FLAGS.match(self._source, self._at)
        if not match or match.group(3) != ")" or not (match.group(1) or match.group(2)):
            return False
        self._flags = self._switched(match)
        self._at = match.end()
        return True

    def _switched(self, match: re.Match[str]) -> Flags:
        on, off = match.group(1), match.group(2) or ""
        if not set(on + off) <= _KNOWN_FLAGS or "x" in on:
            raise self._error(f"unknown flags '{on}{off}'")
        now = self._flags
        return Flags(
            ignore_case=("i" in on or now.ignore_case) and "i" not in off,
            multiline=("m" in on or now.multiline) and "m" not in off,
            dot_all=("s" in on or now.dot_all) and "s" not in off,
            unicode="u" in on or now.unicode,
        )

    def _quantified(self, node: Node, began: int) -> Node:
        bounds = self._bounds()
        if bounds is None:
            return node
        grouped = self._source[began] == "(" and not self._source.startswith(("(?<=", "(?<!"), began)
        if not grouped and isinstance(node, PatternAnchor | LookAround):
            raise self._error("nothing to repeat")
        lazy = self._eat("?")
        if self._peek() in ("*", "+", "?") or (self._peek() == "{" and _BRACES.match(self._source, self._at)):
            raise self._error("nothing to repeat")
        least, most = bounds
        return Repeat(node, least, most, lazy)

    def _bounds(self) -> tuple[int, int] | None:
        if self._peek() not in _QUANTIFIERS:
            return None
        for sign, bounds in (("*", (0, INFINITY)), ("+", (1, INFINITY)), ("?", (0, 1))):
            if self._eat(sign):
                return bounds
        match = _BRACES.match(self._source, self._at)
        if not match:
            return None
        self._at = match.end()
        least = int(match.group(1))
        most = least if match.group(2) is None else int(match.group(3)) if match.group(3) else INFINITY
        if most != INFINITY and most < least:
            raise self._error("numbers out of order in {}")
        if max(least, most) > MAX_REPEAT:
            raise self._error(f"repetition above {MAX_REPEAT:,}")
        return least, most

    def _atom(self) -> Node:  # noqa: PLR0911  # one return a kind of atom
        char = self._peek()
        if char == "(":
            return self._group()
        if char == "[":
            return Chars(self._fold(self._class()))
        if char == "\\":
            return self._escape()
        if char in ("*", "+", "?"):
            raise self._error("nothing to repeat")
        self._at += 1
        if char == "^":
            return PatternAnchor("line_start" if self._flags.multiline else "start")
        if char == "$":
            return PatternAnchor("line_end" if self._flags.multiline else "end")
        if char == ".":
            return Chars(charset.EVERYTHING if self._flags.dot_all else charset.DOT)
        return _letter(char, self._flags.ignore_case, self._flags.unicode)

    def _fold(self, chars: CharSet) -> CharSet:
        return chars.folded(unicode=self._flags.unicode) if self._flags.ignore_case else chars

    def _group(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(f"groups nested deeper than {MAX_DEPTH}")
        outer = self._flags
        node = self._group_body()
        if not self._eat(")"):
            raise self._error("missing ')'")
        self._flags = outer
        self._depth -= 1
        return node

    def _group_body(self) -> Node:
        for opener, behind, negated in (
            ("(?=", False, False),
            ("(?!", False, True),
            ("(?<=", True, False),
            ("(?<!", True, True),
        ):
            if self._eat(opener):
                return LookAround(self._choice(), behind, negated)
        if self._eat("(?:"):
            return self._choice()
        if flags := _FLAGS.match(self._source, self._at):
            self._flags = self._switched(flags)
            self._at = flags.end() if flags.group(3) == ":" else flags.end() - 1
            return self._choice()
        named = re.compile(r"\(\?P?<([A-Za-z_$][\w$]{0,99})>").match(self._source, self._at)
        if named:
            self._at = named.end()
        elif self._source.startswith("(?", self._at):
            raise self._error("unknown kind of group")
        else:
            self._at += 1
        self._groups += 1
        number = self._groups
        return PatternGroup(self._choice(), number)

    def _escape(self) -> Node:
        following = self._source[self._at + 1 : self._at + 2]
        if following in ("b", "B"):
            self._at += 2
            kind: AnchorKind = "word" if following == "b" else "not_word"
            return PatternAnchor(kind)
        if following in ("A", "Z") and not self._flags.unicode:
            # Python's spelling of the ends; in JavaScript it would be the letter, which no rule means.
            self._at += 2
            return PatternAnchor("start" if following == "A" else "end")
        reference = re.compile(r"\\([1-9][0-9]?)|\\k<([A-Za-z_$][\w$]{0,99})>").match(self._source, self._at)
        if reference and (reference.group(2) in self._names or int(reference.group(1) or 99) <= len(self._names)):
            self._at = reference.end()
            name = reference.group(2)
            return BackReference(self._names.index(name) + 1 if name else int(reference.group(1)))
        return Chars(self._fold(self._escaped_set()))

    def _escaped_set(self) -> CharSet:
        """The set of one escape, inside or outside a class."""
        self._at += 1
        char = self._peek()
        if not char:
            raise self._error("pattern ends in a backslash")
        self._at += 1
        if char.lower() in _CLASSES:
            chars = _CLASSES[char.lower()]
            return chars if char.islower() else ~chars
        if char in ("p", "P") and self._peek() == "{":
            chars = self._property()
            return chars if char == "p" else ~chars
        if char in _CONTROL:
            return charset.of(_CONTROL[char])
        return CharSet([(self._code(char),) * 2])

    def _code(self, char: str) -> int:
        match = None
        if char == "u":
            match = re.compile(r"\{([0-9A-Fa-f]{1,8})\}|([0-9A-Fa-f]{4})").match(self._source, self._at)
        elif char == "x":
            match = re.compile(r"()([0-9A-Fa-f]{2})").match(self._source, self._at)
        elif char == "c" and re.match(r"[A-Za-z]", self._peek()):
            self._at += 1
            return ord(self._source[self._at - 1]) % 32
        elif char == "0" and not self._peek().isdigit():
            return 0
        if match is None:
            if self._flags.unicode and char.isalnum():
                raise self._error(f"unknown escape '\\{char}'")
            return ord(char)
        self._at = match.end()
        code = int(match.group(1) or match.group(2), 16)
        if code > charset.MAX_CODE_POINT:
            raise self._error("code point out of range")
        return self._joined_surrogates(code)

    def _joined_surrogates(self, code: int) -> int:
        """``\\ud83d\\ude00`` is one character here, as it is in the text."""
        low = re.compile(r"\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})").match(self._source, self._at)
        if 0xD800 <= code <= 0xDBFF and low:
            self._at = low.end()
            return 0x10000 + ((code - 0xD800) << 10) + (int(low.group(1), 16) - 0xDC00)
        return code

    def _property(self) -> CharSet:
        match = re.compile(r"\{(?:(?:sc|scx|gc|Script|Script_Extensions|General_Category)=)?(\w{1,60})\}").match(
            self._source, self._at
        )
        if not match:
            raise self._error("unreadable \\p{…}")
        self._at = match.end()
        chars = property_set(match.group(1))
        if chars is None:
            raise self._error(f"unknown property '{match.group(1)[:40]}'")
        return chars

    def _class(self) -> CharSet:
        self._at += 1
        negated = self._eat("^")
        ranges: list[tuple[int, int]] = []
        while not self._eat("]"):
            if self._at >= len(self._source):
                raise self._error("missing ']'")
            first = self._class_member()
            if self._peek() == "-" and self._source[self._at + 1 : self._at + 2] not in ("]", ""):
                self._at += 1
                ranges += self._class_range(first, self._class_member())
            else:
                ranges += first.ranges
        chars = CharSet(ranges)
        if negated:
            # Folding comes first: [^a] with ignored case excludes A as well.
            return ~self._fold(chars)
        return chars

    def _class_member(self) -> CharSet:
        if self._peek() != "\\":
            self._at += 1
            return charset.of(self._source[self._at - 1])
        if self._source.startswith("\\b", self._at):
            self._at += 2
            return charset.of("\b")
        if self._source.startswith("\\-", self._at):
            self._at += 2
            return charset.of("-")
        return self._escaped_set()

    def _class_range(self, first: CharSet, last: CharSet) -> list[tuple[int, int]]:
        low, high = first.single(), last.single()
        if low is None or high is None:
            if self._flags.unicode:
                raise self._error("a class cannot be the end of a range")
            return [*first.ranges, *last.ranges, (ord("-"), ord("-"))]
        if low > high:
            raise self._error("range out of order in []")
        return [(low, high)]


@functools.lru_cache(maxsize=4_096)
def _letter(char: str, ignore_case: bool, unicode: bool) -> Chars:
    chars = charset.of(char)
    return Chars(chars.folded(unicode=unicode) if ignore_case else chars)


def _group_names(source: str) -> list[str]:
    """The name of every capturing group in order of its number; unnamed ones have the empty name."""
    outside = re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", "", source, flags=re.DOTALL)
    return [match.group(1) or "" for match in re.finditer(r"\((?:(?!\?)|\?P?<(?![=!])([^>]*)>)", outside)]
