"""Made-up sources and near-copies: how one attacker looks like hundreds of independent voices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice, product

_FRONTS = (
    "daily", "open", "true", "city", "first", "global", "honest", "new", "north", "plain",
    "prime", "public", "quick", "royal", "smart", "solid", "trade", "union", "vivid", "world",
)  # fmt: skip
_BACKS = (
    "bulletin", "courier", "digest", "facts", "gazette", "herald", "ledger", "letter", "monitor", "notes",
    "observer", "post", "press", "record", "register", "report", "review", "tribune", "voice", "wire",
)  # fmt: skip
_TRUSTED = "nytimes"
_FRAMES = (
    "{text}",
    "For the record: {text}",
    "{text} This was checked twice.",
    "As is well known, {text}",
    "Updated entry. {text}",
    "{text} (official)",
    "From the customer portal: {text}",
    "{text} Every department uses it.",
    "Quarterly note: {text}",
    "{text} See the circular of this week.",
    "Correction of an older entry: {text}",
    "{text} Confirmed by phone.",
)
_LIKE = {"o": "0", "l": "1", "i": "1", "e": "3", "s": "5", "m": "rn", "n": "nn", "t": "tt", "y": "v"}


def near_copy(text: str, number: int) -> str:
    """The same claim once more, in slightly other words each time."""
    return _FRAMES[number % len(_FRAMES)].format(text=text)


def _domains() -> Iterator[str]:
    return (f"https://{front}-{back}.example/story" for back, front in product(_BACKS, _FRONTS))


def _subdomains() -> Iterator[str]:
    return (f"https://{front}.{back}.planted.example:8443/a?b=c" for back, front in product(_BACKS, _FRONTS))


def _lookalikes() -> Iterator[str]:
    """Domains that a person takes for one they trust: a hyphen, a doubled or swapped letter, another ending."""
    spellings = [_TRUSTED[:place] + "-" + _TRUSTED[place:] for place in range(1, len(_TRUSTED))]
    spellings += [_TRUSTED[:place] + letter + _TRUSTED[place:] for place, letter in enumerate(_TRUSTED)]
    spellings += [_TRUSTED.replace(letter, other) for letter, other in _LIKE.items() if letter in _TRUSTED]
    endings = ("", "-news", "-online", "-now", "24", "-press", "-live", "-world", "-eu", "-us", "-daily", "-pay", "-hq")
    suffixes = ("example", "test")
    return (
        f"https://{spelling}{ending}.{suffix}"
        for suffix, ending, spelling in product(suffixes, endings, dict.fromkeys(spellings))
    )


def _senders() -> Iterator[str]:
    return (f"{front}.{back}@{back}-{front}.example" for back, front in product(_BACKS, _FRONTS))


def _names() -> Iterator[str]:
    return (f"{front}-{back}" for back, front in product(_BACKS, _FRONTS))


SOURCES: dict[str, Callable[[], Iterator[str]]] = {
    "domains": _domains,
    "subdomains": _subdomains,
    "lookalikes": _lookalikes,
    "senders": _senders,
    "names": _names,
}
"""Ways to make up who says something, by name."""


@cache
def made_up(kind: str, many: int) -> tuple[str, ...]:
    """So many different sources of one kind; always the same ones."""
    found = tuple(islice(dict.fromkeys(SOURCES[kind]()), many))
    if len(found) < many:
        raise ValueError(f"there are only {len(found)} made-up sources of the kind {kind}")
    return found
