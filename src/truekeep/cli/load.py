"""Bulk work: import many memories, and embed again after the embedder changed. Both show how far they are."""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from truekeep.cli.failure import REFUSED
from truekeep.cli.options import open_keep, with_keep
from truekeep.cli.output import console, print_json
from truekeep.errors import InvalidRequest

if TYPE_CHECKING:
    from truekeep.keep import Keep

_FIELDS = frozenset({"text", "principal", "session", "kind", "topics", "entities", "metadata"})
_LONGEST_LINE = 100_000


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--via", default="import", show_default=True, help="The channel it comes over; its standing follows.")
@click.option("--policy", type=click.Choice(["strict", "inform"]), help="Preset; default from the settings.")
@click.option("--batch", type=click.IntRange(1, 1000), default=200, show_default=True, help="Lines a transaction.")
@with_keep
def import_memories(
    file: Path, via: str, policy: str | None, batch: int, keep_name: str, home: str | None, output: str
) -> None:
    """Import FILE: one JSON object with "text" (or one plain text) a line.

    Every line goes through the gate; nothing in the file sets a standing. An import that was cut off goes on where it
    stopped when it is run again on the same file.
    """
    lines = file.read_text("utf-8").splitlines()
    name = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    counts: Counter[str] = Counter()
    with open_keep(keep_name, home, policy) as keep:
        start = _resume(keep, name)
        starts = range(start, len(lines), batch)
        for first in _progress(starts, "importing"):
            chunk = [_entry(line, number) for number, line in enumerate(lines[first : first + batch], first + 1)]
            mark = f"import:{name}:{first + batch}"
            verdicts = keep.remember_many([one for one in chunk if one], via=via, skip_rejected=True, mark=mark)
            counts.update(verdict.decision.value for verdict in verdicts)
    summary = {"lines": len(lines), "resumed_at": start, **{name: counts[name] for name in _DECISIONS}}
    if output == "json":
        print_json(summary)
    else:
        console().print("  ".join(f"{name.replace('_', ' ')}: {count}" for name, count in summary.items()))
    if counts["reject"]:
        sys.exit(REFUSED)


_DECISIONS = ("accept", "quarantine", "reject")


@click.command()
@with_keep
def reindex(keep_name: str, home: str | None, output: str) -> None:
    """Embed what the embedder in use has not embedded yet."""
    done = 0
    with open_keep(keep_name, home) as keep:
        for done, total in keep.reindex():
            if sys.stderr.isatty():
                click.echo(f"\r{done} of {total}", err=True, nl=False)
    if output == "json":
        print_json({"reindexed": done})
    else:
        console().print(f"Embedded: {done}.")


def _resume(keep: Keep, name: str) -> int:
    prefix = f"import:{name}:"
    marks = (str(event.body["mark"]) for event in keep.audit.events(kinds=["batch.marked"]))
    return max((int(mark.removeprefix(prefix)) for mark in marks if mark.startswith(prefix)), default=0)


def _entry(line: str, number: int) -> dict[str, Any] | None:
    if not line.strip():
        return None
    if len(line) > _LONGEST_LINE:
        raise InvalidRequest(f"Line {number} is over {_LONGEST_LINE:,} characters.", code="line_too_long")
    if not line.lstrip().startswith("{"):
        return {"text": line}
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        raise InvalidRequest(f"Line {number} is not JSON.", code="line_not_json") from None
    # Standing, dates and ids of another store prove nothing here.
    return {name: value for name, value in entry.items() if name in _FIELDS}


def _progress(starts: Iterable[int], label: str) -> Iterator[int]:
    if not sys.stderr.isatty():
        yield from starts
        return
    with click.progressbar(list(starts), label=label, file=sys.stderr) as bar:
        yield from bar
