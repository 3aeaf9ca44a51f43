"""Write a tree back as a pattern: for the exact backtracking matcher, and widened for the multi-pattern prefilter."""

from __future__ import annotations

import functools

from truekeep.rules.pattern.charset import CharSet
from truekeep.rules.pattern.syntax import (
    INFINITY,
    Anchor,
    BackReference,
    Chars,
    Choice,
    Group,
    Look,
    Node,
    Repeat,
    Sequence,
)

_EXACT_ANCHORS = {
    "start": r"\A",
    "end": r"\Z",
    "line_start": r"(?<![^\n\r\u2028\u2029])",
    "line_end": r"(?![^\n\r\u2028\u2029])",
    "word": r"\b",
    "not_word": r"\B",
}
_WIDE_ANCHORS = {"start": r"\A", "end": r"\z", "word": r"\b", "not_word": r"\B"}


def exact(node: Node, *, capturing: bool) -> str:
    """``node`` for the ``regex`` module with its ASCII flag; classes and case are spelled out, nothing is implied."""
    match node:
        case Chars():
            return exact_class(node.chars)
        case Sequence():
            return "".join(_unit(part, capturing) for part in node.parts)
        case Choice():
            return "|".join(exact(option, capturing=capturing) for option in node.options)
        case Repeat():
            return _unit(node.part, capturing, repeated=True) + _quantifier(node)
        case Group():
            inside = exact(node.part, capturing=capturing)
            return f"(?P<g{node.number}>{inside})" if capturing else f"(?:{inside})"
        case Anchor():
            return _EXACT_ANCHORS[node.kind]
        case Look():
            sign = ("<" if node.behind else "") + ("!" if node.negated else "=")
            return f"(?{sign}{exact(node.part, capturing=capturing)})"
        case BackReference():
            # A group that took no part matches the empty text in JavaScript and nothing at all elsewhere.
            return f"(?(g{node.group})(?P=g{node.group})|)"


def _unit(node: Node, capturing: bool, *, repeated: bool = False) -> str:
    text = exact(node, capturing=capturing)
    if isinstance(node, Choice) or (
        repeated and isinstance(node, (Sequence, Repeat, Anchor, BackReference, Look))
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
        "["
        + "".join(_code(low) if low == high else f"{_code(low)}-{_code(high)}" for low, high in chars.ranges)
        + "]"
    )


def _code(code: int) -> str:
    if chr(code).isalnum() and code < 128:
        return chr(code)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def wide(node: Node) -> str:
    """``node`` over bytes for the prefilter: never narrower than the original, and without what it cannot take."""
    match node:
        case Chars():
            return wide_class(node.chars)
        case Sequence():
            return "".join(f"(?:{wide(p)})" if isinstance(p, Choice) else wide(p) for p in node.parts)
        case Choice():
            return "|".join(wide(option) for option in node.options)
        case Repeat():
            inside = wide(node.part)
            if not inside:
                return ""
            unit = inside if isinstance(node.part, Chars) else f"(?:{inside})"
            return unit + _quantifier(Repeat(node.part, node.least, node.most))
        case Group():
            inside = wide(node.part)
            return f"(?:{inside})" if inside else ""
        case Anchor():
            return _WIDE_ANCHORS.get(node.kind, "")
        case Look():
            return ""
        case BackReference():
            return r"[\x00-\xff]*"


def is_widened(node: Node) -> bool:
    """Whether :func:`wide` leaves something out, so that a hit on ASCII text is no proof."""
    match node:
        case Look() | BackReference():
            return True
        case Anchor():
            return node.kind not in _WIDE_ANCHORS
        case Sequence():
            return any(is_widened(part) for part in node.parts)
        case Choice():
            return any(is_widened(option) for option in node.options)
        case Repeat() | Group():
            return is_widened(node.part)
        case _:
            return False


@functools.lru_cache(maxsize=20_000)
def wide_class(chars: CharSet) -> str:
    """``chars`` as a class over the bytes that :func:`to_bytes` makes of a text."""
    members = {code for low, high in chars.ranges if low < 128 for code in range(low, min(high, 127) + 1)}
    for low, high in chars.ranges:
        low = max(low, 128)
        if high - low >= 127:
            members |= set(range(128, 256))
        elif high >= low:
            members |= {128 | code & 127 for code in range(low, high + 1)}
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


class _ByteTable(dict[int, str]):
    """One byte for every code point: ASCII as it is, the rest folded onto the upper half."""

    def __missing__(self, code: int) -> str:
        self[code] = value = chr(128 | code & 127)
        return value


_TABLE = _ByteTable({code: chr(code) for code in range(128)})


def to_bytes(text: str) -> bytes:
    """The text the prefilter sees: exactly one byte a character, so its offsets are the text's own."""
    if text.isascii():
        return text.encode("ascii")
    return text.translate(_TABLE).encode("latin-1")
