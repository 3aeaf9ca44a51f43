"""A process that dies, as it were, in the middle of rotating keys."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from truekeep.stores import keyfile


def cut_off(monkeypatch: pytest.MonkeyPatch, step: int, *places: tuple[object, str]) -> None:
    """Let the process die, as it were, at the n-th of these steps, before or after it has taken effect."""
    taken = [0]

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **named: object) -> object:
            taken[0] += 1
            if taken[0] == step + 1 and step % 2 == 0:
                raise KeyboardInterrupt
            result = real(*arguments, **named)
            if taken[0] == step + 1:
                raise KeyboardInterrupt
            return result

        return call

    for owner, name in places:
        monkeypatch.setattr(owner, name, counted(getattr(owner, name)))
    if any(owner is keyfile for owner, _ in places):
        monkeypatch.setattr("truekeep.stores.keys.replace_entry", keyfile.replace_entry)
