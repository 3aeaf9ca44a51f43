"""All the ways a text may be read, plainest first; ordinary prose has just one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from truekeep.text.cipher import clue_words, deciphered
from truekeep.text.decode import decoded, tags
from truekeep.text.fold import fold, parted
from truekeep.text.leet import unleet
from truekeep.text.markup import unmark
from truekeep.text.spacing import despace, fragments, join, mend
from truekeep.text.view import LONG, View

_MOST_VIEWS = 16
_LONGEST_GROWTH = 6
# Words of two letters or more, the odd number, ordinary punctuation: text of this shape needs no closer look.
_NUMBER = r"[0-9]{1,4}(?:[.,:/\-][0-9]{1,4}){0,3}(?:st|nd|rd|th)?"
_WORD = (
    r"(?:[dlnDLN]')?(?:[A-Z\u00c0-\u024f][a-z\u00c0-\u024f]{1,13}|[a-z\u00c0-\u024f]{2,13}|[A-Z]{2,5}|[AaIiyoek]"
    r"|[A-Z](?:\+\+|#)?(?=[ ,.][ ]?[A-Za-z][a-z]{2,13}\b)|[\u0250-\U0010ffff]{1,60})(?:'[a-z]{1,2})?"
)
_GAP = r"[,.;:!?\"')]{0,3}(?: |\n{1,2}(?:[-*] |[0-9]{1,2}[.)] )?|\Z|(?<=[\u0250-\U0010ffff,.!?]))"
_PROSE = re.compile(rf"(?:(?:{_NUMBER}[,.:]? )?[\"'(]?{_WORD}{_GAP})++(?:{_NUMBER}[.!?]?)?\Z")


class Readings(tuple[View, ...]):
    """The views of a text. ``complete`` is false when there are more than are made: some of it was not read."""

    complete: bool = True


@lru_cache(maxsize=8)
def views(text: str) -> Readings:
    """The raw text first, then every reading that differs from those before it.

    The last few are kept, because rules and screens look at the same text one after the other.
    """
    raw = View("raw", text)
    found = [raw]
    seen = {text}
    budget = _LONGEST_GROWTH * len(text) + 1000
    for view in _readings(raw):
        if view.text in seen:
            continue
        budget -= len(view.text)
        if budget < 0 or len(found) == _MOST_VIEWS:
            cut = Readings(found)
            cut.complete = False
            return cut
        seen.add(view.text)
        found.append(view)
    return Readings(found)


def _readings(raw: View) -> Iterator[View]:
    """Readings build on each other: what is decoded, joined or unmasked has been folded first."""
    plain = fold(raw)
    yield plain
    if not raw.text.isascii():
        hidden = tags(raw)
        if hidden is not None:
            yield hidden
        apart = parted(raw)
        if apart is not None:
            yield fold(apart)
    words = frozenset(plain.text.lower().split())
    if len(words & clue_words()) > 1:
        yield from deciphered(plain)
    if _PROSE.match(plain.text):
        # Prose holds no payload and no mask, but a word of it may still be broken in two.
        if not fragments().isdisjoint(words) and (mended := mend(plain)) is not None:
            yield mended
        return
    wide = (join(raw) if len(raw.text) <= LONG else despace(raw)) if "  " in raw.text else None
    if wide is not None:
        # Words that are spaced out keep their wider gaps only until whitespace is folded.
        yield _named(fold(wide), "joined")
    for payload in decoded(plain):
        yield _named(fold(payload), payload.name)
    shown = unmark(plain)
    if shown is not None:
        yield shown[0]
    yield from _letters(shown[1] if shown is not None else plain)


def _letters(shown: View) -> Iterator[View]:
    joined = join(shown)
    if joined is not None:
        yield joined
    for unmasked in unleet(shown):
        yield unmasked
        rejoined = join(unmasked)
        if rejoined is not None:
            yield rejoined


def _named(view: View, name: str) -> View:
    """A folded payload keeps the name of its encoding."""
    return View(name, view.text, view._base, view._ends, view._edits)
