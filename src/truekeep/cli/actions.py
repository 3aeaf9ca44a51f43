"""The act boundary on the terminal: try a call, see what waits for the owner, confirm or decline it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from truekeep.act.question import ConfirmQuestion, question_about
from truekeep.cli.failure import REFUSED
from truekeep.cli.options import open_keep, with_keep
from truekeep.cli.output import console, print_json, print_styled
from truekeep.trust.fence import one_line

if TYPE_CHECKING:
    from rich.console import Console

    from truekeep import Keep

STYLES = {"allow": "bold green", "confirm": "bold yellow", "deny": "bold red"}


@click.group()
def actions() -> None:
    """Judge tool calls, and confirm or decline those that wait."""


@actions.command()
@click.argument("name")
@click.argument("arguments")
@click.option("--session", required=True, help="The session in which the agent wants to make the call.")
@click.option("--run", help="The run it belongs to; the session, if left out.")
@with_keep
def check(
    name: str, arguments: str, session: str, run: str | None, keep_name: str, home: str | None, output: str
) -> None:
    """Judge the call NAME with ARGUMENTS, a JSON object.

    Exit code 0: allowed. 1: to be confirmed, or denied.
    """
    with open_keep(keep_name, home, new=True) as keep:
        answer = keep.check_action(session, name, _object(arguments), run=run)
    if output == "json":
        print_json(answer.as_dict())
    else:
        out = console()
        print_styled(out, (answer.decision.value, STYLES[answer.decision.value]), (f"  {answer.code}", ""))
        for reason in answer.reasons:
            print_styled(out, (one_line(reason), ""), indent=2)
        if answer.ticket:
            print_styled(out, (f"ticket {answer.ticket}", "dim"), indent=2)
    sys.exit(0 if answer else REFUSED)


@actions.command()
@click.option("--session", help="Only those of one session.")
@with_keep
def pending(session: str | None, keep_name: str, home: str | None, output: str) -> None:
    """Show the calls that wait for the owner."""
    with open_keep(keep_name, home) as keep:
        waiting = keep.actions.pending(session)
    if output == "json":
        print_json([record.as_dict() | question_about(record).as_dict() for record in waiting])
        return
    out = console()
    if not waiting:
        out.print("Nothing is waiting.", style="green")
    for record in waiting:
        print_styled(out, (record.id, "bold"), (f"  in {one_line(record.session)}", ""))
        print_question(out, question_about(record))


def print_question(out: Console, question: ConfirmQuestion) -> None:
    """What the owner is asked: each value with its origin, what only others wrote in red, and what would leave."""
    print_styled(out, (one_line(question.tool), "bold"), indent=2)
    for value in question.values:
        style = "bold red" if value.is_hearsay else "yellow" if value.is_doubtful else ""
        named = f" ({', '.join(map(quoted, value.sources))})" if value.sources else ""
        print_styled(out, (f"{value.path} = {quoted(value.text)}", ""), (f"  {value.words}{named}", style), indent=4)
    if question.leaving:
        print_styled(out, ("would leave: " + ", ".join(map(quoted, question.leaving)), "bold red"), indent=4)
    for reason in question.reasons:
        print_styled(out, (one_line(reason), "dim"), indent=4)


def quoted(text: str) -> str:
    """Somebody's text between marks, on one line."""
    return f"\u27e6{one_line(text)}\u27e7"


@actions.command()
@click.argument("ticket")
@click.option("--via", default="user", show_default=True, help="The channel of the person who decides.")
@with_keep
def confirm(ticket: str, via: str, keep_name: str, home: str | None, output: str) -> None:
    """Let the call behind TICKET happen, once. On a terminal the call is shown first, and the default is no."""
    with open_keep(keep_name, home) as keep:
        if sys.stdin.isatty() and output != "json":
            _show(keep, ticket)
            click.confirm("Do it, just so and once?", default=False, abort=True)
        keep.actions.confirm(ticket, via=via)
    _settled(output, ticket, "confirmed")


@actions.command()
@click.argument("ticket")
@click.option("--via", default="user", show_default=True, help="The channel of the person who decides.")
@with_keep
def decline(ticket: str, via: str, keep_name: str, home: str | None, output: str) -> None:
    """Turn the call behind TICKET down."""
    with open_keep(keep_name, home) as keep:
        keep.actions.decline(ticket, via=via)
    _settled(output, ticket, "declined")


@actions.command()
@click.argument("run")
@click.argument("outcome", type=click.Choice(["good", "bad"]))
@click.option("--via", default="outcomes", show_default=True, help="The channel that may credit.")
@with_keep
def credit(run: str, outcome: str, via: str, keep_name: str, home: str | None, output: str) -> None:
    """Say how RUN ended; it counts for the memories its calls relied on."""
    with open_keep(keep_name, home) as keep:
        counted = keep.credit(run, outcome, via=via)
    if output == "json":
        print_json(counted)
    else:
        console().print(f"Noted. It counts for {len(counted['memories'])} memories.", style="green")


def _show(keep: Keep, ticket: str) -> None:
    if (question := keep.actions.question(ticket)) is not None:
        print_question(console(), question)


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(sys.stdin.read() if text == "-" else text)
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise click.BadParameter("it has to be a JSON object, like '{\"amount\": 300}'", param_hint="ARGUMENTS")
    return found


def _settled(output: str, ticket: str, word: str) -> None:
    if output == "json":
        print_json({"ticket": ticket, "state": word})
    else:
        console().print(f"{word.capitalize()}.", style="green")
