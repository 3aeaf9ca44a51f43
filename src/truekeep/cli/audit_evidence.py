"""Evidence for an audit on the terminal: made where the keep is, checked anywhere."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from truekeep import disk
from truekeep.cli.options import formatted, require_keep, with_keep
from truekeep.cli.output import console, print_json
from truekeep.errors import ConfigError, InvalidRequest
from truekeep.types import utc_text

if TYPE_CHECKING:
    from truekeep.signals.evidence import CheckedEvidence
    from truekeep.stores.ledger import Ledger

_FILE = click.Path(dir_okay=False, path_type=Path)
_LARGEST = 2_000_000_000
"""Bytes of a file that is checked: millions of events."""


@click.command()
@click.option("--out", required=True, type=_FILE, help="The new file to write.")
@click.option("--with-texts", is_flag=True, help="Also who, why, and from where, as the log has it.")
@click.option("--timestamp", is_flag=True, help="Have it stamped by the authority of the setting timestamp_url.")
@with_keep
def evidence(out: Path, with_texts: bool, timestamp: bool, keep_name: str, home: str | None, output: str) -> None:
    """Write signed evidence of what is in the log to a new file: events, head, counts, rules and settings.

    No memory's text is in it; names and reasons are only --with-texts.
    """
    from truekeep.config import Paths, Settings  # noqa: PLC0415 - loads the store
    from truekeep.keep import now  # noqa: PLC0415
    from truekeep.screens.standard import panel  # noqa: PLC0415
    from truekeep.signals.evidence import evidence as evidence_of  # noqa: PLC0415
    from truekeep.signals.evidence import stamp_line  # noqa: PLC0415
    from truekeep.signals.timestamps import stamped  # noqa: PLC0415

    paths = Paths.resolve(home)
    settings = Settings.load(paths.config)
    if timestamp and not settings.timestamp_url:
        raise ConfigError("No time-stamping authority is set.", hint="Set timestamp_url in config.toml.")
    _tell("verifying the keep")
    ledger = _ledger(keep_name, home)
    try:
        rules = panel(paths=paths).digest
        lines = evidence_of(ledger, keep_name, utc_text(now()), rules, settings, with_texts=with_texts)
    finally:
        ledger.close()
    if timestamp:
        _tell("asking for the time stamp")
        lines.append(stamp_line(stamped(settings.timestamp_url, "".join(lines).encode())))
    try:
        disk.write_new(out.absolute(), "".join(lines).encode())
    except FileExistsError:
        raise InvalidRequest("There is something at that path already.", code="file_exists") from None
    except OSError as error:
        raise InvalidRequest("The file cannot be written.", hint=type(error).__name__) from error
    events = len(lines) - 2 - timestamp
    if output == "json":
        print_json({"path": str(out), "events": events, "stamped": timestamp})
    else:
        console().print(f"Evidence of {events:,} events, signed{' and stamped' if timestamp else ''}.")


@click.command("evidence-verify")
@click.argument("file", type=_FILE)
@click.option("--signer", help="The public key that must have signed it; 'truekeep keys status' prints it.")
@click.option("--timestamp-roots", type=_FILE, help="Certificates (PEM) that vouch for its time stamp.")
@click.option("--keep", "keep_name", help="Hold it against the log of this keep, too.")
@click.option("--home", type=click.Path(file_okay=False), envvar="TRUEKEEP_HOME", help="Where that keep is.")
@formatted
def evidence_verify(
    file: Path, signer: str | None, timestamp_roots: Path | None, keep_name: str | None, home: str | None, output: str
) -> None:
    """Check that FILE is as it was signed, that no event is missing in it, and when it was stamped.

    Needs neither the keep nor its keys. Without --signer it says whose key signed it, not whose keep that is.
    """
    from truekeep.signals.evidence import read_evidence, require_same  # noqa: PLC0415 - loads the cryptography

    found = read_evidence(_read(file).decode("ascii", "replace").splitlines(keepends=True), signer=signer)
    at = _stamped_at(found, timestamp_roots)
    if keep_name is not None:
        ledger = _ledger(keep_name, home)
        try:
            require_same(found, ledger)
        finally:
            ledger.close()
    stamp = utc_text(at) if at is not None else "not checked" if found.stamp is not None else "none"
    members = {**found.as_dict(), "signer_checked": signer is not None, "stamped": stamp}
    if output == "json":
        print_json({**members, "compared": keep_name is not None})
    else:
        _print(members, compared=keep_name is not None)


def _ledger(keep_name: str, home: str | None) -> Ledger:
    from truekeep.config import Paths, Settings  # noqa: PLC0415 - loads the store
    from truekeep.keep import now  # noqa: PLC0415
    from truekeep.stores.files import open_ledger  # noqa: PLC0415

    require_keep(keep_name, home)
    paths = Paths.resolve(home)
    return open_ledger(paths, keep_name, now, Settings.load(paths.config))


def _read(path: Path) -> bytes:
    try:
        return disk.read_of_anyone(path, _LARGEST)
    except OSError as error:
        raise InvalidRequest("The file cannot be read.", hint=type(error).__name__) from error


def _stamped_at(found: CheckedEvidence, roots: Path | None) -> datetime | None:
    if roots is None:
        return None
    if found.stamp is None:
        raise InvalidRequest("The evidence has no time stamp.", code="timestamp_missing")
    from truekeep.signals.timestamps import stamped_at  # noqa: PLC0415 - an extra

    return stamped_at(found.stamp, found.signed, _read(roots))


def _tell(what: str) -> None:
    if sys.stderr.isatty():
        click.echo(f"{what} …", err=True)


def _print(found: dict[str, Any], *, compared: bool) -> None:
    out = console()
    out.print(f"Unchanged since it was signed: {found['events']:,} events of the keep {found['keep']}.", style="green")
    if not found["verified"]["ok"]:
        out.print(f"The keep did not verify: {found['verified']['problems']} problems.", style="bold red")
    signer = "the named key" if found["signer_checked"] else f"{found['signed_by']} (compare it, or give --signer)"
    rows = {"made at": found["at"], "signed by": signer, "time stamp": found["stamped"]}
    for name, value in {**rows, "rules": found["rules"], "settings": found["settings"]}.items():
        out.print(f"  {name + ':':12} {value}", soft_wrap=True)
    if compared:
        out.print("Every event of it is in that keep's log.", style="green")
