"""What a clause says: about whom, which attribute, which values, since when, and whether it denies."""

from __future__ import annotations

from dataclasses import dataclass

from truekeep.text.salient import Salient


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause in canonical words.

    In an *attribute* clause ("Northwind's IBAN is …") ``about`` holds the owner first and the attribute last,
    whichever way round it was written, and ``value`` what is said of it. In a *statement* ("Eva moved to
    Berlin") ``about`` is the subject and ``value`` everything in its order.
    """

    is_attribute: bool
    about: tuple[str, ...]
    attribute: tuple[str, ...]
    value: tuple[str, ...]
    values: tuple[Salient, ...]
    words: frozenset[str]
    tense: str = "present"
    negations: int = 0
    since: str = ""
    until: str = ""
    is_one_of_several: bool = False
    has_pronoun: bool = False
    places: tuple[str, ...] = ()
    """Words like "in" and "at", which are left out of ``value``."""
    span: tuple[int, int] = (0, 0)

    @property
    def subject(self) -> tuple[str, ...]:
        """Whom or what the clause is about, without the attribute."""
        return self.about[: len(self.about) - len(self.attribute)] if self.is_attribute else self.about
