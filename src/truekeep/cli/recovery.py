"""What cannot be undone, on the terminal: put a backup back, erase, destroy; and the backup that goes before it."""

from __future__ import annotations

from pathlib import Path

import click

from truekeep.cli.options import open_keep, with_keep
from truekeep.cli.output import console, print_json
from truekeep.trust.fence import one_line

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("target", type=_FILE)
@with_keep
def backup(target: Path, keep_name: str, home: str | None, output: str) -> None:
    """Copy the keep to the new file TARGET, while it is in use.

    The copy is encrypted and sealed like the keep itself; only the keep's keys open it. Keep those elsewhere.
    """
    from truekeep.ops.recovery import back_up  # noqa: PLC0415 - loads the store

    copy = back_up(keep_name, target, home=home)
    if output == "json":
        print_json({"path": str(copy.path), "bytes": copy.size, "events": copy.head.seq, "rows": copy.rows})
    else:
        console().print(f"Backed up: {copy.head.seq} events, {copy.rows} rows, {copy.size:,} bytes, verified.")


@click.command()
@click.argument("source", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--by", required=True, help="Who decides.")
@click.option("--reason", required=True, help="Why it is put back.")
@click.option(
    "--unsafe-unknown-history",
    is_flag=True,
    help="Also if its last event is none of this keep's history: somebody with an old key may have made it.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would change.")
@with_keep
def restore(
    source: Path,
    by: str,
    reason: str,
    unsafe_unknown_history: bool,
    dry_run: bool,
    keep_name: str,
    home: str | None,
    output: str,
) -> None:
    """Put the backup SOURCE in the place of the keep's database.

    What happened since the backup is given up; who decided that and why is written into the audit log. The replaced
    file is kept beside the new one.
    """
    from truekeep.ops.recovery import restore as restore_keep  # noqa: PLC0415 - loads the store

    if dry_run:
        _print_preview(keep_name, source, home, output)
        return
    done = restore_keep(
        keep_name, source, by=by, reason=reason, home=home, unsafe_unknown_history=unsafe_unknown_history
    )
    if output == "json":
        given_up = {"given_up_after": done.ends_at, "problems": list(done.problems)}
        print_json({"ends_at": done.ends_at, **given_up, "was_at": done.anchored_at})
    else:
        console().print(f"Restored to event {done.ends_at}; event {done.anchored_at} had happened.")
        console().print("What it replaced is kept beside it, in *.replaced-*, until you remove it.", style="dim")
        for problem in done.problems if unsafe_unknown_history else ():
            console().print(problem, style="yellow")


def _print_preview(keep_name: str, source: Path, home: str | None, output: str) -> None:
    from truekeep.ops.restore_preview import preview_restore  # noqa: PLC0415 - loads the store

    told = preview_restore(keep_name, source, home=home)
    if output == "json":
        print_json(told.as_dict())
        return
    out = console()
    out.print(f"It would end at event {told.ends_at}; event {told.stands_at} has happened. Nothing was changed.")
    for verb, rows in (("would go", told.go), ("would come back", told.come_back)):
        for table, count in rows.items():
            out.print(f"{table}: {count} {verb}")
    for sign, texts in (("-", told.memories_go), ("+", told.memories_come_back)):
        for text in texts:
            out.print(one_line(f"{sign} {text}"), soft_wrap=True, markup=False)


@click.command()
@click.option("--confirm", default="", help="The keep's name once more.")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@with_keep
def destroy(confirm: str, dry_run: bool, keep_name: str, home: str | None, output: str) -> None:
    """Shred the keep: its key first, which makes every copy of its data unreadable, then its files. For good."""
    from truekeep.ops.recovery import destroy as destroy_keep  # noqa: PLC0415 - loads the store

    removed = destroy_keep(keep_name, confirm=confirm, home=home, dry_run=dry_run)
    if output == "json":
        print_json({"would_destroy" if dry_run else "destroyed": keep_name, "removed": removed})
    elif dry_run:
        console().print(f"Would destroy {keep_name}, for good: {', '.join(removed)}.")
        console().print("Nothing was changed. Leave out --dry-run to do it.")
    else:
        console().print(f"Destroyed {keep_name}: {', '.join(removed)}.")


@click.command()
@click.argument("ids", nargs=-1)
@click.option("--subject", help="Everything that names this person or thing.")
@click.option("--by", required=True, help="Who decides.")
@click.option("--reason", required=True, help="Why; it must not name the subject.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@with_keep
def erase(
    ids: tuple[str, ...],
    subject: str | None,
    by: str,
    reason: str,
    dry_run: bool,
    keep_name: str,
    home: str | None,
    output: str,
) -> None:
    """Erase the memories IDS, or everything that names a --subject, for good; prints a signed receipt.

    Every table and event is walked, copies beside the database go, and the file is written anew. The audit log keeps
    ids, keyed hashes and counts. What cannot be erased from here, such as backups made before, is named.
    """
    with open_keep(keep_name, home) as keep:
        receipt = keep.erase(ids, subject=subject, by=by, reason=reason, dry_run=dry_run)
    if output == "json":
        print_json(receipt.as_dict())
        return
    out = console()
    verb = "Would erase" if dry_run else "Erased"
    for table, count in receipt.removed.items():
        out.print(f"{verb}: {count} rows of {table}")
    for table, count in receipt.redacted.items():
        out.print(f"{verb} words in {count} rows of {table}")
    for name in receipt.files:
        out.print(f"{verb}: the copy {name}")
    for what in receipt.left:
        out.print(f"Not erased: {what}", style="yellow")
    if receipt.derived:
        out.print(f"Derived memories that stay: {', '.join(receipt.derived)}", style="yellow")
    if not dry_run:
        scrubbed = (
            "the file was written anew" if receipt.scrubbed else "another process still uses the log; run it again"
        )
        out.print(f"Receipt: event {receipt.event}, {scrubbed}.", style="green")
        out.print(f"signature {receipt.signature}", soft_wrap=True, style="dim")
