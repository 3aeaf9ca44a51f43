"""Announcements: "translate this: …", "look what she sent me", "is this invoice right?", in languages with a table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from truekeep.text.fold import bare
from truekeep.text.language import language_table, languages_with
from truekeep.text.words import said_sentences

_LONGEST = 200
"""An announcement is shorter than this."""
_SHORT = 80
_LEAST = 12
"""Less than this after a colon is an answer, not a text."""
_OPENING = 2
"""Words within which somebody who goes on about themselves says so."""
_COLON = re.compile("(?<=[\u3400-\u9fff])[:\uff1a]|[:\uff1a](?=\\s|[\"“„«「'\u2018\u3400-\u9fff])|\uff1a")
_WIDE = re.compile("[\u3400-\u9fff]")
_APART = re.compile(r"[^\w']+")
_OPENS = re.compile("\\s*[\"“„«「'\u2018\\[{<#>|]")


@dataclass(frozen=True, slots=True)
class _Announcements:
    strong: re.Pattern[str]
    weak: re.Pattern[str]
    pointing: re.Pattern[str]
    nouns: re.Pattern[str]
    reports: re.Pattern[str]
    own: re.Pattern[str]
    mine: re.Pattern[str]

    def has(self, line: str, *, leads_on: bool) -> bool:
        if self.strong.search(line):
            return True
        points, names, asks = (part.search(line) for part in (self.pointing, self.nouns, self.weak))
        # Where nothing leads on to it, pointing at something is not enough: it may be anything.
        return bool((names and (points or asks)) or (leads_on and asks and points))

    def heads(self, line: str) -> bool:
        """Whether a line with a colon at its end is the title of somebody else's text."""
        return bool(self.nouns.search(line) and not self.mine.search(line)) or bool(self.reports.search(line))


def announces(line: str, following: str, *, is_first: bool) -> bool:
    """Whether a line says that somebody else's text comes next. A short first line is there for nothing else."""
    if len(line) > _LONGEST:
        return False
    ends = line.rstrip().endswith((":", "\uff1a"))
    leads_on = ends or _OPENS.match(following) is not None or (is_first and len(line) <= _SHORT)
    said = line if ends else _last_sentence(line)
    return (leads_on or is_first or not following.strip()) and _says_so(said, leads_on=leads_on, is_title=ends)


def _last_sentence(line: str) -> str:
    """What stands next to the following text: of a longer line its last sentence alone."""
    if len(line) + len(_WIDE.findall(line)) <= _SHORT:
        return line
    said = said_sentences(line)
    return line[slice(*said[-1])] if said else line


def refers_back(line: str) -> bool:
    """Whether a last line asks something about the text above it."""
    return len(line) <= _LONGEST and _says_so(line)


def announces_within(line: str) -> int:
    """Where in a line the text begins that its beginning announces; nowhere is 0."""
    colon = _COLON.search(line, 0, _LONGEST)
    if colon is None or len(line[colon.end() :].strip()) < _LEAST:
        return _after_request(line)
    lead = plain_line(line[: colon.end()])
    reports = any(table.reports.search(lead) and not table.own.search(lead) for table in _tables())
    return colon.end() if reports or _says_so(line[: colon.end()], leads_on=True) else 0


def _after_request(line: str) -> int:
    """The same where the beginning asks for something to be done with "this", and what follows is nobody's own."""
    said = said_sentences(line[:_LONGEST])
    start = said[1][0] if len(said) > 1 else 0
    asked, rest = line[:start], line[start:]
    if not start or start > _SHORT or len(rest) < _SHORT or rest[0].islower():
        return 0
    plain, first = plain_line(asked), " ".join(plain_line(line[slice(*said[1])]).split()[:_OPENING])
    points = any(table.strong.search(plain) and table.pointing.search(plain) for table in _tables())
    is_own = any(table.own.search(plain) for table in _tables()) or speaks_of_oneself(first)
    return start if points and not is_own else 0


def speaks_of_oneself(line: str) -> bool:
    """Whether a line has the first person in it."""
    plain = plain_line(line)
    return any(table.mine.search(plain) for table in _tables())


def _says_so(line: str, *, leads_on: bool = False, is_title: bool = False) -> bool:
    plain, tables = plain_line(line), _tables()
    said = any(table.has(plain, leads_on=leads_on) or (is_title and table.heads(plain)) for table in tables)
    return said and not any(table.own.search(plain) for table in tables)


def plain_line(line: str) -> str:
    """A line folded, its words with one space between."""
    return " ".join(filter(None, _APART.split(bare(line))))


@cache
def _tables() -> tuple[_Announcements, ...]:
    parts = ("strong", "weak", "pointing", "nouns", "reports", "own", "mine")
    tables = (language_table(name, "pastes") for name in languages_with("pastes"))
    return tuple(_Announcements(*(either(table[part]) for part in parts)) for table in tables)


def either(listed: str) -> re.Pattern[str]:
    """A pattern for any phrase of a list."""
    return re.compile("|".join(map(_pattern, listed.split("|"))))


def _pattern(phrase: str) -> str:
    """A phrase of a table: within words, with any ending (a star), at the end of a line or as a whole one (equals
    signs)."""
    phrase = phrase.strip()
    if "* " in phrase:  # any one word
        return r"\b" + r"\s\S+\s".join(re.escape(plain_line(part)) for part in phrase.split("*")) + r"\b"
    words = re.escape(plain_line(phrase))
    if phrase >= "\u3400":  # written without spaces
        return f"{words}$" if phrase.endswith("=") else words
    if phrase.startswith("="):
        return f"^{words}$"
    if phrase.endswith("="):
        return rf"\b{words}$"
    return rf"\b{words}" if phrase.endswith("*") else rf"\b{words}\b"
