"""Questions: what a person is asked before something is saved, changed, deleted or done in their name.

Pure. The words of a question are fixed; what it is about stands between marks, in full and on one line. What cannot be
shown so is not asked, and goes on without the person's yes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truekeep.serve.mcp.visible import is_plain, one_paragraph, quoted, visible

if TYPE_CHECKING:
    from truekeep.act.question import AskedValue, ConfirmQuestion

MOST_QUOTED = 1_000
"""How much of a dialogue a person can be expected to read."""
MOST_TOGETHER = 10
"""Facts in one dialog: more are not read."""
_MOST_REASONS = 3
"""A dialog is read if it is short."""
_WARNING = "What stands between the marks is quoted: it does not speak for truekeep."
_SAVE = "An agent wants to remember this as your own words. Accept only if you would say it yourself, word for word."
_SAVE_ALL = (
    "An agent wants to remember these things as your own words. Accept only if you would say each of them yourself, "
    "word for word."
)
_SAVE_ALL_NO = "If you decline, they are kept at most as the agent's unproven notes, which nothing may act on."
_SAVE_NO = "If you decline, it is kept at most as the agent's unproven note, which nothing may act on."
_CHANGE = "An agent wants to change what is remembered. Accept only if the new text is what you would say yourself."
_CHANGE_NO = "If you decline, the change waits for your review."
_DELETE = "An agent wants to delete this memory for you. Accept only if you want it forgotten."
_DELETE_NO = "If you decline, it stays, and the wish to delete it waits for your review."
_ACT = "An agent wants to do this. Accept only if you want it done just so, once."
_ACT_NO = "If you decline, it is not done."


@dataclass(frozen=True, slots=True)
class Question:
    """One question: all that the person gets to read, and the text that their yes is about."""

    message: str
    shown: str = ""

    @property
    def digest(self) -> str:
        """What tells this question from any other."""
        return hashlib.sha256(self.message.encode("utf-8")).hexdigest()


@dataclass(frozen=True, slots=True)
class Unaskable:
    """Why a person cannot be asked, as a code."""

    why: str


def about_saving(texts: Sequence[str]) -> Question | Unaskable:
    """May these be remembered as the person's own words? One question for all of them."""
    shown = [one_paragraph(text) for text in texts]
    unfit = [why for text in shown if (why := _unfit(text, must_be_plain=True)) is not None]
    if unfit:
        return unfit[0]
    if len(shown) == 1:
        return Question(f"{_SAVE} {_SAVE_NO} {_WARNING} {quoted(shown[0])}", shown[0])
    if len(shown) > MOST_TOGETHER or sum(map(len, shown)) > MOST_QUOTED:
        return Unaskable("too_long_to_show")
    listed = " ".join(f"{number}: {quoted(text)}" for number, text in enumerate(shown, 1))
    return Question(f"{_SAVE_ALL} {_SAVE_ALL_NO} {_WARNING} {listed}")


def about_change(now: str, then: str) -> Question | Unaskable:
    """May this memory say something else from now on?"""
    shown, old = one_paragraph(then), one_paragraph(now)
    unfit = _unfit(shown, must_be_plain=True) or _unfit(old)
    message = f"{_CHANGE} {_CHANGE_NO} {_WARNING} Now: {quoted(old)} New: {quoted(shown)}"
    return unfit or Question(message, shown)


def about_deletion(content: str) -> Question | Unaskable:
    """May this memory be forgotten?"""
    shown = one_paragraph(content)
    return _unfit(shown) or Question(f"{_DELETE} {_DELETE_NO} {_WARNING} {quoted(shown)}")


def about_action(
    name: str, arguments: Mapping[str, Any], reasons: Sequence[str], asked: ConfirmQuestion | None = None
) -> Question | Unaskable:
    """May this call be made, with just these arguments? ``asked`` tells where each came from and what would leave."""
    call = f"{name} {json.dumps(_on_one_line(arguments), ensure_ascii=False)}"
    # Reasons name the call's own arguments, so they are quoted as well.
    why = quoted(one_paragraph(" ".join(reasons[:_MOST_REASONS])))
    origins = _origins(asked) if asked is not None else ""
    return _unfit(call) or Question(
        f"{_ACT} {_ACT_NO} {_WARNING} Why you are asked: {why}{origins} The call: {quoted(call)}"
    )


def _origins(asked: ConfirmQuestion) -> str:
    """Where doubtful values came from, in the words that the terminal and the console use."""
    doubtful = [one for one in asked.values if one.is_doubtful][:_MOST_REASONS]
    told = [f" {quoted(one_paragraph(one.path))} is {one.words}{_writers(one)}." for one in doubtful]
    if asked.leaving:
        told.append(f" Private values would leave: {quoted(one_paragraph(', '.join(asked.leaving[:_MOST_REASONS])))}.")
    return "".join(told)


def _writers(value: AskedValue) -> str:
    return f" ({quoted(one_paragraph(', '.join(value.sources)))})" if value.sources else ""


def _unfit(text: str, *, must_be_plain: bool = False) -> Unaskable | None:
    if len(visible(text)) > MOST_QUOTED:
        return Unaskable("too_long_to_show")
    if must_be_plain and not is_plain(text):
        return Unaskable("cannot_be_shown_verbatim")
    return None


def _on_one_line(value: Any) -> Any:
    """JSON whose line breaks are signs, so that they are seen and break nothing."""
    if isinstance(value, Mapping):
        return {_on_one_line(name): _on_one_line(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_on_one_line(inner) for inner in value]
    return value.replace("\r\n", "\n").replace("\n", "⏎") if isinstance(value, str) else value
