"""Topics: what a session may be learned about. A topic is its words; what it does not name, it does not cover."""

from __future__ import annotations

import re

from truekeep.search.terms import stem
from truekeep.text.fold import folded
from truekeep.text.language import names

_WORD = re.compile(r"\w+")


class Topics:
    """A list of topics with commas between; those with a minus before them are left out."""

    def __init__(self, listed: str) -> None:
        named = [one.strip() for one in listed.split(",") if one.strip()]
        self._left_out = [_words(one[1:]) for one in named if one.startswith("-")]
        self._only = [_words(one) for one in named if not one.startswith("-")]

    def include(self, text: str) -> bool:
        """Whether a passage may be learned: it is about one of the topics, if any, and about none that is left out."""
        if not (self._left_out or self._only):
            return True
        said = {one for word in _words(text) for one in _stems(word)}
        if any(_is_about(said, topic) for topic in self._left_out):
            return False
        return not self._only or any(_is_about(said, topic) for topic in self._only)


def _is_about(said: set[str], topic: list[str]) -> bool:
    """Whether each word of a topic stands in a text, in whatever form and language."""
    return all(not said.isdisjoint(_stems(word)) for word in topic)


def _words(text: str) -> list[str]:
    return _WORD.findall(folded(text))


def _stems(word: str) -> set[str]:
    return {word, *(stem(word, name) for name in names())}
