"""Keys on the terminal: fingerprints and public halves only, never a key."""

from __future__ import annotations

import getpass
from typing import Any

import click

from truekeep.cli.options import common, with_keep
from truekeep.cli.output import console, print_json
from truekeep.config import Paths, Settings
from truekeep.errors import InvalidRequest, TruekeepError, UnknownId
from truekeep.trust.fence import one_line


@click.group()
def keys() -> None:
    """Show and rotate keys. No key is ever printed."""


@keys.command()
@common
def status(home: str | None, output: str) -> None:
    """Say which master key wraps what, and each keep's public key."""
    from truekeep.stores.files import keyring  # noqa: PLC0415 - loads the cryptography

    paths = Paths.resolve(home)
    settings = Settings.load(paths.config)
    ring = keyring(paths, settings)
    master, keeps = _master(paths, settings), [_keep(paths, settings, name) for name in ring.names()]
    if output == "json":
        print_json({"directory": str(paths.keys), "master": master, "keeps": keeps})
        return
    out = console()
    out.print(f"key directory  {one_line(str(paths.keys))}", soft_wrap=True)
    out.print(f"master key     {master['id'] or one_line(master['problem'])} (from {master['source']})")
    for keep in keeps:
        out.print(one_line(keep["name"]), style="bold")
        for line in _lines(keep):
            out.print(f"  {one_line(line)}", soft_wrap=True)


@keys.command()
@click.option("--master", is_flag=True, help="A new master key; every keep's key is wrapped with it.")
@click.option("--data", is_flag=True, help="A new data key; the keep is encrypted and sealed with it.")
@click.option("--by", default=getpass.getuser, show_default="your login name", help="Who decides.")
@click.option("--reason", default="a rotation on the terminal", show_default=True, help="Why; goes into the audit log.")
@click.option("--to", default="", help="Where the new master key is: env:NAME, file:PATH, command:LINE or keys.")
@click.option("--dry-run", is_flag=True, help="Only say which keeps' keys it is about.")
@with_keep
def rotate(
    master: bool,
    data: bool,
    by: str,
    reason: str,
    to: str,
    dry_run: bool,
    keep_name: str,
    home: str | None,
    output: str,
) -> None:
    """Rotate the master key (--master) or the keep's data key (--data).

    A master key is rotated while keeps are in use. For a data key the keep must be open nowhere else. Either can be run
    again after a crash.
    """
    if master == data:
        raise InvalidRequest("Say which key: --master or --data.", code="which_key")
    if dry_run:
        _print_rotation(home, keep_name if data else None, output)
        return
    from truekeep.ops.key_rotation import rotate_data_key, rotate_master_key  # noqa: PLC0415 - loads the store

    done: dict[str, Any]
    if master:
        rotated = rotate_master_key(keep_name, by=by, reason=reason, to=to, home=home)
        done = {"master": rotated.master, "rewrapped": len(rotated.rewrapped)}
    else:
        done = {"keep": keep_name, "event": rotate_data_key(keep_name, by=by, reason=reason, home=home)}
    if output == "json":
        print_json(done)
    else:
        console().print("  ".join(f"{name}: {value}" for name, value in done.items()))


def _print_rotation(home: str | None, keep_name: str | None, output: str) -> None:
    """What would be rotated: one keep's data key, or the master key of every keep."""
    from truekeep.stores.files import keyring  # noqa: PLC0415 - loads the cryptography

    paths = Paths.resolve(home)
    names = [name for name in keyring(paths, Settings.load(paths.config)).names() if keep_name in (None, name)]
    if keep_name is not None and not names:
        raise UnknownId("There is no keep of that name here.", code="unknown_keep")
    if output == "json":
        print_json({"would_rotate": "data" if keep_name else "master", "keeps": names})
        return
    if keep_name is not None:
        console().print(f"Would encrypt and seal {keep_name} anew, with a new data key.")
    else:
        console().print(f"Would wrap the keys of {len(names):,} keeps with a new master key.")
    console().print("Nothing was changed. Leave out --dry-run to do it.")


def _master(paths: Paths, settings: Settings) -> dict[str, str]:
    from truekeep.stores.master import MasterKeys  # noqa: PLC0415 - loads the cryptography

    masters = MasterKeys(paths.keys, settings.master_key)
    source = settings.master_key.partition(":")[0] or "the key directory"
    try:
        return {"source": source, "id": masters.current().id, "problem": ""}
    except TruekeepError as error:
        return {"source": source, "id": "", "problem": str(error)}


def _keep(paths: Paths, settings: Settings, name: str) -> dict[str, Any]:
    from truekeep.stores.files import keyring  # noqa: PLC0415 - loads the cryptography
    from truekeep.stores.keys import public_key  # noqa: PLC0415

    ring = keyring(paths, settings)
    try:
        opened = ring.open(name)
        return {
            "name": name,
            "wrapped_by": ring.wrapped_by(name),
            "cipher": opened.cipher,
            "data_keys": len(opened.epochs),
            "rotation": "under way" if opened.pending else "none",
            "public_key": public_key(opened),
            "problem": "",
        }
    except TruekeepError as error:
        return {"name": name, "problem": str(error), "hint": error.hint}


def _lines(keep: dict[str, Any]) -> list[str]:
    if keep["problem"]:
        return [f"{keep['problem']} {keep['hint']}"]
    rotation = "" if keep["rotation"] == "none" else "; a rotation was begun: run 'truekeep keys rotate --data' again"
    return [
        f"wrapped by {keep['wrapped_by']}, {keep['cipher']}, data key {keep['data_keys']}{rotation}",
        f"public key {keep['public_key']}",
    ]
