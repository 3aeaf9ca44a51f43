"""A row of tokens to read values from, and the values read so far."""

from __future__ import annotations

from typing import Any

from truekeep.text.language import Language
from truekeep.text.salient.model import Kind, Salient
from truekeep.text.salient.tables import units
from truekeep.text.salient.tokens import Token


class Cursor:
    """Tokens, their folded spelling, the language, and what was found."""

    def __init__(self, text: str, found: list[Token], lower: list[str], tables: Language) -> None:
        self.text, self.tokens, self.lower, self.language = text, found, lower, tables
        self.units = units()
        self.values: list[Salient] = []

    def add(self, kind: Kind, value: str, start: int, end: int, **more: Any) -> None:
        """Keep a value."""
        self.values.append(Salient(kind, value, (start, end), **more))

    def text_at(self, place: int) -> str:
        """The token's text, or nothing beyond the ends."""
        return self.tokens[place].text if 0 <= place < len(self.tokens) else ""

    def low_at(self, place: int) -> str:
        """The token in folded case, or nothing beyond the ends."""
        return self.lower[place] if 0 <= place < len(self.lower) else ""

    def unit_at(self, place: int) -> str:
        """The content word at that place, which is what a number before it counts."""
        if place >= len(self.tokens) or self.tokens[place].kind != "word":
            return ""
        low = self.lower[place]
        return "" if low in self.language.roles else low
