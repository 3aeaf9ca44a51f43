"""``truekeep why``: why a call was asked about, a text held or refused, a memory may or may not act, and what to do."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import click

from truekeep.act.question import ConfirmQuestion
from truekeep.cli.actions import STYLES, print_question
from truekeep.cli.options import open_keep, with_keep
from truekeep.cli.output import console, print_json, print_styled
from truekeep.cli.why_next import after_call, after_item, after_memory, after_refusal
from truekeep.errors import UnknownId
from truekeep.review.advice import memory_code
from truekeep.trust.fence import one_line

if TYPE_CHECKING:
    from truekeep.keep import Keep
    from truekeep.types import AuditEvent

_TELLING = ("memory.rejected", "memory.held", "action.judged")
"""Events that somebody may want explained."""
_HINT = "Give a ticket (tkt_…), an item (rev_…), a memory (mem_…) or the number of an event of 'truekeep audit events'."


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why something is as it is, and what to do so that it is otherwise next time."""

    state: str
    code: str
    reasons: tuple[str, ...]
    advice: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What programs get beside it."""
    question: ConfirmQuestion | None = None
    next: tuple[str, ...] = ()
    """What to type now, or so that it does not happen again: commands, whole, and lines for the settings."""


@click.command()
@click.argument("what", required=False)
@with_keep
def why(what: str | None, keep_name: str, home: str | None, output: str) -> None:
    """Say why something was asked, held or refused, or may act, and how to avoid it next time.

    WHAT is a ticket, a review item, a memory, or the number of an event; the newest of them if it is left out.
    """
    with open_keep(keep_name, home) as keep:
        told = explained(keep, what) if what is not None else _newest(keep)
    if output == "json":
        print_json(
            {
                **told.facts,
                "state": told.state,
                "code": told.code,
                "why": list(told.reasons),
                "advice": told.advice,
                "next": list(told.next),
            }
        )
        return
    out = console()
    print_styled(
        out, (told.state.partition(",")[0], STYLES.get(told.state.partition(",")[0], "bold")), (_after(told), "")
    )
    if told.question is not None:
        print_question(out, told.question)
    for reason in told.reasons:
        print_styled(out, (one_line(reason), "dim"), indent=2)
    print_styled(out, ("Next time: ", "bold"), (told.advice, ""), indent=2)
    for line in told.next:  # whole, to be copied, however wide the terminal is
        out.print(f"    {one_line(line)}", style="bold", soft_wrap=True)


def _after(told: Explanation) -> str:
    """What follows the first word: the code, and what has become of it since."""
    since = told.state.partition(",")[2]
    return f"  {told.code}" + (f",{since}" if since else "")


def explained(keep: Keep, what: str) -> Explanation:
    """The explanation of whatever has that id."""
    if what.isdecimal() and len(what) < 19:
        return _event(keep, int(what))
    kinds = {"tkt": _call, "rev": _item, "mem": _memory}
    found = kinds.get(what.partition("_")[0])
    if found is None:
        raise UnknownId("That is no id of anything that can be explained.", hint=_HINT)
    return found(keep, what)


def _call(keep: Keep, ticket: str) -> Explanation:
    told = keep.actions.why(ticket)
    state = "clean" if told["session_was_clean"] else "tainted"
    session = f"The session was {state}. {told['session_is_tainted_by']}".strip()
    return Explanation(
        f"{told['decision']}, now {told['state']}",
        told["code"],
        (session,),
        "Nothing: it was allowed." if told["decision"] == "allow" else advice("calls", told["code"]),
        told,
        (question := keep.actions.question(ticket)),
        after_call(keep.name, told, question),
    )


def _item(keep: Keep, item_id: str) -> Explanation:
    item = keep.review.show(item_id)
    reasons = [item.reason, *(f"{one.rule_id}: {one.reason}" for one in item.findings)]
    reasons.append(f"It came over the channel '{item.memory.origin.channel}', as {item.memory.standing.label}.")
    if item.decided_by:
        reasons.append(f"{item.decided_by} decided: {item.decided_reason or item.state}.")
    state = "held" if item.state == "open" else f"held, now {item.state}"
    return Explanation(
        state, item.code, tuple(reasons), advice("held", item.code), {"id": item.id}, next=after_item(keep.name, item)
    )


def _memory(keep: Keep, memory_id: str) -> Explanation:
    shown = keep.get_memory(memory_id)
    code = memory_code(shown)
    reasons = [shown["why"], f"It came over the channel '{shown['origin']['channel']}', as {shown['standing']}."]
    if shown["block_reason"]:
        reasons.append(f"It is not shown because of: {', '.join(shown['block_reason'])}.")
    state = "blocked" if shown["blocked"] else "acts" if shown["may_act"] else "informs"
    return Explanation(
        state, code, tuple(reasons), advice("memories", code), {"id": memory_id}, next=after_memory(keep.name, shown)
    )


def _event(keep: Keep, number: int) -> Explanation:
    found = keep.audit.events(after=number - 1, limit=1) if number > 0 else []
    if not found or found[0].seq != number or found[0].kind not in _TELLING:
        raise UnknownId("Nothing was asked, held or refused in that event.", code="unknown_event", hint=_HINT)
    return _told(keep, found[0])


def _newest(keep: Keep) -> Explanation:
    found = keep.audit.events(kinds=_TELLING)
    if not found:
        raise UnknownId("Nothing was asked, held or refused here yet.", code="unknown_event", hint=_HINT)
    return _told(keep, found[-1])


def _told(keep: Keep, event: AuditEvent) -> Explanation:
    body = event.body
    if event.kind == "memory.held":
        return _item(keep, str(body["item"]))
    if event.kind == "action.judged":
        return _call(keep, str(body["ticket"]))
    source = f" from {body['principal']}" if body.get("principal") else ""
    reasons = [f"It came over the channel '{body['channel']}'{source}, as {body['standing']}."]
    if body.get("rules"):
        reasons.append(f"Seen in it: {', '.join(map(str, body['rules']))}. 'truekeep rules list' says what they are.")
    code = str(body["code"])
    after = after_refusal(keep.name)
    return Explanation("rejected", code, tuple(reasons), advice("refused", code), {"event": event.seq}, next=after)


def advice(kind: str, code: str) -> str:
    """What to do so that the same does not happen next time."""
    table = _advice()[kind]
    return table.get(code, table["other"])


@cache
def _advice() -> Mapping[str, Mapping[str, str]]:
    """The words that the console has, too."""
    return tomllib.loads((resources.files("truekeep") / "data" / "console" / "en" / "advice.toml").read_text("utf-8"))
