"""Spell characters plainly, one for one where possible: digits, dashes, quotes, spaces, nothing invisible.

Letters keep their accents and alphabets here. Values that merely look alike must stay different when
they prove something; ``loose`` is the other direction, for recognising hearsay in disguise.
"""

from __future__ import annotations

import re
import unicodedata

from truekeep.text.fold import fold
from truekeep.text.lexicon import confusables
from truekeep.text.view import Edit, View, rewrite

_CLUSTER = re.compile(r"[^\x00-\x7f]|[!-~][\u0300-\u036f]")
_FOLLOWING_MARKS = re.compile(r"[\u0300-\u036f]{0,4}")
_SPELLINGS = dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033", '"') | dict.fromkeys(
    "\u2018\u2019\u201a\u201b\u02bc\u2032\u00b4\u2039\u203a", "'"
)
_SPELLINGS |= {"\u2212": "-"} | {chr(code): "" for code in range(0xFE00, 0xFE10)}
_BY_CATEGORY = {"Cf": "", "Cc": "", "Pd": "-", "Zs": " "}
_SPELT: dict[str, str] = {}
_MOST_LEARNT = 20_000
"""Characters whose spelling is remembered: more than honest texts have, and no more than memory bears."""


def plain(text: str) -> View:
    """The text in plain characters, with the way back to the raw ones."""
    raw = View("raw", text)
    if text.isascii():
        return raw
    edits: list[Edit] = []
    done = 0
    for match in _CLUSTER.finditer(text):
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
