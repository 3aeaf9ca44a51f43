"""Join what was spaced out or split, and split what was glued together."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from truekeep.text.language import known_words
from truekeep.text.view import GIVE_WAY, Edit, View, excerpt
from truekeep.text.words import letter_runs

_SEPARATOR = r"[ \t._\-*~|/\\,:;+=^·•]"
_SPACED = re.compile(rf"(?<![\w.])[^\W_]{_SEPARATOR}{{1,3}}(?:[^\W_]{_SEPARATOR}{{1,3}}){{1,}}[^\W_](?!\w)")
_SPLIT = re.compile(r"[^\W\d_]++(?:[._\-*~|/\\^·•]{1,3}[^\W\d_]++)+")
_INSIDE = re.compile(r"[._\-*~|/\\^·•](?=[^\W\d_])")
_SEPARATORS = frozenset("._-*~|/\\^·•")
_SHORTEST_GLUED = 14
_GLUED = re.compile(r"(?<![^\W\d_])[^\W\d_]{14,}+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_PAIR = re.compile(r"([^\W\d_]{2,12})[ \t]+(?=([^\W\d_]{2,12}))")
_NOT_LETTER = re.compile(r"[\W_]+")
_DOTTED = re.compile(r"\w[^\w\s]\w[^\w\s]\w")
_LONGEST_RUN = 400  # letters that are cut into words; each costs a look at every word that may end there
_LONGEST_WORD = 16  # letters; bounds that look
_KNOWN_SHARE = 0.6


@cache
def _parts() -> tuple[frozenset[str], int]:
    return known_words().known, _LONGEST_WORD


@cache
def _long_telling() -> frozenset[str]:
    return frozenset(word for word in known_words().telling if len(word) >= 6)


@cache
def fragments() -> frozenset[str]:
    """Beginnings of telling words that are no words themselves; text without any has no broken words."""
    known = known_words().known
    return frozenset(w[:n] for w in _long_telling() for n in range(2, len(w) - 1) if w[:n] not in known)


def segment(run: str) -> str | None:
    """Known words with spaces between them, if most of the run is made of them."""
    lower = run.lower()[:_LONGEST_RUN]
    known, longest = _parts()
    best: list[tuple[float, int]] = [(0.0, 0)] + [(1e9, 0)] * len(lower)
    for end in range(1, len(lower) + 1):
        best[end] = (best[end - 1][0] + 1.1, end - 1)
        for start in range(max(0, end - longest), end - 1):
            cost = best[start][0] + 1.0
            if cost < best[end][0] and lower[start:end] in known:
                best[end] = (cost, start)
    return _spell(run, best, known)


def _spell(run: str, best: list[tuple[float, int]], known: frozenset[str]) -> str | None:
    """The cuts as text; letters between known words stay together. ``None`` if too little is known."""
    cuts: list[str] = []
    end = len(best) - 1
    while end:
        start = best[end][1]
        if end - start == 1 and cuts and cuts[-1].lower() not in known:
            cuts[-1] = run[start] + cuts[-1]
        else:
            cuts.append(run[start:end])
        end = start
    found = [cut for cut in cuts if len(cut) >= 3 and cut.lower() in known]
    if len(found) < 1 or sum(map(len, found)) < _KNOWN_SHARE * (len(best) - 1):
        return None
    return " ".join(reversed(cuts)) + run[_LONGEST_RUN:]


def _spaced_out(text: str) -> Iterator[Edit]:
    for match in _SPACED.finditer(text):
        chunks = re.split(r"[ \t]{2,}|(?<=[._\-*~|/\\,:;+=^·•]) +| +(?=[._\-*~|/\\,:;+=^·•])", match[0])
        if len(chunks) == 1 and " " in match[0] and re.search(r"\w[^\w\s]\w", match[0]):
            chunks = match[0].split(" ")
        letters = [_NOT_LETTER.sub("", chunk) for chunk in chunks]
        joined = " ".join(segment(word) or word for word in letters if word)
        enough = 3 if _DOTTED.search(match[0]) else 4
        if sum(char.isalpha() for char in joined) >= enough:
            yield match.start(), match.end(), joined


def _split_words(text: str) -> Iterator[Edit]:
    for match in _split_tokens(text):
        token = match[0]
        if "_" in token:
            yield match.start(), match.end(), token.replace("_", " ")
            continue
        pieces = re.split(r"[._\-*~|/\\^·•]+", token)
        if len(pieces) == 2 and pieces[0] in {"e", "E"}:
            continue
        if _is_mended(pieces):
            yield match.start(), match.end(), "".join(pieces)
        elif sum(piece.lower() in known_words().telling for piece in pieces) >= 2:
            yield match.start(), match.end(), " ".join(pieces)


def _split_tokens(text: str) -> Iterator[re.Match[str]]:
    """Every run of words with separators inside it, found from its first separator, as plain words have none."""
    done = 0
    for inside in _INSIDE.finditer(text):
        start = inside.start()
        if start < done:
            continue
        for _ in range(2):
            start -= start > done and text[start - 1] in _SEPARATORS
        while start > done and text[start - 1].isalpha():
            start -= 1
        match = _SPLIT.match(text, start)
        if match is not None:
            done = match.end()
            yield match


def _is_mended(pieces: list[str]) -> bool:
    """Whether the pieces make up a known word that they are not themselves."""
    whole = "".join(pieces).lower()
    known = known_words().known
    return whole in known_words().telling or (
        len(whole) >= 6 and whole in known and any(piece.lower() not in known for piece in pieces)
    )


def _broken_words(text: str) -> Iterator[Edit]:
    lower = letter_runs(text)
    telling, known = _long_telling(), known_words().known
    halves = fragments().intersection(lower)
    # A quick look first: most texts hold such fragments, and hardly any of them is one half of a broken word.
    if not halves or not any(first in halves and first + second in telling for first, second in pairwise(lower)):
        return
    done = 0
    for match in _PAIR.finditer(text):
        pair = (match[1] + match[2]).lower()
        if match.start() >= done and pair in telling and match[1].lower() not in known:
            done = match.end() + len(match[2])
            yield match.start(), done, match[1] + match[2]


def _glued(text: str) -> Iterator[Edit]:
    known = known_words().known
    if not any(len(run) >= _SHORTEST_GLUED and run not in known for run in set(letter_runs(text))):
        return
    for match in _GLUED.finditer(text):
        token = match[0]
        if token.lower() in known_words().known:
            continue
        parts = _CAMEL.sub(" ", token) if not token.islower() and not token.isupper() else token
        if sum(part in known_words().known for part in parts.lower().split()) < 2:
            parts = segment(token) or token
        if parts != token:
            yield match.start(), match.end(), parts


def _merged(text: str) -> list[Edit]:
    """All edits in order; where two overlap the earlier kind wins."""
    taken: list[Edit] = []
    for kind in (_spaced_out, _split_words, _broken_words, _glued):
        GIVE_WAY.get()()
        found = [edit for edit in kind(text) if not _overlaps(taken, edit)]
        if found:
            taken = sorted(taken + found)
    return taken


def _overlaps(taken: list[Edit], edit: Edit) -> bool:
    after = bisect_left(taken, edit[1], key=lambda other: other[0])
    return after > 0 and taken[after - 1][1] > edit[0]


def join(base: View) -> View | None:
    """Spaced-out letters joined, split words mended, glued words parted; ``None`` if there are none."""
    edits = _merged(base.text)
    return excerpt(base, "joined", edits) if edits else None


def despace(base: View) -> View | None:
    """Only the spaced-out letters joined; ``None`` if there are none."""
    edits = list(_spaced_out(base.text))
    return excerpt(base, "joined", edits) if edits else None


def mend(base: View) -> View | None:
    """Words that were broken in two by a space, put together; ``None`` if there are none. All that prose can hide."""
    edits = list(_broken_words(base.text))
    return excerpt(base, "joined", edits) if edits else None
