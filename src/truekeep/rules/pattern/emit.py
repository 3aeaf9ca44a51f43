"""Write a tree back as a pattern: for the exact backtracking matcher, and widened for the multi-pattern prefilter."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from truekeep.rules.pattern.alphabet import bytes_of
from truekeep.rules.pattern.charset import CharSet
from truekeep.rules.pattern.syntax import (
    INFINITY,
    BackReference,
    Chars,
    Choice,
    LookAround,
    Node,
    PatternAnchor,
    PatternGroup,
    PatternSequence,
    Repeat,
)

_COUNTED = 4
_EXACT_ANCHORS = {
    "start": r"\A",
    "end": r"\Z",
    "line_start": r"(?<![^\n\r\u2028\u2029])",
    "line_end": r"(?![^\n\r\u2028\u2029])",
    "word": r"\b",
    "not_word": r"\B",
}


def exact(node: Node, *, capturing: bool, narrow: bool = False) -> str:  # noqa: PLR0911  # one return a kind of node
    """``node`` for the ``regex`` module with its ASCII flag; classes and case are spelled out, nothing is implied.

    ``narrow`` is for ASCII texts only and for the IGNORECASE flag: the same answers, found much faster.
    """
    match node:
        case Chars():
            return narrow_class(node.chars) if narrow else exact_class(node.chars)
        case PatternSequence():
            return "".join(_unit(part, capturing, narrow) for part in node.parts)
        case Choice():
            return "|".join(exact(option, capturing=capturing, narrow=narrow) for option in node.options)
        case Repeat():
            return _unit(node.part, capturing, narrow, repeated=True) + _quantifier(node)
        case PatternGroup():
            inside = exact(node.part, capturing=capturing, narrow=narrow)
            return f"(?P<g{node.number}>{inside})" if capturing else f"(?:{inside})"
        case PatternAnchor():
            return _EXACT_ANCHORS[node.kind]
        case LookAround():
            sign = ("<" if node.behind else "") + ("!" if node.negated else "=")
            return f"(?{sign}{exact(node.part, capturing=capturing, narrow=narrow)})"
        case BackReference():
            # A group that took no part matches the empty text in JavaScript and nothing at all elsewhere.
            return f"(?(g{node.group})(?P=g{node.group})|)"


def _unit(node: Node, capturing: bool, narrow: bool, *, repeated: bool = False) -> str:
    text = exact(node, capturing=capturing, narrow=narrow)
    if isinstance(node, Choice) or (
        repeated and isinstance(node, (PatternSequence, Repeat, PatternAnchor, BackReference, LookAround))
    ):
        return f"(?:{text})"
    return text


def _quantifier(node: Repeat) -> str:
    if node.most == INFINITY:
        text = {0: "*", 1: "+"}.get(node.least, f"{{{node.least},}}")
    elif (node.least, node.most) == (0, 1):
        text = "?"
    else:
        text = f"{{{node.least}}}" if node.least == node.most else f"{{{node.least},{node.most}}}"
    return text + "?" if node.lazy else text


@functools.lru_cache(maxsize=20_000)
def exact_class(chars: CharSet) -> str:
    """``chars`` as a class of the ``regex`` module."""
    single = chars.single()
    if single is not None:
        return _code(single)
    if not chars:
        return r"(?!)"
    return (
        "[" + "".join(_code(low) if low == high else f"{_code(low)}-{_code(high)}" for low, high in chars.ranges) + "]"
    )


@functools.lru_cache(maxsize=20_000)
def narrow_class(chars: CharSet) -> str:
    """The ASCII part of ``chars``, to be read with case ignored."""
    ascii_part = CharSet((low, min(high, 127)) for low, high in chars.ranges if low < 128)
    if not ascii_part:
        return r"(?!)"
    if ascii_part.folded(unicode=False) != ascii_part:
        return f"(?-i:{exact_class(ascii_part)})"
    if ascii_part.size() == 2 and chr(ascii_part.ranges[-1][0]).isalpha():
        return chr(ascii_part.ranges[-1][0])
    return exact_class(ascii_part)


def _code(code: int) -> str:
    if chr(code).isalnum() and code < 128:
        return chr(code)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def wide(node: Node, groups: Mapping[int, Node], *, leads: bool = True, trails: bool = True) -> str:  # noqa: PLR0911  # one return a kind of node
    """``node`` over bytes for the prefilter: never narrower than the original, and without what it cannot take.

    ``leads`` and ``trails`` say whether nothing can come before or after; the ends of the text can be asked
    for only there.
    """
    match node:
        case Chars():
            return wide_class(node.chars)
        case PatternSequence():
            return _wide_sequence(node.parts, groups, leads, trails)
        case Choice():
            return "|".join(wide(option, groups, leads=leads, trails=trails) for option in node.options)
        case Repeat():
            once = node.most == 1
            inside = wide(node.part, groups, leads=leads and once, trails=trails and once)
            if not inside:
                return ""
            unit = inside if isinstance(node.part, Chars) else f"(?:{inside})"
            return unit + _quantifier(_bounded(node))
        case PatternGroup():
            inside = wide(node.part, groups, leads=leads, trails=trails)
            return f"(?:{inside})" if inside else ""
        case PatternAnchor():
            return _wide_anchor(node, leads, trails)
        case LookAround():
            return ""
        case BackReference():
            return _wide_reference(node, groups)


def _wide_reference(node: BackReference, groups: Mapping[int, Node]) -> str:
    """Whatever the group could match, or nothing."""
    others = {number: part for number, part in groups.items() if number != node.group}
    inside = wide(groups[node.group], others, leads=False, trails=False) if node.group in groups else ""
    return f"(?:{inside})?" if inside else ""


def _bounded(node: Repeat) -> Repeat:
    """``node`` without large bounds: counting is what makes the prefilter's database slow, and confirming is exact."""
    least, most = min(node.least, _COUNTED), node.most
    return Repeat(node.part, least, most if most <= _COUNTED else INFINITY)


