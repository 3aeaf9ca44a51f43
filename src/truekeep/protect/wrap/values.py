"""Values of a store's entries: the words in them, and the same value blocked, or marked as something that only informs.

Pure. A store holds JSON of any shape, so every string in it, keys included, is taken for something a model may read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from truekeep.protect.naming import reads_as_words
from truekeep.trust import fence

if TYPE_CHECKING:
    from truekeep.read.reader import Shown

MEMBER = "truekeep"
"""The member of a value that says where it came from and whether it may act."""
_MOST_NESTED = 32
"""Values that lie deeper would exhaust the stack of whoever walks through them."""
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", re.ASCII)
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.@:+-]{1,64}", re.ASCII)
"""A name, an id, a hash or a moment: nothing that reads as a sentence."""
_MARK = re.compile(r"- \[as of \d{4}-\d{2}-\d{2} \| [^|\]\n]{0,300} \| informs only(?: \| older)?\] ")
_TOO_DEEP = "[left out: nested too deeply]"


def is_plain_name(text: Any) -> bool:
    """Whether a key, an id or a namespace can be read as nothing but a name."""
    return _PLAIN_NAME.fullmatch(str(text)) is not None and not reads_as_words(str(text))


def words_of(value: Any) -> str:
    """Every text in a value, line by line: what the screens look at, and what is remembered of it."""
    return "\n".join(dict.fromkeys(text for text in _strings(value, 0) if text.strip()))


def _strings(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth > _MOST_NESTED:
        yield str(value)
    elif isinstance(value, Mapping):
        for key, one in value.items():
            if not _PLAIN_KEY.fullmatch(str(key)) or reads_as_words(str(key)):
                yield str(key)
            yield from _strings(one, depth + 1)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _strings(one, depth + 1)
    elif not isinstance(value, bool | int | float | None):
        yield str(value)


def presented(value: Any, shown: Shown, kept: frozenset[str] = frozenset()) -> Any:
    """The value as a program may put it into a prompt.

    What may act is sanitised and otherwise as it was. In what only informs every text carries its mark, in what is
    blocked the placeholder stands for it. ``kept`` are members that the store's own program finds entries by.
    """
    if shown.blocked:
        return changed(value, lambda _: shown.text, kept, wordy=False)
    if shown.may_act:
        return changed(value, fence.sanitised)
    return changed(value, lambda text: marked(text, shown), kept)


def marked(text: str, shown: Shown) -> str:
    """One text of something that only informs, with its date and origin."""
    return fence.line(text, as_of=shown.memory.as_of, origin=shown.origin, may_act=False)


def unmarked(value: Any) -> tuple[Any, bool]:
    """A value that a program read from us and writes back, without our marks; and whether it had any.

    What was marked comes from somebody else: it is no more the writer's own for having been read.
    """
    found = False

    def bare(text: str) -> str:
        nonlocal found
        kept = _MARK.sub("", text, count=1) if text.startswith("- [") else text
        found = found or kept != text
        return kept

    plain = changed(value, bare, keys=False)
    if isinstance(plain, dict) and isinstance(plain.get(MEMBER), Mapping):
        found = found or plain[MEMBER].get("may_act") is not True
        plain.pop(MEMBER)
    return (plain, found) if plain != value else (value, found)


def changed(
    value: Any,
    change: Callable[[str], str],
    kept: frozenset[str] = frozenset(),
    *,
    keys: bool = True,
    wordy: bool = True,
    depth: int = 0,
) -> Any:
    """The value with every text changed; keys that are more than a name are, too.

    Programs find members by long keys as well, so one that is ``wordy`` stays, but in what is blocked.
    """
    if isinstance(value, str):
        return change(value)
    if depth > _MOST_NESTED:
        return _TOO_DEEP
    if isinstance(value, Mapping):
        return {
            _key(key, change, wordy=wordy) if keys else key: one
            if depth == 0 and key in kept and isinstance(one, str) and is_plain_name(one)
            else changed(one, change, keys=keys, wordy=wordy, depth=depth + 1)
            for key, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [changed(one, change, keys=keys, wordy=wordy, depth=depth + 1) for one in value]
    return value if isinstance(value, bool | int | float | None) else change(str(value))


def _key(key: Any, change: Callable[[str], str], *, wordy: bool) -> str:
    is_plain = _PLAIN_KEY.fullmatch(str(key)) and (wordy or not reads_as_words(str(key)))
    return str(key) if is_plain else change(str(key))


def mark_of(shown: Shown, *, known: bool) -> dict[str, Any]:
    """What the member of a value says."""
    return {
        "origin": fence.one_line(shown.origin) if known else "unknown",
        "standing": shown.memory.standing.label,
        "may_act": shown.may_act,
        "blocked": shown.blocked,
        "block_reason": list(shown.block_reason),
    }
