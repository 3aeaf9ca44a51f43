"""What was merely read has to describe, in a language that is read here: all else waits for a person."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache

from truekeep.screens.base import Screened
from truekeep.screens.instruction import readings, sentences_of
from truekeep.screens.lexicon import LANGUAGES, Tokens, find
from truekeep.text.language import NAMES, language
from truekeep.text.letters import letter_runs
from truekeep.types import Finding, Response, Severity, Standing, Threat

SCREEN = "hearsay"
# A page instead of what it says, a slip with a task, a task with its material in quotes: nobody notes down a fact so.
_PAGE = re.compile(
    r"<!\s?--|</?[^\W\d_][^\W_]{0,15}(?:\s[^<>]{0,200})?>|\{\{|\bto-?do\s?:|:\s?[\"'\u201c\u2018\u00ab](?=\S)", re.I
)
# Letters of the scripts and languages for which there is a lexicon; Vietnamese has letters of its own.
_READ = (
    "A-Za-z\u00aa-\u024f\u0400-\u052f\u0600-\u06ff\u0750-\u077f\u1e00-\u1e9f\u2c60-\u2c7f"
    "\u3040-\u30ff\u3105-\u312f\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\ufb50-\ufdff\ufe70-\ufeff\uff21-\uff9f"
    "\U0001d400-\U0001d7ff\U00020000-\U0003ffff"
)
_UNREAD = re.compile(rf"[^\W\d_{_READ}]")
_SHARE_UNREAD = 0.02
_FEW_LETTERS = 3
_FEWEST_WORDS = 8
_SHARE_OF_SMALL_WORDS = 0.12
_LATIN_ENDS = "\u0250"
# A piece of a hash or a UUID: in six letters and digits nothing can be said, so it is no word of a language.
_CODE = re.compile(r"(?<![^\W_])(?=[a-f]*+\d)[a-f\d]++(?![^\W_])", re.ASCII | re.IGNORECASE)
_GAP = re.compile(r"[\s,;!?]+")
_SESSION, _METADATA = "origin.session", "metadata"
# Turkish is read, but there is no table of its small words.
_TURKISH = re.compile("[\u011e\u011f\u0130\u0131\u015e\u015f]")
_TOLD = frozenset({"must", "secret", "skip"})
_NAMED = frozenset({"addressee", "authority", "identity", "mode"})
_AT_STAKE = frozenset({"money_noun", "access_noun", "user"})
_REASONS = {
    "asks_the_reader": "was merely read and asks something of its reader",
    "raw_page": "was merely read and is a piece of a page or a task, not a statement",
    "unread_language": "was merely read and is in a language that the screens cannot read",
}


def _is_prose(field: str, text: str) -> bool:
    """Names, addresses and paths are in no language; a field that is made for them has to have a sentence's gaps."""
    is_beside = field == _SESSION or field.startswith(_METADATA)
    return not is_beside or not text.isascii() or len(_GAP.findall(text)) >= _FEWEST_WORDS - 1


def _is_unread(text: str) -> bool:
    if not text.isascii() and len(_UNREAD.findall(text)) > max(_FEW_LETTERS, _SHARE_UNREAD * len(text)):
        return True
    words = [word for word in letter_runs(_CODE.sub(" ", text)) if word[0] < _LATIN_ENDS]
    if len(words) < _FEWEST_WORDS or _TURKISH.search(text):
        return False
    # Every language has small words; text with hardly any that is known here is in none of those that are read.
    return sum(word in _small_words() for word in words) < _SHARE_OF_SMALL_WORDS * len(words)


@cache
def _small_words() -> frozenset[str]:
    """The function words of the languages in Latin script that have a lexicon and a table of such words."""
    return frozenset(word for name in NAMES if name in LANGUAGES for word in language(name).roles)


def _asks(screened: Screened, field: str) -> bool:
    """A command or a duty, the assistant named, a rule about what is at stake: told or only spoken of."""
    return any(
        sentence.commands or sentence.overrides_rules or not sentence.says.isdisjoint(_TOLD)
        for _, sentences in sentences_of(screened, field)
        for sentence in sentences
    ) or any(_speaks_of_rules(view.text) for view in readings(screened, field))


def _speaks_of_rules(text: str) -> bool:
    said: dict[str, set[str]] = defaultdict(set)
    for hit in find(text, Tokens(text)):
        said[hit.language].add(hit.category)
    return any(
        not spoken.isdisjoint(_NAMED)
        or (not spoken.isdisjoint({"standing", "condition"}) and not spoken.isdisjoint(_AT_STAKE))
        for spoken in said.values()
    )


def hearsay(screened: Screened) -> list[Finding]:
    """At most one finding for each field, and none for what the owner or an enrolled system said itself."""
    if screened.standing is not Standing.HEARSAY:
        return []
    findings = []
    for field, text in screened.fields.items():
        if _is_prose(field, text) and _is_unread(text):
            findings.append(_finding("unread_language", field, text))
        elif _PAGE.search(text):
            findings.append(_finding("raw_page", field, text))
        elif _asks(screened, field):
            findings.append(_finding("asks_the_reader", field, text))
    return findings


def _finding(rule_id: str, field: str, text: str) -> Finding:
    return Finding(
        rule_id,
        Threat.OTHER,
        Severity.LOW,
        (0, len(text)),
        field,
        SCREEN,
        response=Response.QUARANTINE,
        reason=_REASONS[rule_id],
    )