def _wide_sequence(parts: tuple[Node, ...], groups: Mapping[int, Node], leads: bool, trails: bool) -> str:
    pieces = []
    for index, part in enumerate(parts):
        first = leads and all(isinstance(earlier, (LookAround, PatternAnchor)) for earlier in parts[:index])
        last = trails and all(isinstance(later, (LookAround, PatternAnchor)) for later in parts[index + 1 :])
        piece = wide(part, groups, leads=first, trails=last)
        pieces.append(f"(?:{piece})" if isinstance(part, Choice) and piece else piece)
    return "".join(pieces)


def _wide_anchor(node: PatternAnchor, leads: bool, trails: bool) -> str:
    if node.kind == "start":
        return r"\A" if leads else ""
    if node.kind == "end":
        return r"\z" if trails else ""
    return {"word": r"\b", "not_word": r"\B"}.get(node.kind, "")


@functools.lru_cache(maxsize=20_000)
def wide_class(chars: CharSet) -> str:
    """``chars`` as a class over the bytes of the prefilter's alphabet."""
    members = {byte for low, high in chars.ranges for byte in bytes_of(low, high)}
    if not members:
        return r"[^\x00-\xff]"
    return byte_class(members)


def byte_class(members: set[int]) -> str:
    """A set of bytes as a class, in ranges."""
    parts, ordered = [], sorted(members)
    start = previous = ordered[0]
    for code in [*ordered[1:], -1]:
        if code != previous + 1:
            parts.append(_byte(start) if start == previous else f"{_byte(start)}-{_byte(previous)}")
            start = code
        previous = code
    return parts[0] if len(members) == 1 else "[" + "".join(parts) + "]"


def _byte(code: int) -> str:
    return chr(code) if chr(code).isalnum() and code < 128 else f"\\x{code:02x}"
