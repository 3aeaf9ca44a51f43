"""Characters as they are compared: look-alikes folded, hidden ones removed, digits, dashes and quotes spelt plainly.

``fold`` sees through disguise. ``plain`` keeps letters with their accents and alphabets, because values that merely
look alike must stay different when they prove something; ``loose`` is the other direction, for recognising hearsay in
disguise.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from truekeep.data import read_table
from truekeep.text.view import Edit, View, excerpt, rewrite


@dataclass(frozen=True, slots=True)
class Confusables:
    """Letters that look like ASCII ones: ``always``, or only inside ``mixed`` words; ``twins`` look the same."""

    always: dict[str, str]
    mixed: dict[str, str]
    twins: frozenset[str]


def _look_alikes(text: str) -> dict[str, str]:
    """A look-alike and what it is read as, pair by pair."""
    return {pair[0]: pair[1:] for pair in text.split()}


@cache
def confusables() -> Confusables:
    """The look-alike letters."""
    table = read_table("screens", "confusables.yaml")
    mixed: dict[str, str] = {}
    for text in table["mixed"].values():
        mixed |= _look_alikes(text)
    mixed |= {char.upper(): ascii_.upper() for char, ascii_ in mixed.items() if char.upper() not in mixed}
    return Confusables(always=_look_alikes(table["always"]), mixed=mixed, twins=frozenset(table["twins"]))


# Everything that takes no room on the page: fillers, joiners, bidi controls, selectors, tags, controls.
INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"
)
_ANSI = r"(?:\x1b\[|\x9b)[0-?]{0,32}[ -/]{0,4}[@-~]|\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)"
_MARK = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u3099\u309a\ufe20-\ufe2f"
_SPACE = "\\s\u2028\u2029\u2800"
# One alternative per kind of cluster that may have to change; plain ASCII never enters the Python loop.
_CLUSTER = re.compile(
    rf"(?P<ansi>{_ANSI})|(?P<hidden>[{INVISIBLE}]+)|(?P<space>[{_SPACE}]{{2,}}|[^\S ]|[\u2028\u2029\u2800])"
    rf"|(?P<letter>[!-~]?[{_MARK}]+|[\u1100-\u115e][\u1161-\u11a7][\u11a8-\u11ff]?|[^\x00-\x7f][{_MARK}]*)"
)
# The same without what is one character before and after: a table folds that.
_UNEVEN = re.compile(
    rf"(?P<ansi>{_ANSI})|(?P<hidden>[{INVISIBLE}]+)|(?P<space>[{_SPACE}]{{2,}})"
    rf"|(?P<letter>[!-~]?[{_MARK}]+|[\u1100-\u115e][\u1161-\u11a7][\u11a8-\u11ff]?|[^\x00-\x7f][{_MARK}]+)"
)
_IS_UNEVEN = re.compile(rf"[{_MARK}{INVISIBLE}\u1100-\u115e]|[{_SPACE}]{{2}}")
_HIDDEN = re.compile(rf"{_ANSI}|[{INVISIBLE}]+")
_WORD = re.compile(r"[^\W_]+")
_LATIN = re.compile(r"[A-Za-z]")
_OTHER_ALPHABET = re.compile(r"[\u0370-\u058f\u13a0-\u13ff\uab70-\uabbf]")
_NAMED = re.compile(
    r"LATIN (?:(CAPITAL|SMALL) LETTER |LETTER )(?:SMALL CAPITAL |SCRIPT |OPEN |REVERSED |TURNED |DOTLESS "
    r"|BARRED |LONG |CLOSED |SIDEWAYS |BLACKLETTER |ALPHA$)*([A-Z])?(?: WITH .*)?$"
)
_MARKS = re.compile(rf"[{_MARK}]+")
_LONGEST_CLUSTER = 4  # marks on one letter that a language uses; a tower of them is an attack
_LONGEST_EXPANSION = 4  # a sign that unfolds into more is taken as it is
_MOST_LEARNT = 20_000
"""Characters that are remembered: more than honest texts have, and no more than memory bears."""


def strip_marks(text: str) -> str:
    """The text without combining marks on Latin, Greek and Cyrillic letters."""
    return _MARKS.sub("", unicodedata.normalize("NFD", text)) if not text.isascii() else text


def folded(text: str) -> str:
    """The text for comparing claims: NFKC, casefolded, invisibles removed, whitespace collapsed."""
    if not text.isascii() or not text.isprintable():
        text = _HIDDEN.sub("", _limited_marks(text))
        text = _HIDDEN.sub("", unicodedata.normalize("NFKC", text))
    return " ".join(text.casefold().split())


def bare(text: str) -> str:
    """The text as hasty people type it: folded, without accents and curly apostrophes."""
    if text.isascii():
        return folded(text)
    return _MARKS.sub("", unicodedata.normalize("NFD", folded(text))).replace("\u2019", "'")


def _limited_marks(text: str) -> str:
    """Towers of combining marks cut short: canonical ordering is quadratic in their height."""
    return _TOWER.sub(r"\1", text)


_TOWER = re.compile(rf"([{_MARK}]{{{_LONGEST_CLUSTER}}})[{_MARK}]+")


@lru_cache(maxsize=16_384)
def _fold_cluster(cluster: str) -> str:
    """What one visible character reads as, before words are looked at."""
    composed = unicodedata.normalize("NFKC", cluster[:_LONGEST_CLUSTER])
    if len(composed) > _LONGEST_EXPANSION:
        return cluster
    plain = "".join(_base_letter(char) for char in composed)
    return " " if plain.isspace() else plain


def _base_letter(char: str) -> str:
    """The ASCII letter a Latin-like character stands for; other scripts stay as they are."""
    if char.isascii() or "\u1100" <= char <= "\u11ff":
        return char
    if _MARKS.fullmatch(char):
        return ""
    known = confusables().always.get(char)
    if known is not None:
        return known
    if "\u0400" <= char <= "\u052f" or char > "\u2fff":
        return _latin_by_name(char)
    stripped = _MARKS.sub("", unicodedata.normalize("NFKD", char))
    return "".join(_latin_by_name(part) for part in stripped) or char


def _latin_by_name(char: str) -> str:
    """Small capitals, hooked and stroked letters carry the letter they are in their Unicode name."""
    if char.isascii():
        return char
    match = _NAMED.match(unicodedata.name(char, ""))
    if match is None:
        return char
    letter = match[2] or "A"
    return letter if match[1] == "CAPITAL" else letter.lower()


def _edits(text: str, clusters: re.Pattern[str] = _CLUSTER) -> Iterator[Edit]:
    for match in clusters.finditer(text):
        cluster = match[0]
        kind = match.lastgroup
        if kind == "letter":
            new = _fold_cluster(cluster) if len(cluster) <= _LONGEST_CLUSTER else _fold_cluster(cluster[:4])
        else:
            new = " " if kind == "space" else ""
        if new != cluster:
            yield match.start(), match.end(), new


class _Letters(dict[int, str]):
    """A translation table that learns each character when it first meets it, up to as many as texts really have."""

    def __missing__(self, code: int) -> str:
        plain = _fold_cluster(chr(code))
        if len(self) < _MOST_LEARNT:
            self[code] = plain
        return plain


_LETTER_TABLE = _Letters()
_UNUSUAL = re.compile(r"[^ -~]+")


def fold(base: View) -> View:
    """The folded view: same case, but compatible, look-alike, stacked and hidden characters are plain."""
    text = base.text
    if text.isascii() and text.isprintable() and "  " not in text:
        return base
    even = rewrite(base, "folded", _edits(text, _UNEVEN)) if _IS_UNEVEN.search(text) else None
    # One character for one: positions stay, so no edit needs to be remembered.
    source = even.text if even else text
    translated = _UNUSUAL.sub(lambda match: match[0].translate(_LETTER_TABLE), source)
    if len(translated) != len(source):
        once = rewrite(base, "folded", _edits(text))
    else:
        once = View("folded", translated, base, even._ends, even._edits) if even else View("folded", translated, base)
    return _fold_words(once) if _OTHER_ALPHABET.search(once.text) and _LATIN.search(once.text) else once


def _fold_words(view: View) -> View:
    """Replace look-alikes from other alphabets, but only in words that cannot be honest in them."""
    mostly_latin = 4 * len(_LATIN.findall(view.text)) > len(view.text)
    edits: list[Edit] = []
    for match in _WORD.finditer(view.text):
        word = match[0]
        if _OTHER_ALPHABET.search(word) and (_LATIN.search(word) or (mostly_latin and _all_alike(word))):
            edits.append((match.start(), match.end(), _transliterate(word)))
    return rewrite(view, "folded", edits) if edits else view


def _all_alike(word: str) -> bool:
    return confusables().twins.issuperset(word)


def _transliterate(word: str) -> str:
    return "".join(confusables().mixed.get(char, char) for char in word)


def parted(base: View) -> View | None:
    """Hidden characters read as spaces, for words that were glued together with them."""
    if base.text.isascii() or not _GLUE.search(base.text):
        return None
    return excerpt(base, "parted", ((m.start(), m.end(), " ") for m in _HIDDEN.finditer(base.text)))


_GLUE = re.compile(rf"\w[{INVISIBLE}]+\w")


_SPELT_CLUSTER = re.compile(r"[^\x00-\x7f]|[!-~][\u0300-\u036f]")
_FOLLOWING_MARKS = re.compile(r"[\u0300-\u036f]{0,4}")
_SPELLINGS = dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033", '"') | dict.fromkeys(
    "\u2018\u2019\u201a\u201b\u02bc\u2032\u00b4\u2039\u203a", "'"
)
_SPELLINGS |= {"\u2212": "-"} | {chr(code): "" for code in range(0xFE00, 0xFE10)}
_BY_CATEGORY = {"Cf": "", "Cc": "", "Pd": "-", "Zs": " "}
_SPELT: dict[str, str] = {}


def plain(text: str) -> View:
    """The text in plain characters, with the way back to the raw ones."""
    raw = View("raw", text)
    if text.isascii():
        return raw
    edits: list[Edit] = []
    done = 0
    for match in _SPELT_CLUSTER.finditer(text):
        if match.start() < done:
            continue
        done = match.end()
        if done < len(text) and "\u0300" <= text[done] <= "\u036f":
            done = (_FOLLOWING_MARKS.match(text, done) or match).end()
        cluster = text[match.start() : done]
        if (spelt := _spelling(cluster)) != cluster:
            edits.append((match.start(), done, spelt))
    return rewrite(raw, "plain", edits) if edits else raw


def _spelling(cluster: str) -> str:
    known = _SPELT.get(cluster)
    if known is None:
        known = _spell(cluster)
        if len(cluster) == 1 and len(_SPELT) < _MOST_LEARNT:
            _SPELT[cluster] = known
    return known


def _spell(cluster: str) -> str:
    if len(cluster) > 1:
        return unicodedata.normalize("NFC", cluster)
    category = unicodedata.category(cluster)
    if category == "Nd":
        return str(unicodedata.decimal(cluster))
    known = _SPELLINGS.get(cluster, _BY_CATEGORY.get(category))
    if known is not None:
        return known
    compatible = unicodedata.normalize("NFKC", cluster)
    return compatible if compatible.isascii() or len(compatible) == 1 else cluster


_LOOK = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l"})
_NOT_WORD = re.compile(r"[\W_]+")


def loose(value: str) -> str:
    """A spelling shared by everything that could be a disguise of the value; never used as proof."""
    if not value.isascii():
        value = "".join(confusables().mixed.get(char, char) for char in fold(View("raw", value)).text)
    return _NOT_WORD.sub("", value.casefold()).translate(_LOOK)
