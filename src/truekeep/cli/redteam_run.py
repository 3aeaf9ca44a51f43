"""``truekeep redteam --quick`` and ``--full``: the whole measurement, its claims and its report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from truekeep.cli.failure import REFUSED
from truekeep.cli.options import formatted
from truekeep.cli.output import console, print_json, table

if TYPE_CHECKING:
    from truekeep.redteam.bounds import Finding
    from truekeep.redteam.results import Results

RESULTS = "results.json"


@dataclass(frozen=True, slots=True)
class Wish:
    """What the options ask for."""

    profile: str
    out: Path | None
    cache: Path | None
    steps: str | None
    again: bool
    thresholds: Path | None


def whole(wish: Wish, home: str | None, output: str) -> None:
    """Measure, judge, write and show. Exit code 1 if a claim does not hold."""
    from truekeep.config import Paths, Settings  # noqa: PLC0415 - help must stay quick
    from truekeep.redteam.bounds import bounds, judge  # noqa: PLC0415
    from truekeep.redteam.profiles import steps  # noqa: PLC0415
    from truekeep.redteam.results import Results  # noqa: PLC0415
    from truekeep.redteam.running import Ground, carry_out  # noqa: PLC0415

    against = bounds(wish.thresholds)
    paths = Paths.resolve(home)
    settings = Settings.load(paths.config)
    saved = _place(wish.out)
    begun = Results.begun(wish.profile, {"embedder": settings.embedder, "policy": settings.policy})
    results = Results.load(saved) if saved is not None and saved.exists() else begun
    ground = Ground(settings, paths.config, wish.cache or paths.cache / "redteam", _progress)
    carry_out(steps(wish.profile, wish.steps), ground, results, saved=saved, again=wish.again)
    _clear()
    findings = judge(results, wish.profile, against)
    # Whoever chooses steps wants to know about these, and not that the others were not measured.
    asked = [finding for finding in findings if finding.total or not wish.steps]
    _conclude(results, asked, wish.out, output)


@click.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Write the page and the tables here.")
@click.option("--thresholds", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Claims of your own.")
@formatted
def report(results: tuple[Path, ...], out: Path | None, thresholds: Path | None, output: str) -> None:
    """Show saved results again, of one run or of parts that were run apart. Exit code 1 if a claim does not hold."""
    from truekeep.redteam.bounds import bounds, judge  # noqa: PLC0415 - help must stay quick
    from truekeep.redteam.results import Results, merged  # noqa: PLC0415

    loaded = merged([Results.load(path) for path in results])
    findings = judge(loaded, str(loaded.conditions.get("profile", "full")), bounds(thresholds))
    if (saved := _place(out)) is not None:
        loaded.save(saved)
    _conclude(loaded, findings, out, output)


def _place(out: Path | None) -> Path | None:
    """Where the results are kept, if they are."""
    if out is None:
        return None
    out.mkdir(parents=True, exist_ok=True)
    return out / RESULTS


def _conclude(results: Results, findings: Sequence[Finding], out: Path | None, output: str) -> None:
    show(results, findings, output)
    if out is not None:
        write(results, findings, out)
    if not all(finding.is_met for finding in findings):
        sys.exit(REFUSED)


def write(results: Results, findings: Sequence[Finding], out: Path) -> None:
    """The page for a security team, and the same as Markdown with its plots."""
    from truekeep.redteam.report import html, markdown  # noqa: PLC0415 - help must stay quick
    from truekeep.redteam.report.compose import compose  # noqa: PLC0415

    document = compose(results, findings)
    (out / "report.html").write_text(html.page(document), encoding="utf-8")
    markdown.write(document, out, "README.md")
    click.echo(f"Written to {out}: report.html, README.md and {RESULTS}.", err=True)


def show(results: Results, findings: Sequence[Finding], output: str) -> None:
    """The claims and the figures on the terminal, or everything as JSON."""
    if output == "json":
        claims = [
            {"claim": one.bound.claim, "met": one.is_met, "found": one.sentence, "hits": one.hits, "total": one.total}
            for one in findings
        ]
        print_json({**results.as_dict(), "claims": claims})
        return
    out = console()
    listing = table("", "claim", "found", wide="claim")
    for one in findings:
        listing.add_row(one.state, one.bound.claim, one.sentence)
    out.print(listing)
    out.print(f"{sum(one.is_met for one in findings)} of {len(findings)} claims hold.", style="bold")
    for step, reason in results.left_out.items():
        out.print(f"Left out: {step}: {reason}", markup=False)


def _progress(what: str, done: int, total: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r\033[K{what}: {done:,} of {total:,}", err=True, nl=False)
    elif what.startswith("step "):  # a log has no line to write over, and a run may take hours
        click.echo(f"{what} ({done:,} of {total:,})", err=True)


def _clear() -> None:
    if sys.stderr.isatty():
        click.echo("\r\033[K", err=True, nl=False)
