"""Bulk work: import and export many memories, and embed again after the embedder changed. All show how far they are."""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from truekeep import disk
from truekeep.cli.failure import REFUSED
from truekeep.cli.options import open_keep, with_keep
from truekeep.cli.output import console, print_json
from truekeep.errors import InvalidRequest

if TYPE_CHECKING:
    from truekeep.write.bulk import ImportLine


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--via", default="import", show_default=True, help="The channel it comes over; its standing follows.")
@click.option("--signer", help="The public key that must have signed the export.")
@click.option("--map", "mapping", multiple=True, help="STANDING=CHANNEL, for exports of the named signer.")
@click.option("--policy", type=click.Choice(["strict", "inform"]), help="Preset; default from the settings.")
@click.option("--batch", type=click.IntRange(1, 1000), default=200, show_default=True, help="Lines a transaction.")
@click.option("--dry-run", is_flag=True, help="Only say what the gate would decide.")
@with_keep
def import_memories(
    file: Path,
    via: str,
    signer: str | None,
    mapping: tuple[str, ...],
    policy: str | None,
    batch: int,
    dry_run: bool,
    keep_name: str,
    home: str | None,
    output: str,
) -> None:
    """Import FILE: one JSON object with "text" (or one plain text) a line, a signed export, or what was salvaged.

    Every line goes through the gate; nothing in the file sets a standing. An export must be as it was signed; its
    memories come over --via like any other, unless you name its --signer and --map a standing to a channel. An import
    that was cut off goes on where it stopped when it is run again on the same file.
    """
    from truekeep.protect.migrate.moving import resumed_at  # noqa: PLC0415 - loads the store
    from truekeep.read.export import checked_mapping  # noqa: PLC0415
    from truekeep.write.bulk import Rules, portions, read_lines  # noqa: PLC0415

    lines = read_lines(file.read_text("utf-8"), Rules(via, signer, checked_mapping(mapping)))
    name = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    counts: Counter[str] = Counter()
    if dry_run:
        _weigh(lines, keep_name, home, policy, output)
        return
    began = datetime.now(UTC)
    with open_keep(keep_name, home, policy, new=True) as keep:
        start = resumed_at(keep, f"import:{name}:")
        parts = list(portions(lines, start, batch))
        batches = ((channel, entries, f"import:{name}:{end}") for end, channel, entries in parts)
        for (end, _, _), verdicts in zip(parts, keep.remember_batches(batches), strict=True):
            counts.update(verdict.decision.value for verdict in verdicts)
            _progress("importing", end, len(lines))
    summary = {"lines": len(lines), "resumed_at": start, **{name: counts[name] for name in _DECISIONS}}
    if output == "json":
        print_json(summary)
    else:
        console().print("  ".join(f"{name.replace('_', ' ')}: {count}" for name, count in summary.items()))
        if held := counts["quarantine"]:
            console().print(f"{held:,} held for review: nothing of it informs or acts until you decide.")
            console().print(f"Next: {_NEXT_STEP}")
        if counts["accept"] + counts["quarantine"]:
            since = f"{began:%Y-%m-%dT%H:%M:%S}"
            undo = f"Undo: truekeep revoke --channel {via} --since {since} --keep {keep_name} --reason …"
            console().print(undo, style="dim", soft_wrap=True)
    if counts["reject"]:
        sys.exit(REFUSED)


def _weigh(lines: Sequence[ImportLine], keep_name: str, home: str | None, policy: str | None, output: str) -> None:
    """What the gate would decide about each line by itself; nothing is stored or audited."""
    counts: Counter[str] = Counter()
    with open_keep(keep_name, home, policy) as keep:
        for number, line in enumerate(lines, 1):
            if line.entry is not None:
                fields = dict(line.entry)
                counts[keep.weigh(fields.pop("text"), via=line.via, **fields).decision.value] += 1
            _progress("weighing", number, len(lines))
    summary = {"lines": len(lines), **{f"would_{name}": counts[name] for name in _DECISIONS}}
    if output == "json":
        print_json(summary)
    else:
        console().print("  ".join(f"{name.replace('_', ' ')}: {count}" for name, count in summary.items()))
        console().print("Nothing was changed. Leave out --dry-run to do it.")


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@click.option("--to", type=click.Choice(["mem0", "jsonl", "markdown"]), help="For another memory, instead of signed.")
@with_keep
def export(file: Path | None, to: str | None, keep_name: str, home: str | None, output: str) -> None:
    """Write all memories as signed JSON lines, to the new FILE or to standard output.

    Texts are screened and sanitised; blocked ones are there as their placeholder. With --to they are written as another
    memory reads them, without what is blocked or was replaced. For a complete copy use 'backup'.
    """
    with open_keep(keep_name, home) as keep:
        lines = keep.export() if to is None else []
        memories = keep.get_memories() if to is not None else []
    text, count, how = "".join(lines), len(lines) - 2, "signed"
    if to is not None:
        from truekeep.protect.migrate.leaving import WRITERS, leaving  # noqa: PLC0415 - not for every export

        leave = leaving(memories)
        text, count, how = WRITERS[to](leave), len(leave), f"{len(memories) - len(leave)} blocked or replaced left out"
    if file is None:
        click.echo(text, nl=False)
        return
    _written(file, text)
    if output == "json":
        print_json({"path": str(file), "memories": count})
    else:
        console().print(f"Exported: {count} memories, {how}.")


def _written(file: Path, text: str) -> None:
    try:
        disk.write_new(file.absolute(), text.encode())
    except FileExistsError:
        raise InvalidRequest("There is something at that path already.", code="file_exists") from None
    except OSError as error:
        raise InvalidRequest("The file cannot be written.", hint=type(error).__name__) from error


_NEXT_STEP = "truekeep review list"
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


def _progress(label: str, done: int, total: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{label}: {done} of {total}", err=True, nl=done == total)
