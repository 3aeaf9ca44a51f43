"""Measures, judges and writes the published report.

\b
python -m benchmarks redteam                       everything; hours, and goes on where it was interrupted
python -m benchmarks redteam --steps agmi          only steps with these words in their name
python -m benchmarks redteam report RESULTS.json   the page and the plots once more, without measuring
"""

from __future__ import annotations

from pathlib import Path

import click

from benchmarks.encoders.loading import default_cache
from benchmarks.redteam.report import composed
from benchmarks.redteam.runs import steps as listed
from truekeep.cli.options import common, formatted
from truekeep.cli.redteam import Wish, again, conclude, measured
from truekeep.redteam.results import Bound, bounds

_REPORT = Path(__file__).parents[2] / "docs" / "redteam"
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.group(invoke_without_command=True, help=__doc__)
@click.option("--out", type=_FOLDER, default=_REPORT, help="Write the report here.  [docs/redteam]")
@click.option("--cache", type=_FOLDER, help="Keep fetched models and environments here.")
@click.option("--steps", help="Only steps with these words in their name.")
@click.option("--again", "once_more", is_flag=True, help="Measure what the report has already once more.")
@common
@click.pass_context
def redteam(
    context: click.Context,
    out: Path,
    cache: Path | None,
    steps: str | None,
    once_more: bool,
    home: str | None,
    output: str,
) -> None:
    if context.invoked_subcommand is not None:
        return
    wish = Wish("full", out, steps, once_more, None)
    results, findings = measured(wish, home, listed(cache or default_cache()), claims())
    conclude(results, findings, out, output, composed)


@redteam.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--out", type=_FOLDER, help="Write the page and the tables here.")
@formatted
def report(results: tuple[Path, ...], out: Path | None, output: str) -> None:
    """Show saved results again, of one run or of parts that were run apart."""
    again(results, claims(), out, output, composed)


def claims() -> tuple[Bound, ...]:
    """Those of every installation, and those about what only this run measures."""
    return (*bounds(), *bounds(Path(__file__).with_name("thresholds.toml")))


if __name__ == "__main__":
    redteam(prog_name="python -m benchmarks redteam")
