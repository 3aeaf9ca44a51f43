"""Output: data on standard output, as JSON or for people; what people see is sanitised and coloured by meaning."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from truekeep.trust.fence import one_line
from truekeep.types import Decision, Verdict

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_UNUSUAL = re.compile(r"[^\n -~]")
STYLES = {Decision.ACCEPT: "bold green", Decision.QUARANTINE: "bold yellow", Decision.REJECT: "bold red"}
WORDS = {Decision.ACCEPT: "accepted", Decision.QUARANTINE: "held for review", Decision.REJECT: "rejected"}


def console() -> Console:
    """A terminal that never interprets what it prints as markup, links or emoji codes."""
    from rich.console import Console  # noqa: PLC0415 - not needed for --help and JSON

    return Console(markup=False, highlight=False, emoji=False)


def as_json(data: Any, *, indent: int | None = 2) -> str:
    """Data for programs, exact, with whatever a terminal would obey or hide written as an escape."""
    return _UNUSUAL.sub(_visible, json.dumps(data, ensure_ascii=False, indent=indent))


def print_json(data: Any, *, indent: int | None = 2) -> None:
    """Data for programs."""
    click.echo(as_json(data, indent=indent))


def _visible(found: re.Match[str]) -> str:
    return found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1]


def print_styled(out: Console, *parts: tuple[str, str], indent: int = 0) -> None:
    """One paragraph of styled parts, wrapped as a whole and indented."""
    from rich.padding import Padding  # noqa: PLC0415 - not needed for --help and JSON
    from rich.text import Text  # noqa: PLC0415

    out.print(Padding(Text.assemble(*parts), (0, 0, 0, indent), expand=False))


def print_verdict(verdict: Verdict) -> None:
    """What was decided about one text, why, and what to do next."""
    out = console()
    print_styled(out, (WORDS[verdict.decision], STYLES[verdict.decision]), (f"  {why(verdict)}", ""))
    for finding in verdict.findings:
        print_styled(out, (f"{finding.rule_id}: {one_line(finding.reason)}", "dim"), indent=2)
    if verdict.decision is Decision.REJECT:
        print_styled(out, (verdict.hint, "dim"), indent=2)
    if verdict.memory_id:
        print_styled(out, (f"id {verdict.memory_id}", "dim"), indent=2)
    if verdict.item_id and verdict.decision is Decision.QUARANTINE:
        print_styled(out, (f"look at it with: truekeep review show {verdict.item_id}", "dim"), indent=2)


def why(verdict: Verdict) -> str:
    """The verdict's reason, without the words that stand before it on the terminal already."""
    reason = verdict.reason.removeprefix("Held for review: ")
    return reason[:1].upper() + reason[1:]


def table(*columns: str, wide: str, folding: Sequence[str] = ()) -> Table:
    """A plain table in which the column ``wide`` takes the room that is left; it and ``folding`` ones may wrap."""
    from rich.table import Table  # noqa: PLC0415 - not needed for --help and JSON

    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        if column == wide:
            made.add_column(column, ratio=1, overflow="fold")
        elif column in folding:
            made.add_column(column, overflow="fold")
        else:
            made.add_column(column, no_wrap=True)
    return made


def print_memories(memories: Sequence[dict[str, Any]]) -> None:
    """A listing: what each memory says, where it came from and whether it may act."""
    from rich.text import Text  # noqa: PLC0415 - not needed for --help and JSON

    out = console()
    if not memories:
        out.print("Nothing is remembered yet.", style="dim")
        return
    listing = table("id", "as of", "from", "acts", "memory", wide="memory")
    for memory in memories:
        style = "red" if memory["blocked"] else ""
        acts = Text("yes", style="green") if memory["may_act"] else Text("no", style="yellow")
        source = Text(one_line(memory["origin"]["channel"]))
        text = Text(one_line(memory["content"]), style=style)
        listing.add_row(memory["id"], memory["as_of"][:10], source, acts, text)
    out.print(listing)
