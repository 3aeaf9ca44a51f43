"""Parses prompt templates whose only syntax is ``{name}``, ``{{`` and ``}}``, in one pass.

``str.format`` is never called on a user's template: its fields reach attributes, items, conversions and
format specifications. What this parser accepts, ``string.Formatter`` reads the same way; it accepts less.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from truekeep.errors import PromptSecurityError

_BRACE = re.compile(r"[{}]")
# Possessive: a run of text and doubled braces is taken once and never given back.
_LITERAL = re.compile(r"(?:[^{}]++|\{\{|\}\})++")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*", re.ASCII)
_TOKEN = re.compile(r"\{\{|\}\}|\{([A-Za-z][A-Za-z0-9]*+(?:_[A-Za-z0-9]++)*+)\}|([{}])", re.ASCII)
_LONGEST_NAME = 64  # names are words; the pattern is tried at every brace
_FAULTS = {
    ".": ("template_attribute", "reaches for an attribute"),
    "[": ("template_index", "reaches for an item"),
    "!": ("template_conversion", "asks for a conversion"),
    ":": ("template_format_spec", "has a format specification"),
}
_HINT = "Use plain {name} fields; write {{ and }} for literal braces, for example to show JSON."


@dataclass(frozen=True, slots=True)
class TemplatePiece:
    """Literal text, followed by a field's name unless the template ends."""

    literal: str
    name: str | None = None


def parse_template(template: str) -> list[TemplatePiece]:
    """The template's pieces; anything but plain names and literal braces is refused."""
    return list(_pieces(template))


def field_names(template: str) -> frozenset[str]:
    """The names a template uses; the same refusals as ``parse_template``, at a fraction of the time."""
    found = set(_TOKEN.findall(template))
    names = frozenset(name for name, _ in found if name)
    if any(lone for _, lone in found) or any(len(name) > _LONGEST_NAME for name in names):
        parse_template(template)
    return names


def _pieces(template: str) -> Iterator[TemplatePiece]:
    done = 0
    while True:
        literal = _LITERAL.match(template, done)
        text, done = (literal[0], literal.end()) if literal else ("", done)
        text = text.replace("{{", "{").replace("}}", "}")
        if done == len(template):
            yield TemplatePiece(text)
            return
        end = _field_end(template, done)
        yield TemplatePiece(text, _field_name(template[done + 1 : end]))
        done = end + 1


def _field_end(template: str, at: int) -> int:
    if template[at] == "}":
        raise _refusal("template_unbalanced", "has a closing brace without an opening one")
    following = _BRACE.search(template, at + 1)
    if following is None:
        raise _refusal("template_unbalanced", "has an opening brace that is never closed")
    if following[0] == "{":
        raise _refusal("template_nested", "has a field inside a field")
    return following.start()


def _field_name(field: str) -> str:
    if not field.strip() or field.isdecimal():
        raise _refusal("template_positional", "has a field without a name")
    if len(field) <= _LONGEST_NAME and _NAME.fullmatch(field):
        return field
    for sign, (code, what) in _FAULTS.items():
        if sign in field:
            raise _refusal(code, f"has a field that {what}" if code != "template_format_spec" else f"{what} in a field")
    raise _refusal("template_name", "has a field whose name is not plain letters, digits and single underscores")


def _refusal(code: str, what: str) -> PromptSecurityError:
    return PromptSecurityError(f"The template {what}.", code=code, hint=_HINT)
