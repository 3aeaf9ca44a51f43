"""Decides whether a user's extraction prompt may be used, and fills it in without ever evaluating it.

A custom prompt is code written by a user and run by a model on other people's text. Validation keeps out the
known ways to abuse it; it is a filter, not the wall. What a prompt makes a model say still has to prove its
quote and pass the gate.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from datetime import date, datetime
from typing import Final

from truekeep.errors import PromptSecurityError
from truekeep.extract import events
from truekeep.extract.prompt_patterns import allowed_variables, find_pattern
from truekeep.extract.template import TemplatePiece, field_names, parse_template

MAX_PROMPT: Final = 10_000
MAX_VALUE: Final = 8_000
MAX_OUTPUT: Final = 50_000
_MAX_ITEMS: Final = 100
_MAX_INTEGER_BITS: Final = 256
_CUT: Final = "\u2026"
# Look-alikes that NFKC leaves alone, so that no later normalisation turns a value back into a field.
_NEUTRAL: Final = str.maketrans({"{": "\u2774", "}": "\u2775"})
_RESTORED: Final = str.maketrans({"\u2774": "{", "\u2775": "}"})
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# Overrides and isolates reorder what a reviewer sees; joiners and marks that scripts need are not among them.
_REORDERING: Final = re.compile("[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e0fff]")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")

Scalar = str | int | float | bool | date | None
Value = Scalar | list[str] | tuple[str, ...]


def validate_custom_prompt(prompt: str, strict: bool = True) -> None:
    """Refuse a prompt that is too long, malformed or dangerous with ``PromptSecurityError``.

    ``strict`` also refuses variables outside the allowlist. Every other check holds either way.
    """
    try:
        _validate(prompt, strict=strict)
    except PromptSecurityError as error:
        size = len(prompt) if isinstance(prompt, str) else 0
        events.emit(events.PROMPT_REFUSED, code=error.code, length=size)
        raise


def secure_format_prompt(template: str, allowed_vars: Collection[str] | None = None, **values: Value) -> str:
    """Fill in a template's plain ``{name}`` fields with values that are only ever text.

    ``allowed_vars`` names the fields the template may use; an empty collection allows none, and ``None`` allows
    those for which there is a value. Braces in values are replaced by look-alikes, long values are cut at
    ``MAX_VALUE`` characters, and an output over ``MAX_OUTPUT`` is refused.
    """
    try:
        return _format(template, allowed_vars, values)
    except PromptSecurityError as error:
        events.emit(events.TEMPLATE_REFUSED, code=error.code)
        raise


def merge_variables(reserved: Mapping[str, Value], configured: Mapping[str, Value]) -> dict[str, Value]:
    """The values for a prompt. Configuration may add variables; it never replaces one the house fills in."""
    names = {name.casefold() for name in reserved} | allowed_variables()
    for name in configured:
        if not isinstance(name, str) or unicodedata.normalize("NFKC", name).casefold() in names:
            error = _refusal("reserved_variable", "Configuration cannot replace a variable that truekeep fills in.")
            events.emit(events.TEMPLATE_REFUSED, code=error.code)
            raise error
    return {**configured, **reserved}


def restore_braces(text: str) -> str:
    """Undo the neutralised braces in what a model quotes back, so that the quote can be compared verbatim."""
    return text.translate(_RESTORED)


def _validate(prompt: object, *, strict: bool) -> None:
    text = _plain_text(prompt, "prompt")
    if not text.strip():
        raise _refusal("prompt_empty", "The prompt is empty.")
    if len(text) > MAX_PROMPT:
        raise _refusal("prompt_too_long", f"Prompt too long: more than {MAX_PROMPT} characters.")
    _check_characters(text)
    names = field_names(text)
    if strict and not names <= allowed_variables():
        listed = ", ".join(sorted(allowed_variables()))
        raise _refusal("template_variable", "The prompt uses a variable that is not allowed.", f"Use only: {listed}.")
    found = find_pattern(text)
    if found is not None:
        raise _refusal(found.code, f"Potentially malicious pattern detected: {found.id}.", found.hint)


def _plain_text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise _refusal(f"{what}_type", f"The {what} must be a string.")
    return str.__str__(value)


def _check_characters(text: str) -> None:
    if _CONTROLS.search(text):
        raise _refusal("prompt_control_character", "The prompt contains control characters.")
    if text.isascii():
        return
    if _REORDERING.search(text):
        raise _refusal("prompt_hidden_text", "The prompt contains characters that hide or reorder text.")
    if _SURROGATES.search(text):
        raise _refusal("prompt_invalid_unicode", "The prompt is not valid Unicode.")


def _format(template: object, allowed_vars: Collection[str] | None, values: Mapping[str, object]) -> str:
    text = _plain_text(template, "template")
    if len(text) > MAX_OUTPUT:
        raise _refusal("template_too_long", "The template is too long.")
    if isinstance(allowed_vars, str):
        raise _refusal("template_allowlist", "The allowlist must be a collection of names, not one string.")
    pieces = parse_template(text)
    needed = {piece.name for piece in pieces if piece.name is not None}
    if not needed <= set(values if allowed_vars is None else allowed_vars):
        raise _refusal("template_variable", "The template uses a variable that is not allowed.")
    if not needed <= values.keys():
        raise _refusal("template_missing_value", "Template formatting error: a variable has no value.")
    return _joined(pieces, {name: _as_text(values[name]) for name in needed})


def _joined(pieces: list[TemplatePiece], texts: Mapping[str, str]) -> str:
    """The output; its size is known before it is built, so a repeated field costs nothing."""
    size = sum(len(piece.literal) + (len(texts[piece.name]) if piece.name else 0) for piece in pieces)
    if size > MAX_OUTPUT:
        raise _refusal("template_output_too_long", f"The filled-in prompt would exceed {MAX_OUTPUT} characters.")
    return "".join(piece.literal + (texts[piece.name] if piece.name else "") for piece in pieces)


def _as_text(value: object) -> str:
    """A value as inert text. Only exact built-in kinds: an object's own ``__str__`` is never called."""
    if isinstance(value, str):
        text = str.__str__(value)
    elif isinstance(value, list | tuple) and len(value) <= _MAX_ITEMS and all(isinstance(v, str) for v in value):
        text = ", ".join(str.__str__(item)[:MAX_VALUE] for item in value)
    else:
        text = _scalar_text(value)
    if len(text) > MAX_VALUE:
        text = text[: MAX_VALUE - len(_CUT)] + _CUT
    return text.translate(_NEUTRAL)


def _scalar_text(value: object) -> str:
    if value is None:
        return ""
    if type(value) in (bool, float) or (type(value) is int and value.bit_length() <= _MAX_INTEGER_BITS):
        return repr(value)
    if type(value) is date or (type(value) is datetime and _has_standard_zone(value)):
        return value.isoformat()
    raise _refusal("template_value_type", "A variable's value is neither text, a number, a date nor a list of texts.")


def _has_standard_zone(value: datetime) -> bool:
    """A ``tzinfo`` is someone's code too, so only the standard library's are asked for their offset."""
    return value.tzinfo is None or type(value.tzinfo).__module__ in ("datetime", "zoneinfo")


def _refusal(code: str, message: str, hint: str | None = None) -> PromptSecurityError:
    return PromptSecurityError(message, code=code, hint=hint)
