"""A keep that remembers greenhouses: what the tests of keys and of recovery begin with."""

from __future__ import annotations

from collections.abc import Callable

from truekeep import Keep

TEXT = "The greenhouse in row {} is heated."


def texts(keep: Keep) -> list[str]:
    return [entry["content"] for entry in keep.get_memories()]


def grown(open_keep: Callable[[], Keep], *numbers: int) -> None:
    with open_keep() as keep:
        for number in numbers:
            assert keep.remember(TEXT.format(number), via="user").accepted
