"""What to type after an explanation: to decide what waits now, and so that it is not asked, held or refused again.

Whatever others wrote is in no command: a permission for a value of theirs is what an attacker would want copied.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from truekeep.act.tickets import WAITING
from truekeep.errors import is_plain_name

if TYPE_CHECKING:
    from truekeep.act.question import ConfirmQuestion
    from truekeep.types import Item

_PLAIN = re.compile(r"[A-Za-z0-9][\w .:@/+-]{0,79}", re.ASCII)
"""Values that stand for themselves in a pattern and on a command line."""
_OWN_SYSTEM = frozenset({"private_words_in_query", "private_value_in_query", "unknown_code_in_query", "composed_link"})
_GRANTED = frozenset({"not_asked", "another_act", "request_used", "left_out"})
_ENROLLED = frozenset({"hearsay_held", "hearsay"})


def after_call(keep: str, told: Mapping[str, Any], question: ConfirmQuestion | None) -> tuple[str, ...]:
    """Of a call: the decision, if it waits, and a permission or a declaration of its tool where that would help."""
    return tuple(_after_call(keep, told, question))


def _after_call(keep: str, told: Mapping[str, Any], question: ConfirmQuestion | None) -> Iterator[str]:
    by_others = question is None or any(one.is_hearsay for one in question.values)
    if told["state"] == WAITING:
        # A person who only copies must not say yes to what somebody else wrote.
        yield f"truekeep actions {'decline' if by_others else 'confirm'} {told['ticket']} --keep {keep}"
    tool, code = str(told["action"]), told["code"]
    if code in _GRANTED and question is not None and not by_others:
        fits = {one.path: one.text for one in question.values if "." not in one.path and "[" not in one.path}
        if fits and len(fits) == len(question.values) and all(map(_PLAIN.fullmatch, (tool, *fits, *fits.values()))):
            where = " ".join(f"--where {shlex.quote(f'{path}={text}')}" for path, text in fits.items())
            yield f"truekeep grants add {shlex.quote(tool)} {where} --keep {keep}"
    if is_plain_name(tool) and (code in _OWN_SYSTEM or code == "calls_with_effects"):
        yield f"[tools.{tool}]"
        yield "own = true" if code in _OWN_SYSTEM else "reads = true"


def after_item(keep: str, item: Item) -> tuple[str, ...]:
    """Of something in the queue: where it is decided, and how its source would be enrolled."""
    found = []
    if item.state == "open":
        found.append(f"truekeep review show {item.id} --keep {keep}")
    if item.code in _ENROLLED:
        found.append(_enrolling(keep))
    return tuple(found)


def after_memory(keep: str, shown: Mapping[str, Any]) -> tuple[str, ...]:
    """Of a memory: where it came from, and how its source would be enrolled if it only informs for want of that."""
    found = [f"truekeep trace {shown['id']} --keep {keep}"]
    if not shown["may_act"] and shown["standing"] == "hearsay" and shown["origin"]["channel"] != "agent":
        found.append(_enrolling(keep))
    return tuple(found)


def after_refusal(keep: str) -> tuple[str, ...]:
    """Of a refused text, which nobody has any more: where to see whether one source sends many."""
    return (f"truekeep audit events --kind memory.rejected --keep {keep}",)


def _enrolling(keep: str) -> str:
    """The system's name is the operator's to choose: what it calls itself is what anybody may call themselves."""
    return f"truekeep channels enrol NAME --keep {keep} --reason 'a system of ours'"
