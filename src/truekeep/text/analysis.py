"""One text, analysed once: its readings, words, language, values and dates, for everybody who needs them.

A text on its way in is looked at by the rules, the screens, the claims, the marks and the index. Whoever brings it in
holds its ``Analysis``; everybody else is handed it, or asks for the analysis of the same text and gets that one. Each
part is made when it is first asked for.

Its *views* are all the ways it may be read, plainest first; ordinary prose has just one. Whoever hides an order in
invisible letters, spaced words or base64 counts on a screen that reads the raw text only.
"""

from __future__ import annotations

import html
import re
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from truekeep.text.decode import clue_words, deciphered, decoded, tags
from truekeep.text.fold import fold, folded, parted
from truekeep.text.language import known_words
from truekeep.text.salient import ValueScan, in_raw_text, read_values
from truekeep.text.spacing import despace, fragments, join, mend
from truekeep.text.view import GIVE_WAY, LONG, Edit, View, excerpt, rewrite
from truekeep.text.words import WordRow, words

if TYPE_CHECKING:
    from truekeep.text.language import Language
    from truekeep.text.tokens import Salient
    from truekeep.text.view import View

_MOST_VIEWS = 16  # each is matched against every rule
_LONGEST_GROWTH = 6  # times the text's own length, over all its views
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


def read_views(text: str) -> Readings:
    """The raw text first, then every reading that differs from those before it."""
    raw = View("raw", text)
    found = [raw]
    seen = {text}
    budget = _LONGEST_GROWTH * len(text) + 1000
    give_way = GIVE_WAY.get()
    for view in _readings(raw):
        give_way()
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
    rough = _rough(plain)
    for payload in decoded(rough):
        yield _named(fold(payload), payload.name)
    shown = unmark(rough)
    if shown is not None:
        yield shown[0]
    yield from _respelt(shown[1] if shown is not None else rough)
    if rough is not plain and not fragments().isdisjoint(words) and (mended := mend(plain)) is not None:
        yield mended


_STATEMENT = re.compile(r"[^.!?\n]+(?:[.!?\n]+\s*|\Z)|[.!?\n\s]+")


def _rough(plain: View) -> View:
    """Of a long text what is not plain prose, each statement with its neighbours: masks and payloads are there."""
    text = plain.text
    if len(text) <= LONG:
        return plain
    spans = [match.span() for match in _STATEMENT.finditer(text)]
    kept = [_PROSE.match(text, *span) is None for span in spans]
    edits: list[Edit] = []
    for at, (start, end) in enumerate(spans):
        if any(kept[max(0, at - 1) : at + 2]):
            continue
        if edits and edits[-1][1] == start:
            edits[-1] = (edits[-1][0], end, "\n")
        else:
            edits.append((start, end, "\n"))
    return rewrite(plain, plain.name, edits) if edits else plain


def _respelt(shown: View) -> Iterator[View]:
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


_MARKUP = re.compile(
    # One class of signs first, so that letters are passed over quickly; each branch looks back at its own sign.
    r"[<\-&!\[\\*_~`|](?:"
    r"(?P<comment>(?<=<)!--|(?<=-)->)"
    r"|(?P<tag>(?<=<)/?[A-Za-z][A-Za-z0-9-]{0,20}(?:\s[^<>]{0,300})?/?>)"
    r"|(?P<entity>(?<=&)(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});)"
    r"|(?P<link>(?:(?<=!)\[|(?<=\[))(?P<label>[^\[\]]{0,300})\]\([^()\s]{0,500}\))"
    r"|(?P<escape>(?<=\\)[!-/:-@\[-`{-~])"
    r"|(?P<emphasis>(?<=\*)\*{0,2}|(?<=_)_{1,2}|(?<=~)~|(?<=`)`{0,2}|(?<=\|)\|))"
)
_INLINE = re.compile(r"</?(?:a|abbr|b|bdi|bdo|code|em|font|i|kbd|mark|q|s|small|span|strong|sub|sup|tt|u|wbr)\b", re.I)
_MARKUP_SIGNS = frozenset("<&[*_~`|\\")


def _markup_edits(text: str) -> Iterator[Edit]:
    for match in _MARKUP.finditer(text):
        kind = match.lastgroup
        start, end = match.span()
        if kind == "entity":
            plain = html.unescape(match[0])
            yield start, end, plain if plain != match[0] else match[0]
        elif kind in {"label", "link"}:
            yield start, end, match["label"]
        elif kind == "escape":
            yield start, end, match[0][1]
        elif kind == "tag" and not _INLINE.match(match[0]):
            yield start, end, " "
        else:
            yield start, end, ""


