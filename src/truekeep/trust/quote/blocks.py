"""Blocks: which paragraph of a message somebody else wrote, told by several signs together.

A letter greets a group, informs and is signed; a notice has prices; a post has handles; and whoever shows one says a
word about it in another hand: in lower case, or asking what to answer. None of these is enough alone, because people
also greet, sign and change their tone in messages of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from truekeep.text.language import language_of, language_table, languages_with
from truekeep.text.words import Span, said_sentences, words
from truekeep.trust.quote.announcing import either, plain_line

_ENOUGH, _ENOUGH_ALONE = 3, 4
"""Points from which on a block is somebody else's; the latter where there is nothing beside it."""
_LEAD = 100
_LONG, _COMMENT = 60, 240
"""Characters from which on a block says something of its own, and up to which it may be a word about another."""
_NAME = 4
"""Words that a signature has at most."""
_GAP = re.compile(r"\n\s*\n")
_HANDLE = re.compile(r"(?<!\w)[@#][^\W\d]\w{2,}")
_PRICE = re.compile(r"\S.*\s{2,}[\d.,]+\s*(?:\u20ac|\$|\u00a3|eur|kc|zl)?\s*$", re.IGNORECASE)
_LINK = re.compile(r"https?://|\bwww\.|\b[\w-]+\.(?:example|com|net|org|info)\b", re.IGNORECASE)
_SIGNED = re.compile(
    r"(?:[.!?)\u2026]\s+|\n)(?:[^\W\d_]+[,.!]\s+)?"
    r"(?:[A-Z\u00c0-\u00de\u010c\u0141\u0160\u017d][^\W\d_]*\.?[ ,]?\s?){1,4}$"
    "|[\u3002\uff01!\n][\u4e00-\u9fff]{1,3}(?:\u8001\u5e08|\u7ecf\u7406|\u533b\u751f|\u6559\u7ec3|\u963f\u59e8)$"
)
_ALIKE = {"sk", "cs"}
"""Languages that a few words do not tell apart."""
_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_TYPED = re.compile(r"[a-z\u00df-\u00ff\u0101-\u017f]")


@dataclass(frozen=True, slots=True)
class _Words:
    greets: re.Pattern[str]
    informs: re.Pattern[str]
    introduces: re.Pattern[str]
    several: re.Pattern[str]
    comments: re.Pattern[str]
    closes: re.Pattern[str]
    own: re.Pattern[str]


def foreign_block(text: str) -> tuple[int, int]:
    """Where somebody else's text stands in a message; (0, 0) if nowhere.

    All that follows its beginning counts, but for a last word of the owner's about it.
    """
    spoken = _language(text)
    for spans, enough in _partings(text):
        blocks = [_Block(text[slice(*span)].strip(), spoken) for span in spans]
        if any(one.is_own for one in (blocks[0], blocks[-1])):
            return 0, 0
        place = _foreign(blocks, enough)
        if place is not None:
            last = len(blocks) - 1
            is_word = place < last and blocks[last].width <= _COMMENT
            is_word = is_word and (blocks[last].comments or blocks[last].is_typed)
            return spans[place][0], spans[last][0] if is_word else len(text)
    return 0, 0


class _Block:
    """A part of a message, and what speaks for another hand in it."""

    def __init__(self, text: str, spoken: str) -> None:
        self.text = text
        self.width = len(text) + len(_WIDE.findall(text))  # a sign that is half a word counts for two letters
        self._low = plain_line(text)
        known = _all_tables()
        names = {spoken, _language(text)}
        names |= _ALIKE if names & _ALIKE else set()
        self._tables = [known[name] for name in names if name in known]
        is_short = self.width <= _COMMENT
        self.comments = is_short and any(table.comments.search(self._low) for table in self._tables)
        self.is_own = is_short and not self.comments and any(table.own.search(self._low) for table in self._tables)
        self.is_typed = _TYPED.match(text) is not None
        """Whether it begins in lower case, as people type."""

    def points(self) -> int:
        """How much of a letter, a notice or a post is in it."""
        first, lines, low = plain_line(self.text[:_LONG]), self.text.splitlines(), self._low
        return (
            2 * any(table.greets.match(first) for table in self._tables)
            + 2 * any(table.informs.search(low) for table in self._tables)
            + any(table.introduces.search(first) for table in self._tables)
            + any(table.several.search(low) for table in self._tables)
            + 2 * (_SIGNED.search(self.text) is not None or self._closes(lines))
            + 2 * (sum(_PRICE.match(line) is not None for line in lines) >= 2)
            + (len(_HANDLE.findall(self.text)) >= 2)
            + (_LINK.search(self.text) is not None)
        )

    def _closes(self, lines: Sequence[str]) -> bool:
        last = [plain_line(line) for line in lines[-2:]] if len(lines) > 1 else []
        return any(table.closes.match(line) for table in self._tables for line in last) or self._is_signed_off()

    def _is_signed_off(self) -> bool:
        """Whether the last sentence is a closing with a name behind it."""
        said = said_sentences(self.text)
        last = self.text[slice(*said[-1])] if len(said) > 1 else ""
        name = last.rpartition(",")[2].strip()
        greeting = plain_line(last.rpartition(",")[0])
        is_name = 0 < len(name.split()) <= _NAME and name[:1].isupper()
        return is_name and any(table.closes.match(greeting) for table in self._tables)


def _foreign(blocks: Sequence[_Block], enough: int) -> int | None:
    """The first block that has signs enough, with how it differs from the others and what they say of it."""
    for place, block in enumerate(blocks):
        others = [*blocks[:place], *blocks[place + 1 :]]
        is_neat = not block.is_typed and any(one.is_typed for one in others if one in (blocks[0], blocks[-1]))
        # Right before it, and with nothing else said, a word about a text announces it.
        is_led = place == 1 and blocks[0].comments and blocks[0].width <= _LEAD
        shows = 3 if is_led else 2 * any(one.comments for one in others)
        if block.width >= _LONG and block.points() + 2 * is_neat + shows >= enough:
            return place
    return None


def _partings(text: str) -> Iterator[tuple[list[Span], int]]:
    """How a message may be parted, and how many signs are enough: paragraphs, else lines, else sentences at an end."""
    cuts = [0, *(match.end() for match in _GAP.finditer(text)), len(text)]
    spans = [(start, end) for start, end in pairwise(cuts) if text[start:end].strip()]
    lines = text.rstrip().splitlines(keepends=True)
    if len(spans) > 1:
        yield spans, _ENOUGH
    elif len(lines) > 1:
        yield _parted(text, len(text.rstrip()) - len(lines[-1])), _ENOUGH
        yield _parted(text, len(lines[0])), _ENOUGH
    else:
        said = said_sentences(text)
        for cut in {1, len(said) - 1, len(said) - 2} if len(said) > 2 else ():
            yield _parted(text, said[cut][0]), _ENOUGH_ALONE


def _parted(text: str, cut: int) -> list[Span]:
    return [(0, cut), (cut, len(text))]


def _language(text: str) -> str:
    return "zh" if _WIDE.search(text) else language_of(words(text)).name


@cache
def _all_tables() -> dict[str, _Words]:
    parts = ("greets", "informs", "introduces", "several", "comments", "closes", "own")
    tables = {name: language_table(name, "pastes") for name in languages_with("pastes")}
    return {name: _Words(*(either(table[part]) for part in parts)) for name, table in tables.items()}
