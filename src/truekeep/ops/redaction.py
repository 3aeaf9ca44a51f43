"""Redaction: what is left of a row or an event when everything that names a subject is taken out of it.

Keys, texts, numbers and JSON within texts are walked, at any depth and under any name. What this keep itself wrote down
in fixed forms (ids, hashes, moments, codes) is no name. A name that leads from one row to another, such as a
session's, becomes the same keyed pseudonym everywhere, so that what restricts a session goes on to restrict it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from truekeep.audit.log import ERASED
from truekeep.ops.naming import SubjectWords
from truekeep.stores.chain import RESTATED

_LEADING = frozenset(
    {
        "by",
        "decided_by",
        "added_by",
        "undone_by",
        "leased_by",
        "channel",
        "carrier",
        "session",
        "parent",
        "run",
        "member",
        "owner",
        "name",
        "prompt",
        "tool",
        "action",
        "via",
        "retired_by",
    }
)
"""Members of our own rows that hold the name of somebody or something else: a row is not *about* whom it leads to."""
_CODES = frozenset(
    {
        "standing",
        "kind",
        "state",
        "code",
        "how",
        "first",
        "retired",
        "decision",
        "outcome",
        "origins",
        "capabilities",
        "strategy",
        "screened",
        "keep",
        "cipher",
        "anchors",
        "rows",
        "noted",
        "packed",
        RESTATED,
    }
)
"""Members of our own rows and events that hold words of ours."""
_OWN_PARTS = frozenset(
    {"origin", "memory", "approval", "effects", "findings", "said", "outdates", "verdicts", "removed", "redacted"}
)
"""Members in which every member is ours as well; in all others, anybody's words may stand."""
_TEXTS = frozenset({"text", "own", "quote", "reason", "why", "principal"})
OWN_ID = re.compile(r"(?:exp|gnt|inc|mem|obs|pln|rev|tkt)_[0-9a-f]{20}(?:[./<][0-9]+)?")
"""Ids that keeps give: they say nothing, and rows are found by them."""
_LIKE_OWN_ID = re.compile(r"[a-z]{3,4}_[0-9a-f]{12,64}(?:[./<][0-9]+)?")
_OWN_FORM = re.compile(r"[0-9a-f]{16,128}|\d{4}-\d\d-\d\dT[\d:.]+Z|[a-z]+:[0-9a-f]{16,64}|(?:[a-z]+:)?")
_AS_LONG_AS_AN_ID = 12
"""Letters and digits of a subject that no hash holds by chance: where it stands in such a form, it is somebody's."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """Takes one subject out of what is stored."""

    words: SubjectWords
    pseudonym: Callable[[str], str]
    kept: frozenset[str] = field(default_factory=frozenset)
    """Names that stand in the settings and cannot be erased there: the channels."""

    def is_about(self, body: Any) -> bool:
        """Whether a row of ours says something about the subject, and does not merely lead to a name."""
        return any(self.words.are_in(one) if isinstance(one, str) else self.words.are(one) for one in self._said(body))

    def cleared(self, value: Any, *, is_ours: bool = True, key: str = "") -> Any:
        """The value without the subject."""
        if isinstance(value, dict):
            spread = _texts_of(value) if not is_ours and self._is_spread(value.values()) else []
            members = value | dict.fromkeys(spread, ERASED)
            return {self._name(name): self._member(name, one, is_ours=is_ours) for name, one in members.items()}
        if isinstance(value, list):
            left = [self.cleared(one, is_ours=is_ours, key=key) for one in value]
            return [ERASED] if self._is_spread(left) else left
        if isinstance(value, str):
            return self._text(value, key, is_ours=is_ours)
        if isinstance(value, int | float) and not is_ours and self.words.are(value):
            return None
        return value

    def name(self, text: str) -> str:
        """A row's id or tag without the subject, part by part."""
        if self._is_own(text) or not self.words.are_in(text):
            return text
        parts = text.split(" ")
        cleared = [self.pseudonym(part) if self.words.are_in(part) else part for part in parts]
        return " ".join(cleared) if cleared != parts else self.pseudonym(text)

    def _member(self, name: str, value: Any, *, is_ours: bool) -> Any:
        if is_ours and name in _CODES:
            return {self._name(key): one for key, one in value.items()} if isinstance(value, dict) else value
        if is_ours and name in _LEADING and isinstance(value, str):
            return value if value in self.kept else self.name(value)
        return self.cleared(value, is_ours=_stays_ours(name, value, is_ours=is_ours), key=name)

    def _name(self, key: str) -> str:
        return key if self._is_own(key, is_ours=False) or not self.words.are_in(key) else self.pseudonym(key)

    def _text(self, text: str, key: str, *, is_ours: bool) -> str:
        if self._is_own(text, key, is_ours=is_ours):
            return text
        inner = parsed(text)
        if inner is not None and (left := self.cleared(inner, is_ours=False)) != inner:
            text = json.dumps(left)
        return ERASED if self.words.are_in(text) else text

    def _is_spread(self, values: Iterable[Any]) -> bool:
        """Whether several texts name the subject together: a first and a last name."""
        return self.words.are_in(_together(values))

    def _is_own(self, text: str, key: str = "", *, is_ours: bool = True) -> bool:
        """Whether a text is an id, a hash or a moment of ours. A card's number or another system's id may look so."""
        if OWN_ID.fullmatch(text):
            return True
        is_form = _LIKE_OWN_ID.fullmatch(text) or (is_ours and key not in _TEXTS and _OWN_FORM.fullmatch(text))
        return bool(is_form) and not (len(self.words.letters) >= _AS_LONG_AS_AN_ID and self.words.are_in(text))

    def _said(self, value: Any, *, is_ours: bool = True, key: str = "") -> Iterator[str | float]:
        """Everything in a body that somebody may have said: texts, keys and numbers, but no names that only lead on."""
        if isinstance(value, dict):
            if not is_ours:
                yield _together(value.values())
            for name, one in value.items():
                if not is_ours:
                    yield name
                elif name in _CODES or (name in _LEADING and isinstance(one, str)):
                    yield from one if isinstance(one, dict) else ()
                    continue
                yield from self._said(one, is_ours=_stays_ours(name, one, is_ours=is_ours), key=name)
        elif isinstance(value, list):
            yield _together(value)
            for one in value:
                yield from self._said(one, is_ours=is_ours, key=key)
        elif isinstance(value, str):
            if not self._is_own(value, key, is_ours=is_ours):
                yield value
                inner = parsed(value)
                if inner is not None:
                    yield from self._said(inner, is_ours=False)
        elif isinstance(value, int | float) and not is_ours:
            yield value


def parsed(text: str) -> Any:
    """What a text is as JSON, if it is an object or a list."""
    try:
        value = json.loads(text) if text.lstrip()[:1] in ("{", "[") else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _together(values: Iterable[Any]) -> str:
    return " ".join(one for one in values if isinstance(one, str) and not _LIKE_OWN_ID.fullmatch(one))


def _texts_of(members: dict[str, Any]) -> list[str]:
    return [name for name, one in members.items() if isinstance(one, str)]


def _stays_ours(name: str, value: Any, *, is_ours: bool) -> bool:
    return is_ours and (name in _OWN_PARTS or (not isinstance(value, dict) and not _has_parts(value)))


def _has_parts(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(one, dict) for one in value)
