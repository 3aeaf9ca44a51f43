"""Whole keeps on the terminal: back up, put back, destroy."""

from __future__ import annotations

from pathlib import Path

import click

from truekeep.cli.options import with_keep
from truekeep.cli.output import console, print_json

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("target", type=_FILE)
@with_keep
def backup(target: Path, keep_name: str, home: str | None, output: str) -> None:
    """Copy the keep to the new file TARGET, while it is in use.

    The copy is encrypted and sealed like the keep itself; only the keep's keys open it. Keep those elsewhere.
    """
    from truekeep.recovery import back_up  # noqa: PLC0415 - loads the store

    copy = back_up(keep_name, target, home=home)
    if output == "json":
        print_json({"path": str(copy.path), "bytes": copy.size, "events": copy.head.seq, "rows": copy.rows})
    else:
        console().print(f"Backed up: {copy.head.seq} events, {copy.rows} rows, {copy.size:,} bytes, verified.")


@click.command()
@click.argument("source", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--by", required=True, help="Who decides.")
@click.option("--reason", required=True, help="Why it is put back.")
@with_keep
def restore(source: Path, by: str, reason: str, keep_name: str, home: str | None, output: str) -> None:
    """Put the backup SOURCE in the place of the keep's database.

    What happened since the backup is given up; who decided that and why is written into the audit log. The replaced
    file is kept beside the new one.
    """
    from truekeep.recovery import restore as restore_keep  # noqa: PLC0415 - loads the store

    done = restore_keep(keep_name, source, by=by, reason=reason, home=home)
    if output == "json":
        print_json({"ends_at": done.ends_at, "given_up_after": done.ends_at, "was_at": done.anchored_at})
    else:
        console().print(f"Restored to event {done.ends_at}; event {done.anchored_at} had happened.")


@click.command()
@click.option("--confirm", required=True, help="The keep's name once more.")
@with_keep
def destroy(confirm: str, keep_name: str, home: str | None, output: str) -> None:
    """Shred the keep: its key first, which makes every copy of its data unreadable, then its files. For good."""
    from truekeep.recovery import destroy as destroy_keep  # noqa: PLC0415 - loads the store

    removed = destroy_keep(keep_name, confirm=confirm, home=home)
    if output == "json":
        print_json({"destroyed": keep_name, "removed": removed})
    else:
        console().print(f"Destroyed {keep_name}: {', '.join(removed)}.")
