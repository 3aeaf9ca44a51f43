"""Loads the dangerous patterns and the allowlist for custom prompts, and looks for them in a prompt's views."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from truekeep.extract.phrases import PhraseMatcher, WordPattern

_BESIDE_SIGNS = re.compile(r" (?=[^\w\s])|(?<=[^\w\s]) ")
_HINTS = {
    "instruction_override": "Say what to extract; do not change who the model is or what it was told.",
    "information_extraction": "An extraction prompt cannot ask for prompts, settings or secrets.",
    "code_execution": "An extraction prompt cannot run code; describe code in words instead.",
    "template_injection": "Use plain {name} fields only.",
    "output_manipulation": "A prompt says what to look for; it cannot dictate what is found or how it is trusted.",
}


@dataclass(frozen=True, slots=True)
class PatternFound:
    """A dangerous pattern that a prompt contains: its id, and the code the error carries."""

    id: str
    code: str

    @property
    def hint(self) -> str:
        """What the author of the prompt can do."""
        return _HINTS[self.code]


@dataclass(frozen=True, slots=True)
class _Patterns:
    variables: frozenset[str]
    matcher: PhraseMatcher
    texts: tuple[tuple[str, str], ...]
    expressions: tuple[tuple[re.Pattern[str], str], ...]
    codes: dict[str, str]


def allowed_variables() -> frozenset[str]:
    """The variables a custom prompt may use."""
    return _patterns().variables


def find_pattern(prompt: str) -> PatternFound | None:
    """The first dangerous pattern in any reading of the prompt."""
    patterns = _patterns()
    for text in _readings(prompt):
        found = _in_words(patterns, text) or _in_text(patterns, text)
        if found is not None:
            return PatternFound(found, patterns.codes[found])
    return None


def load_patterns() -> dict[str, Any]:
    """The pattern file as it is written, with each pattern's own cases."""
    import yaml  # noqa: PLC0415 - only paid for when a prompt is looked at

    source = files("truekeep").joinpath("data", "extract", "prompt_patterns.yaml").read_text(encoding="utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loaded: dict[str, Any] = yaml.load(source, Loader=loader)  # noqa: S506 - both loaders are the safe ones
    return loaded


def _in_words(patterns: _Patterns, text: str) -> str | None:
    found = patterns.matcher.first(text)
    return None if found is None else found.id


def _in_text(patterns: _Patterns, text: str) -> str | None:
    tight = _BESIDE_SIGNS.sub("", " ".join(text.split()))
    is_ascii = tight.isascii()
    for literal, pattern in patterns.texts:
        if (literal.isascii() or not is_ascii) and _occurs(literal, tight):
            return pattern
    for expression, pattern in patterns.expressions:
        if expression.search(tight):
            return pattern
    return None


def _occurs(literal: str, text: str) -> bool:
    """Whether a literal occurs as a word of its own: ``eval(`` is not in ``medieval(``."""
    at = text.find(literal)
    while at >= 0:
        if at == 0 or not literal[0].isascii() or not (literal[0].isalnum() and text[at - 1].isalnum()):
            return True
        at = text.find(literal, at + 1)
    return False


def _readings(prompt: str) -> Iterator[str]:
    """The prompt in every reading the house knows, casefolded and without marks, each once."""
    from truekeep.text.analysis import analysed  # noqa: PLC0415
    from truekeep.text.fold import strip_marks  # noqa: PLC0415

    plain = strip_marks(prompt).casefold()
    yield plain
    # Line ends matter to the plain reading only; without them the other readings are made in half the time.
    seen = {" ".join(plain.split())}
    for view in analysed(" ".join(prompt.split())).views:
        reading = strip_marks(view.text).casefold()
        if reading not in seen:
            seen.add(reading)
            yield reading


@cache
def _patterns() -> _Patterns:
    from truekeep.text.fold import strip_marks  # noqa: PLC0415

    def plain(text: str) -> str:
        return strip_marks(text).casefold()

    loaded = load_patterns()
    rows = loaded["patterns"]
    return _Patterns(
        variables=frozenset(loaded["variables"]),
        matcher=PhraseMatcher(_word_pattern(row, plain) for row in rows if "words" in row),
        texts=tuple((plain(text), row["id"]) for row in rows for text in row.get("text", ())),
        expressions=tuple((re.compile(row["regex"]), row["id"]) for row in rows if "regex" in row),
        codes={row["id"]: row["code"] for row in rows},
    )


def _word_pattern(row: dict[str, Any], plain: Any) -> WordPattern:
    return WordPattern(
        id=row["id"],
        groups=tuple(frozenset(plain(group).split()) for group in row["words"]),
        gap=row.get("gap", 3),
        unless=frozenset(plain(row.get("unless", "")).split()),
        negatable=row.get("negatable", False),
        imperative=row.get("imperative", False),
    )
