"""Measures every set that can be had, and writes the page.

\b
python -m benchmarks grounds                                   all of them
python -m benchmarks grounds PoisonedRAG --from PoisonedRAG=~/clones/PoisonedRAG

Rows are kept beside the environments under a name that changes with the code, so a run that was stopped goes on. A run
of all sets writes the tables of ``docs/benchmarks/grounds.md``.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from benchmarks.grounds import (
    agent_threat_bench,
    agentpoison,
    beam,
    codeipi,
    ghostwriter,
    memevobench,
    memmorph,
    memorygraft,
    memshield_bench,
    persistbench,
    poisonedrag,
)
from benchmarks.grounds.fetched import Files, Ground
from benchmarks.grounds.pages import METRICS, write_tables
from benchmarks.grounds.planting import PART, encoder
from benchmarks.harness import fingerprint
from truekeep.redteam.figures import CannotRun, ResultRow

_FOLDER = click.Path(file_okay=False, path_type=Path)
CACHE = Path(tempfile.gettempdir()) / "truekeep-benchmarks"


@dataclass(frozen=True)
class Measured:
    """A set, and what measures it."""

    ground: Ground
    rows: Callable[[Files], Iterator[ResultRow]]


SETS = tuple(
    Measured(module.GROUND, module.measured)
    for module in (
        memshield_bench,
        memevobench,
        agentpoison,
        poisonedrag,
        memorygraft,
        memmorph,
        ghostwriter,
        agent_threat_bench,
        codeipi,
        persistbench,
        beam,
    )
)


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--from", "given", multiple=True, metavar="SET=PATH", help="Where a clone of a set's repository is.")
@click.option("--cache", type=_FOLDER, default=CACHE, help="Keep what is fetched here.")
@click.option("--kept", is_flag=True, help="Measure nothing: the page from what was kept last of every set.")
def grounds(names: tuple[str, ...], given: tuple[str, ...], cache: Path, kept: bool) -> None:
    paths = {name: Path(path).expanduser() for name, _, path in (one.partition("=") for one in given)}
    known = [one.ground.name for one in SETS]
    if unknown := [name for name in (*names, *paths) if name not in known]:
        raise click.BadParameter(f"no such set: {', '.join(unknown)}; there are {', '.join(known)}")
    chosen = [one for one in SETS if not names or one.ground.name in names]
    rows = [row for one in chosen for row in (last_kept(one, cache) if kept else had(one, paths, cache))]
    Console().print(_table(rows))
    if not names:
        write_tables(rows)
    raise SystemExit(int(any(row.metric in ("acting", "executed") and row.hits for row in rows)))


def had(one: Measured, given: Mapping[str, Path], cache: Path) -> list[ResultRow]:
    """Its rows; one that says why if it cannot be had."""
    try:
        return kept_or_measured(one, given, cache)
    except CannotRun as reason:
        note = f"left out: {reason}"
        return [ResultRow(part=PART, metric="acting", hits=0, total=0, attack=one.ground.name, note=note)]


def kept_or_measured(one: Measured, given: Mapping[str, Path], cache: Path) -> list[ResultRow]:
    """Its rows; raises ``CannotRun``."""
    name = one.ground.name
    kept = cache / "grounds" / f"{name}-{fingerprint(Path(__file__).parent)}-{encoder()}.jsonl"
    if kept.is_file():
        return _read(kept)
    click.echo(f"measuring {name} …", err=True)
    rows = list(one.rows(one.ground.opened(given, cache)))
    kept.parent.mkdir(parents=True, exist_ok=True)
    taken = [replace(row, detail={**row.detail, "commit": _commit()}) for row in rows]
    kept.write_text("".join(json.dumps(row.as_dict()) + "\n" for row in taken), encoding="utf-8")
    return taken


def last_kept(one: Measured, cache: Path) -> list[ResultRow]:
    """What was measured of it last, at whichever commit; one row that says so if nothing was."""
    found = sorted((cache / "grounds").glob(f"{one.ground.name}-*.jsonl"), key=lambda path: path.stat().st_mtime)
    if not found:
        note = "left out: not measured"
        return [ResultRow(part=PART, metric="acting", hits=0, total=0, attack=one.ground.name, note=note)]
    return _read(found[-1])


def _read(kept: Path) -> list[ResultRow]:
    return [ResultRow.from_dict(json.loads(line)) for line in kept.read_text("utf-8").splitlines()]


def _commit() -> str:
    """The commit that is measured, as far as git knows."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty=+"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _table(rows: Sequence[ResultRow]) -> Table:
    shown = Table("set", "conditions", "figure", "measured")
    for row in rows:
        shown.add_row(row.attack, row.note, METRICS.get(row.metric, row.metric), str(row.rate) if row.total else "-")
    return shown
