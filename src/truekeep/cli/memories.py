"""Remember, recall, list, forget and snapshot."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any

import click

from truekeep.cli.failure import REFUSED
from truekeep.cli.options import open_keep, with_keep
from truekeep.cli.output import console, print_json, print_memories, print_styled, print_verdict
from truekeep.incident.records import Forgotten
from truekeep.trust.fence import one_line
from truekeep.types import Decision, Recalled, Verdict, utc_text


@click.command()
@click.argument("text")
@click.option("--via", default="user", show_default=True, help="The channel it came over; its standing follows.")
@click.option("--principal", help="Who is behind it: a URL, a domain or a name.")
@click.option("--session", help="The session it belongs to.")
@click.option("--topic", "topics", multiple=True, help="A topic; may be given several times.")
@click.option("--policy", type=click.Choice(["strict", "inform"]), help="Preset; default from the settings.")
@with_keep
def remember(
    text: str, via: str, keep_name: str, home: str | None, output: str, policy: str | None, **fields: Any
) -> None:
    """Put TEXT through the gate ('-' reads it from standard input).

    Exit code 0: stored. 1: held for review or rejected.
    """
    with open_keep(keep_name, home, policy, new=True, embeds=True) as keep:
        verdict = keep.remember(sys.stdin.read() if text == "-" else text, via=via, **fields)
    _answer(verdict, output)


@click.command()
@click.argument("query")
@click.option("-k", type=click.IntRange(1, 1000), default=5, show_default=True, help="How many at most.")
@click.option("--influence-only", is_flag=True, help="Only what may drive an action.")
@click.option("--min-score", type=float, help="Leave out weaker hits.")
@click.option("--half-life", "half_life_days", type=float, help="Days in which a memory's weight halves.")
@click.option("--kind", "kinds", multiple=True, help="Only of that kind: semantic or episodic.")
@click.option("--topic", "topics", multiple=True, help="Only with that topic.")
@click.option("--channel", "channels", multiple=True, help="Only what came over that channel.")
@click.option("--since", type=click.DateTime(), metavar="DATE", help="Only what holds since that day (UTC).")
@click.option("--until", type=click.DateTime(), metavar="DATE", help="Only what held before that day (UTC).")
@click.option("--explain", is_flag=True, help="Say why each hit is there.")
@with_keep
def recall(
    query: str,
    kinds: tuple[str, ...],
    topics: tuple[str, ...],
    channels: tuple[str, ...],
    since: datetime | None,
    until: datetime | None,
    keep_name: str,
    home: str | None,
    output: str,
    **options: Any,
) -> None:
    """Find the memories that answer QUERY."""
    with open_keep(keep_name, home, embeds=True) as keep:
        from truekeep.read.recall import Filters  # noqa: PLC0415 - the embedder is being loaded meanwhile

        filters = Filters(
            kinds=frozenset(kinds),
            topics=frozenset(topics),
            channels=frozenset(channels),
            since=since.replace(tzinfo=UTC) if since else None,
            until=until.replace(tzinfo=UTC) if until else None,
        )
        hits = keep.recall(query, filters=filters, **options)
    if output == "json":
        print_json({"hits": [_hit(hit) for hit in hits], "withheld": hits.withheld, "degraded": hits.degraded})
        return
    out = console()
    for hit in hits:
        mark, style = ("acts", "green") if hit.may_act else ("informs", "yellow")
        mark, style = ("blocked", "red") if hit.blocked else (mark, style)
        print_styled(out, (f"{mark:9}", style), (one_line(hit.text), ""))
        print_styled(out, (f"{hit.score:.2f}  as of {hit.as_of:%Y-%m-%d}  {hit.why}", "dim"), indent=9)
        if hit.explain:
            print_styled(out, ("  ".join(f"{name} {part:+.2f}" for name, part in hit.explain.items()), "dim"), indent=9)
    if not hits:
        out.print("Nothing found.", style="dim")
    if hits.degraded:
        click.echo(f"by keywords only: {hits.degraded}", err=True)
    if hits.withheld:
        counts = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in hits.withheld.items())
        out.print(f"withheld: {counts}", style="dim")


@click.command("list")
@click.option("--limit", type=click.IntRange(1), help="At most so many.")
@click.option("--after", help="Go on after that memory's id.")
@with_keep
def list_memories(limit: int | None, after: str | None, keep_name: str, home: str | None, output: str) -> None:
    """List all memories, blocked ones as placeholders."""
    with open_keep(keep_name, home) as keep:
        memories = keep.get_memories(limit=limit, after=after)
    if output == "json":
        print_json(memories)
    else:
        print_memories(memories)


@click.command()
@click.argument("what")
@click.option("--reason", default="", help="Why a memory is deleted; goes into the audit log.")
@click.option(
    "--undo", is_flag=True, help="WHAT is the id that forgetting gave, or of a deleted memory; bring it back."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Only say what would be forgotten.")
@with_keep
def forget(
    what: str, reason: str, undo: bool, yes: bool, dry_run: bool, keep_name: str, home: str | None, output: str
) -> None:
    """Forget WHAT you said ("what I said about the gym"), or delete the memory of that id.

    What is clearly meant is gone at once; --undo brings it back. If several may be meant, they are listed with their
    ids.
    """
    with open_keep(keep_name, home) as keep:
        if undo and what.startswith("mem_"):
            _answer(keep.restore(what, via="user"), output)
            return
        if undo:
            keep.unforget(what, via="user")
            told = Forgotten("restored", "Brought back.")
        elif dry_run:
            told = keep.forget([what] if what.startswith("mem_") else what, via="user", dry_run=True)
        elif what.startswith("mem_"):
            memory = keep.get_memory(what)
            _confirm(memory["content"], yes)
            _answer(keep.delete_memory(what, via="user", reason=reason), output)
            if output != "json":
                click.echo(f"Undo: truekeep forget --undo {what}")
            return
        else:
            meant = keep.forget(what, via="user", dry_run=True)
            if meant.code == "would_forget":
                _confirm("; ".join(one.text for one in meant.matches), yes)
            told = keep.forget(what, via="user") if meant.code == "would_forget" else meant
    _tell(told, output)
    if not told.done and not undo and not dry_run:
        sys.exit(REFUSED)


@click.command()
@click.argument("memory_id", required=False)
@click.option("--undo", is_flag=True, help="Take the pin away.")
@with_keep
def pin(memory_id: str | None, undo: bool, keep_name: str, home: str | None, output: str) -> None:
    """Put the memory MEMORY_ID first in every prompt; without an id, list what is worth it."""
    with open_keep(keep_name, home) as keep:
        if memory_id is not None:
            _answer((keep.unpin if undo else keep.pin)(memory_id, via="user"), output)
            return
        proposed = keep.proposed_pins()
    if output == "json":
        print_json(proposed)
    else:
        print_memories(proposed)


def _confirm(content: str, yes: bool) -> None:
    if not yes and sys.stdin.isatty():
        click.confirm(f"Forget: {one_line(content)}?", abort=True, err=True)


def _tell(told: Forgotten, output: str) -> None:
    if output == "json":
        print_json(told.as_dict())
        return
    click.echo(told.reason)
    for match in told.matches:
        click.echo(f"  {match.memory_id}  {one_line(match.text)}")
    if told.id is not None:
        click.echo(f"Undo: truekeep forget --undo {told.id}")


@click.command()
@click.option("--session", default="default", show_default=True, help="Whose snapshot.")
@click.option("--refresh", is_flag=True, help="Freeze a new one.")
@with_keep
def snapshot(session: str, refresh: bool, keep_name: str, home: str | None, output: str) -> None:
    """Print the frozen text that the session's prompt gets."""
    with open_keep(keep_name, home) as keep:
        frozen = keep.snapshot(session, refresh=refresh)
    if output == "json":
        print_json(
            {
                "session": frozen.session,
                "digest": frozen.digest,
                "stale": frozen.stale,
                "created_at": utc_text(frozen.created_at),
                "text": frozen.text,
            }
        )
    else:
        click.echo(frozen.text, nl=False)
        if frozen.stale:
            click.echo("stale: something in it is gone, or newer rules block it; --refresh freezes a new one", err=True)


def _hit(hit: Recalled) -> dict[str, Any]:
    return {
        "id": hit.memory.id,
        "text": hit.text,
        "score": hit.score,
        "may_act": hit.may_act,
        "why": hit.why,
        "blocked": hit.blocked,
        "standing": hit.memory.standing.label,
        "as_of": utc_text(hit.as_of),
        **({"explain": dict(hit.explain)} if hit.explain else {}),
    }


def _answer(verdict: Verdict, output: str) -> None:
    if output == "json":
        print_json(verdict.as_dict())
    else:
        print_verdict(verdict)
    if verdict.decision is not Decision.ACCEPT:
        sys.exit(REFUSED)
