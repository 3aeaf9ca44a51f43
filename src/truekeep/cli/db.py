"""The database on the terminal: make and migrate its tables, say what it is, move keeps there and back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from truekeep.cli.options import common, formatted
from truekeep.cli.output import console, print_json
from truekeep.config import Paths, Settings
from truekeep.errors import ConfigError, InvalidRequest, MissingExtra
from truekeep.trust.fence import one_line

if TYPE_CHECKING:
    from truekeep.stores.postgres_lines import Connection

OWNER = "TRUEKEEP_STORE_OWNER"
"""The variable with the connection string of the tables' owner, which only migrates."""


@click.group()
def db() -> None:
    """Keep keeps in a PostgreSQL database."""


@db.command()
@click.option("--role", default="", help="The role that serves; it gets the rights that it needs, and no others.")
@formatted
def migrate(role: str, output: str) -> None:
    """Make or migrate the tables, as their owner.

    The owner's connection string is in TRUEKEEP_STORE_OWNER. Those who serve go on meanwhile.
    """
    from truekeep.stores.postgres_schema import migrate as migrated  # noqa: PLC0415 - an extra

    dsn = os.environ.get(OWNER, "")
    if not dsn:
        raise ConfigError(f"The variable {OWNER} is not set.", hint="It has to hold the owner's connection string.")
    connection = _connected(dsn)
    with connection:
        from truekeep.stores.postgres_lines import require_server, translated  # noqa: PLC0415

        with translated():
            require_server(connection.info.server_version)
            before, after = migrated(connection, role)
    _print(output, {"before": before, "after": after, "role": role})


@db.command()
@common
def status(home: str | None, output: str) -> None:
    """Say which server and schema the setting store leads to, and how many keeps are there."""
    from truekeep.stores.files import database_keyring  # noqa: PLC0415 - loads the cryptography

    paths, settings = _chosen(home)
    ring = database_keyring(paths, settings)
    names = ring.names()
    _print(output, {**ring.facts(), "keeps": len(names), "anchor": settings.anchor})


@db.command()
@click.option("--to", type=click.Choice(["database", "files"]), required=True, help="Where keeps shall be.")
@click.option("--keep", "names", multiple=True, help="A keep to move; again for more.")
@click.option("--all", "everything", is_flag=True, help="Move every keep that is not there yet.")
@click.option("--dry-run", is_flag=True, help="Only say which keeps would be moved.")
@common
def move(to: str, names: tuple[str, ...], everything: bool, dry_run: bool, home: str | None, output: str) -> None:
    """Move keeps from files to the database, or back.

    Each is verified in its new place before it goes from the old one. It must be open nowhere. Cut off, run it again.
    """
    from truekeep.stores.moving import movable  # noqa: PLC0415 - loads the store
    from truekeep.stores.moving import move as moved  # noqa: PLC0415
    from truekeep.trust.origin import keep_name  # noqa: PLC0415

    if bool(names) == everything:
        raise InvalidRequest("Say which keeps: --keep NAME, or --all.", code="which_keeps")
    paths, settings = _chosen(home)
    for name in movable(paths, settings, to) if everything else names:
        if dry_run:
            _print(output, {"would_move": keep_name(name), "to": to})
            continue
        done = moved(paths, settings, keep_name(name), to)
        _print(output, {"keep": done.keep, "to": done.to, "events": done.events, "rows": done.rows})


def _chosen(home: str | None) -> tuple[Paths, Settings]:
    paths = Paths.resolve(home)
    settings = Settings.load(paths.config)
    if not settings.store:
        raise ConfigError("The setting store names no database.", hint="Set TRUEKEEP_STORE to its connection string.")
    return paths, settings


def _connected(dsn: str) -> Connection:
    try:
        from truekeep.stores.postgres_lines import connect  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtra("postgres") from error
    return connect(dsn)


def _print(output: str, facts: dict[str, Any]) -> None:
    if output == "json":
        print_json(facts)
    else:
        console().print("  ".join(f"{name}: {one_line(str(value))}" for name, value in facts.items()), soft_wrap=True)