def unmark(base: View) -> tuple[View, View] | None:
    """The text as a browser would show it, to read and to go on with; ``None`` if there is no markup."""
    if _MARKUP_SIGNS.isdisjoint(base.text):
        return None
    edits = list(_markup_edits(base.text))
    if not edits:
        return None
    whole = rewrite(base, "markup", edits)
    if whole.text == base.text:
        return None
    return (whole if len(base.text) <= LONG else excerpt(base, "markup", edits)), whole


_LEET_SIGNS = "0134567892@$!|+€£()<"
_LEET_LETTERS = "oieasgtbgzasiltelcec"
_TABLE = str.maketrans(_LEET_SIGNS, _LEET_LETTERS)
_TABLE_L = str.maketrans(_LEET_SIGNS.replace("1", "\x00"), _LEET_LETTERS) | {ord("1"): "l", ord("!"): "l"}
_LEET_SIGN = re.compile(r"[0-9@$!|+€£]")
_TOKEN = re.compile(r"(?<![\w@$!|+€£])(?=[^\W\d_]*+[0-9@$!|+€£])[\w@$!|+€£]++")
_LETTER = re.compile(r"[^\W\d_]")
_TRAILING = re.compile(r"[!+|]+$")


def _leet_edits(text: str) -> list[Edit]:
    found: list[Edit] = []
    if not _LEET_SIGN.search(text):
        return found
    for match in _TOKEN.finditer(text):
        token = _TRAILING.sub("", match[0]) if len(_LETTER.findall(match[0])) > 1 else match[0]
        letters = len(_LETTER.findall(token))
        if letters and len(token) >= 2 and len(token) <= 40 and letters < len(token):
            found.append((match.start(), match.start() + len(token), token))
    return found


def unleet(base: View) -> list[View]:
    """The leetspeak readings (``1`` as ``i`` and as ``l``) in which known words appear."""
    tokens = _leet_edits(base.text)
    views: list[View] = []
    seen: set[str] = set()
    for table in (_TABLE, _TABLE_L) if tokens else ():
        edits: list[Edit] = [(start, end, token.translate(table)) for start, end, token in tokens]
        known = {word.lower() for _, _, word in edits if len(word) >= 3} & known_words().known
        if known - seen:
            seen |= known
            views.append(excerpt(base, "leet", edits))
    return views


_RECENT = 16
"""Analyses that are kept although nobody holds them, for callers who come to the same text one after the other."""


class Analysis:
    """What is known of one text. A part is made when it is first asked for, and is a plain attribute from then on."""

    __slots__ = ("__weakref__", "_rows", "folded", "scan", "text", "views", "words")

    text: str
    views: Readings
    """Every way in which it may be read; the raw text first."""
    scan: ValueScan
    """Its typed tokens, language and values; places are those of the plain spelling."""
    words: list[str]
    """Its words, folded, as the search takes them."""
    folded: str
    """The text as it is compared with others as a whole."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._rows: dict[int, WordRow] = {}

    def __getattr__(self, name: str) -> Any:
        if name not in _PARTS:
            raise AttributeError(name)
        part = _PARTS[name](self.text)
        setattr(self, name, part)
        return part

    def row(self, view: View) -> WordRow:
        """The words and marks of one of its views."""
        row = self._rows.get(id(view))
        if row is None:
            row = self._rows[id(view)] = WordRow(view.text)
        return row

    @property
    def language(self) -> Language:
        """The language it is most likely in."""
        return self.scan.language

    @property
    def values(self) -> tuple[Salient, ...]:
        """The values in it, with their places in the raw text."""
        return in_raw_text(self.scan)


_PARTS: dict[str, Callable[[str], Any]] = {
    "views": read_views,
    "scan": read_values,
    "words": words,
    "folded": folded,
}
_known: WeakValueDictionary[str, Analysis] = WeakValueDictionary()
_recent: deque[Analysis] = deque(maxlen=_RECENT)


def analysed(text: str) -> Analysis:
    """The analysis of a text: the one that somebody holds, or a new one."""
    found = _known.get(text)
    if found is None:
        found = _known[text] = Analysis(text)
        _recent.append(found)
    return found


def release() -> None:
    """Let go of the analyses that nobody holds."""
    _recent.clear()
