"""Say whether an action is consequential: by the operator's word, else by its name."""

from __future__ import annotations

from functools import cache

from truekeep.action.settings import ActionSettings
from truekeep.text.fold import fold
from truekeep.text.language import read_table
from truekeep.text.view import View


@cache
def _names() -> tuple[tuple[str, ...], tuple[str, ...]]:
    table = read_table("actions", "consequential.toml")
    return tuple(table["names"]), tuple(table["innocent"])


def is_consequential(name: str, settings: ActionSettings) -> bool:
    """Whether a mistake in this action hurts. A look-alike or spaced-out name does not hide it."""
    if settings.consequential is not None:
        return settings.consequential
    telling, innocent = _names()
    plain = fold(View("raw", name)).text.casefold()
    for word in innocent:
        plain = plain.replace(word, "_")
    bare = "".join(char for char in plain if char.isalnum())
    spaced_out = all(len(part) <= 1 for part in plain.replace(".", "_").replace("-", "_").split("_"))
    return any(word in plain or (spaced_out and word in bare) for word in telling)
