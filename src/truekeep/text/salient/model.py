"""What a salient value is: a kind, one canonical spelling, and where it stands in the text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The types of value that a claim or a tool call can turn on."""

    NUMBER = "number"
    MONEY = "money"
    CURRENCY = "currency"
    PERCENT = "percent"
    DATE = "date"
    TIME = "time"
    EMAIL = "email"
    IBAN = "iban"
    CODE = "code"
    WALLET = "wallet"
    URL = "url"
    DOMAIN = "domain"
    PATH = "path"
    PHONE = "phone"
    QUOTED = "quoted"
    NAME = "name"
    NEGATION = "negation"
    BOOLEAN = "boolean"


@dataclass(frozen=True, slots=True)
class Salient:
    """One value. ``value`` is equal for every spelling of it; ``also`` holds readings that are only possible.

    ``sure`` is false where the kind is a guess, as for a capital letter that merely begins a sentence.
    """

    kind: Kind
    value: str
    span: tuple[int, int]
    unit: str = ""
    also: tuple[str, ...] = ()
    sure: bool = True

    @property
    def key(self) -> str:
        """Kind and canonical value in one string, for indexes and claims."""
        return f"{self.kind}:{self.value}"
