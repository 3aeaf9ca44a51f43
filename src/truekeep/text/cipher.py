"""Read text that was shifted (rot13 and the other Caesar ciphers) or written backwards."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from string import ascii_lowercase, ascii_uppercase

from truekeep.text.letters import letter_runs
from truekeep.text.lexicon import words
from truekeep.text.view import LONG, Edit, View, excerpt, rewrite

_RUN = re.compile(r"[^\W\d_]+")
_NEEDED = 2
_CLOSE = 8
_AROUND = 300


@cache
def _alphabet(by: int) -> dict[int, int]:
    return str.maketrans(
        ascii_lowercase + ascii_uppercase,
        ascii_lowercase[by:] + ascii_lowercase[:by] + ascii_uppercase[by:] + ascii_uppercase[:by],
    )


def _shifted(text: str, by: int) -> str:
    return text.translate(_alphabet(by))


@cache
def _clues() -> dict[str, tuple[int, ...]]:
    """Ciphered form of a known word -> how to undo it (1-25 shifts, 0 backwards); real words are no clue."""
    known = words().known
    clues: dict[str, tuple[int, ...]] = {}
    for word in known:
        if len(word) < 3 or not word.isascii():
            continue
        for how in range(26):
            hidden = _shifted(word, 26 - how) if how else word[::-1]
            if hidden not in known:
                clues[hidden] = (*clues.get(hidden, ()), how)
    return clues


@cache
def clue_words() -> frozenset[str]:
    """Every ciphered form; a text without any of them was not ciphered."""
    return frozenset(_clues())


def deciphered(base: View) -> list[View]:
    """The readings in which at least two known words appear that the text as it stands does not have."""
    text = base.text
    clues = _clues()
    runs = letter_runs(text)
    tally = Counter(how for word in clues.keys() & set(runs) for how in clues[word])
    likely = [how for how, count in tally.most_common() if count >= _NEEDED]
    if len(text) > LONG:
        near = _close(runs, likely)
        passages = _passages(text, near) if near else {}
        return [view for how, spans in passages.items() for view in _readings(base, how, spans)]
    return [view for how in likely[:2] for view in _readings(base, how, [(0, len(text))])]


def _close(runs: Sequence[str], likely: list[int]) -> dict[int, list[int]]:
    """Which words of a long text are clues to one cipher close to another such clue; far apart they are chance."""
    clues, wanted = _clues(), frozenset(likely)
    before: dict[int, int] = {}
    found: dict[int, list[int]] = {}
    for index in [index for index, word in enumerate(runs) if word in clues]:
        for how in wanted.intersection(clues[runs[index]]):
            earlier = before.get(how)
            if earlier is not None and index - earlier <= _CLOSE and runs[earlier] != runs[index]:
                found.setdefault(how, []).append(index)
            before[how] = index
    return found


def _passages(text: str, near: dict[int, list[int]]) -> dict[int, list[tuple[int, int]]]:
    """The surroundings of those words."""
    places = [match.start() for match in _RUN.finditer(text.lower())]
    found: dict[int, list[tuple[int, int]]] = {}
    for how, indices in near.items():
        spans = found.setdefault(how, [])
        for index in indices:
            _widen(spans, max(0, places[index] - _AROUND), min(len(text), places[index] + _AROUND))
    return found


def _widen(spans: list[tuple[int, int]], start: int, end: int) -> None:
    if spans and start <= spans[-1][1]:
        spans[-1] = spans[-1][0], max(end, spans[-1][1])
    else:
        spans.append((start, end))


def _readings(base: View, how: int, spans: list[tuple[int, int]]) -> list[View]:
    text = base.text
    if how:
        name = "rot13" if how == 13 else "shifted"
        if spans == [(0, len(text))]:
            # One letter for one: positions stay, so no edit needs to be remembered.
            return [View(name, _shifted(text, how), base)]
        return [_only(base, name, [(start, end, _shifted(text[start:end], how)) for start, end in spans])]
    mirrored = [(m.start(), m.end(), m[0][::-1]) for span in spans for m in _RUN.finditer(text, *span)]
    return [
        _only(base, "reversed", [(start, end, text[start:end][::-1]) for start, end in spans]),
        excerpt(base, "mirrored", mirrored),
    ]


def _only(base: View, name: str, edits: list[Edit]) -> View:
    """The deciphered passages and nothing else, each on a line of its own."""
    kept: list[Edit] = []
    done = 0
    for edit in edits:
        if edit[0] > done:
            kept.append((done, edit[0], "\n"))
        kept.append(edit)
        done = edit[1]
    if done < len(base.text):
        kept.append((done, len(base.text), ""))
    return rewrite(base, name, kept)
