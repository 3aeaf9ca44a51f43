"""The console's words in every language: chosen by the person, else by what their browser asks for."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

LANGUAGES: Mapping[str, str] = {"en": "English", "sk": "Slovenčina"}
"""The languages by their own names; the first is spoken where nothing else is asked for."""
_DEFAULT = "en"
_FORMS: Mapping[str, Callable[[int], str]] = {
    "en": lambda count: "one" if count == 1 else "other",
    "sk": lambda count: "one" if count == 1 else "few" if 2 <= count <= 4 else "other",
}
"""Which form of a counted word goes with a number."""
_COUNTED = frozenset({"one", "few", "other"})


@dataclass(frozen=True, slots=True)
class PageWords:
    """One language. A key is ``page.name``; a value may have ``{places}``, filled with what is escaped later."""

    language: str
    _known: Mapping[str, Any]

    def __contains__(self, key: str) -> bool:
        return key in self._known

    def t(self, key: str, **values: object) -> str:
        """The words of a key."""
        text: str = self._known[key]
        return text.format(**values) if values else text

    def n(self, key: str, count: int, **values: object) -> str:
        """The words of a key for a number of things."""
        forms: Mapping[str, str] = self._known[key]
        return forms[_FORMS[self.language](count)].format(n=f"{count:,}", **values)

    def says(self, sentence: str) -> str | None:
        """A sentence of the library in this language; nothing if it has none, as with what others wrote."""
        if self.language == _DEFAULT:
            return sentence
        exact, patterns = _phrases(self.language)
        if sentence in exact:
            return exact[sentence]
        for begins, ends, pattern, text in patterns:
            if not (sentence.startswith(begins) and sentence.endswith(ends)):
                continue  # most of a few hundred patterns are passed over without being tried
            if (found := pattern.fullmatch(sentence)) is not None:
                return text.format(*(self.says(part) or part for part in found.groups()))
        return None

    def known(self, key: str, otherwise: str) -> str:
        """The words of a key, or the library's own where there are none."""
        found = self._known.get(key)
        return found if isinstance(found, str) else otherwise


@cache
def words(language: str) -> PageWords:
    """The words of a language."""
    folder = resources.files("truekeep") / "data" / "console" / language
    found: dict[str, Any] = {}
    for file in folder.iterdir():
        page, _, ending = file.name.rpartition(".")
        if ending == "toml":
            found |= _flat(page, tomllib.loads(file.read_text("utf-8")))
    return PageWords(language, found)


_PLACE = re.compile(r"\\{\d*\\}")


@cache
def _phrases(language: str) -> tuple[Mapping[str, str], Sequence[tuple[str, str, re.Pattern[str], str]]]:
    """The library's sentences: whole ones, and those with places that are filled with names, ids and numbers."""
    file = resources.files("truekeep") / "data" / "console" / "library" / f"{language}.toml"
    listed: Mapping[str, str] = tomllib.loads(file.read_text("utf-8"))["sentences"]
    whole = {sentence: text for sentence, text in listed.items() if "{" not in sentence}
    patterns = []
    for sentence, text in listed.items():
        if "{" in sentence:
            pattern = re.compile(_PLACE.sub("(.{0,400}?)", re.escape(sentence)))
            patterns.append((sentence.partition("{")[0], sentence.rpartition("}")[2], pattern, text))
    return whole, patterns


def chosen(wished: str | None, accepted: str) -> str:
    """The language to speak: the one that was wished for, else the first accepted one that there is."""
    if wished in LANGUAGES:
        return str(wished)
    ranked: list[tuple[float, str]] = []
    for part in accepted[:500].split(","):
        tag, _, weight = part.strip().partition(";q=")
        ranked.append((-_weight(weight), tag.split("-")[0].casefold()))
    spoken = [tag for quality, tag in sorted(ranked, key=lambda one: one[0]) if quality < 0 and tag in LANGUAGES]
    return spoken[0] if spoken else _DEFAULT


def _weight(given: str) -> float:
    try:
        return float(given) if given else 1.0
    except ValueError:
        return 0.0


def _flat(prefix: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """Nested tables as dotted keys; a table of plural forms stays one value."""
    found: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, Mapping) and not set(value) <= _COUNTED:
            found |= _flat(f"{prefix}.{name}", value)
        else:
            found[f"{prefix}.{name}"] = value
    return found
