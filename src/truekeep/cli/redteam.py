"""``truekeep redteam``: attack the defences and measure them on your own texts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from truekeep.cli.failure import REFUSED, USAGE
from truekeep.cli.options import common, formatted
from truekeep.cli.output import console, print_json, table
from truekeep.cli.redteam_influence import influence

if TYPE_CHECKING:
    from truekeep.ops.redteam_scores import Score
    from truekeep.redteam.report_pages import Document
    from truekeep.redteam.results import Bound, ClaimFinding, Measurement, Results
    from truekeep.redteam.screen import Share

    Composed = Callable[[Results, Sequence[ClaimFinding]], Document]

_FOLDER = click.Path(file_okay=False, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_REPORT = Path("redteam-report")
RESULTS = "results.json"


@dataclass(frozen=True, slots=True)
class Wish:
    """What the options ask for."""

    profile: str
    out: Path | None
    steps: str | None
    again: bool
    thresholds: Path | None


@click.group(invoke_without_command=True)
@click.option("--quick", "profile", flag_value="quick", help="All in small on your settings and embedder, in a minute.")
@click.option("--full", "profile", flag_value="full", help="Every size and every attack; hours.")
@click.option("--out", type=_FOLDER, help="Write the report here.  [--full: redteam-report]")
@click.option("--steps", help="Only steps with these words in their name.")
@click.option("--again", is_flag=True, help="Measure what the report has already once more.")
@click.option("--thresholds", type=_FILE, help="A file with claims of your own.")
@common
@click.pass_context
def redteam(
    context: click.Context,
    profile: str | None,
    out: Path | None,
    steps: str | None,
    again: bool,
    thresholds: Path | None,
    home: str | None,
    output: str,
) -> None:
    """Attack the defences and measure them: all together, or one part on your own texts.

    A run judges the claims of a file of thresholds; exit code 1 if one does not hold, 2 if none is refuted but
    some were not measured, as without an extra. A full run that was interrupted
    goes on where it was.
    """
    if context.invoked_subcommand is not None:
        return
    if profile is None:
        click.echo(context.get_help())
        return
    whole(Wish(profile, out or (_REPORT if profile == "full" else None), steps, again, thresholds), home, output)


redteam.add_command(influence)


@redteam.command()
@click.option(
    "--data",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON lines with 'text' and 'label' (attack or benign) or 'tier'; 'source' and 'lang' if known.",
)
@click.option(
    "--standing",
    type=click.Choice(["owner", "enrolled", "hearsay"]),
    default="owner",
    show_default=True,
    help="Whose channel the texts come over.",
)
@click.option("--policy", type=click.Choice(["strict", "inform"]), default="strict", show_default=True)
@common
def screen(data: Path, standing: str, policy: str, home: str | None, output: str) -> None:
    """Measure the screens: what they hold back of attacks and of honest texts, with 95 % intervals."""
    from truekeep.config import Paths  # noqa: PLC0415
    from truekeep.ops import redteam_scores as scores  # noqa: PLC0415 - help must stay quick
    from truekeep.redteam.screen import measure, read_rows  # noqa: PLC0415
    from truekeep.screens.standard import panel  # noqa: PLC0415
    from truekeep.types import Standing  # noqa: PLC0415

    paths = Paths.resolve(home)
    shares = measure(read_rows(data), panel(paths=paths), Standing[standing.upper()], policy)
    scores.note(paths, _score(shares, {"standing": standing, "policy": policy}))
    if output == "json":
        print_json([share.as_dict() for share in shares])
    else:
        _print(shares)


def _score(shares: Sequence[Share], conditions: dict[str, str]) -> Score:
    """What the console shows of a run."""
    from datetime import UTC, datetime  # noqa: PLC0415

    from truekeep.ops.redteam_scores import SCREEN, Figure, Score  # noqa: PLC0415

    overall = {share.group: share for share in shares if share.name == "all"}
    figures = tuple(Figure(side, share.not_accepted, share.total) for side, share in overall.items())
    attacks = overall.get("attack")
    is_held = attacks is not None and attacks.not_accepted == attacks.total
    return Score(SCREEN, datetime.now(UTC), is_held, conditions, figures)


def _print(shares: Sequence[Share]) -> None:
    listing = table("texts", "", "rows", "rejected", "held", "not accepted", "95 % interval", wide="")
    before = ""
    for share in shares:
        low, high = share.interval
        counts = (str(share.total), str(share.rejected), str(share.held))
        rate = share.not_accepted / share.total
        group = share.group if share.group != before else ""
        listing.add_row(group, share.name, *counts, f"{rate:.1%}", f"{low:.1%} to {high:.1%}")
        before = share.group
    console().print(listing)
    console().print(
        "Rejected is lost, held waits for a person. Not accepted is caught among attacks, a false alarm among honest."
    )


def whole(wish: Wish, home: str | None, output: str) -> None:
    """Measure, judge, write and show. Exit code 1 if a claim does not hold."""
    from truekeep.redteam.report import compose  # noqa: PLC0415
    from truekeep.redteam.results import bounds  # noqa: PLC0415 - help must stay quick
    from truekeep.redteam.runs import steps  # noqa: PLC0415

    against = bounds(wish.thresholds)
    results, findings = measured(wish, home, steps(wish.profile), against)
    conclude(results, findings, wish.out, output, compose)


def measured(
    wish: Wish, home: str | None, listed: Sequence[Measurement], against: Sequence[Bound]
) -> tuple[Results, list[ClaimFinding]]:
    """Take those of the measurements that were asked for, and judge them."""
    from truekeep.config import Paths, Settings  # noqa: PLC0415 - help must stay quick
    from truekeep.redteam.results import (  # noqa: PLC0415
        Installation,
        Results,
        carry_out,
        judge,
    )
    from truekeep.redteam.runs import chosen  # noqa: PLC0415

    paths = Paths.resolve(home)
    settings = Settings.load(paths.config)
    saved = _place(wish.out)
    begun = Results.begun(wish.profile, {"embedder": settings.embedder, "policy": settings.policy})
    results = Results.load(saved) if saved is not None and saved.exists() else begun
    installation = Installation(settings, paths.config, _progress)
    carry_out(chosen(listed, wish.steps), installation, results, saved=saved, again=wish.again)
    _clear()
    # Whoever chooses steps wants to know about these, and not that the others were not measured.
    return results, [one for one in judge(results, wish.profile, against) if one.total or not wish.steps]


@redteam.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Write the page and the tables here.")
@click.option("--thresholds", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Claims of your own.")
@formatted
def report(results: tuple[Path, ...], out: Path | None, thresholds: Path | None, output: str) -> None:
    """Show saved results again, of one run or of parts that were run apart. Exit code 1 if a claim does not hold."""
    from truekeep.redteam.report import compose  # noqa: PLC0415
    from truekeep.redteam.results import bounds  # noqa: PLC0415 - help must stay quick

    again(results, bounds(thresholds), out, output, compose)


def again(files: Sequence[Path], against: Sequence[Bound], out: Path | None, output: str, composed: Composed) -> None:
    """Judge, write and show results that were saved before."""
    from truekeep.redteam.results import (  # noqa: PLC0415
        Results,
        judge,
        merged,
    )

    loaded = merged([Results.load(path) for path in files])
    findings = judge(loaded, str(loaded.conditions.get("profile", "full")), against)
    if (saved := _place(out)) is not None:
        loaded.save(saved)
    conclude(loaded, findings, out, output, composed)


def _place(out: Path | None) -> Path | None:
    """Where the results are kept, if they are."""
    if out is None:
        return None
    out.mkdir(parents=True, exist_ok=True)
    return out / RESULTS


def conclude(
    results: Results, findings: Sequence[ClaimFinding], out: Path | None, output: str, composed: Composed
) -> None:
    """Show and write what came of it. Exit code 1 if a claim does not hold, 2 if one could not be measured."""
    show(results, findings, output)
    if out is not None:
        _write(composed(results, findings), out)
    if any(finding.is_measured and not finding.is_met for finding in findings):
        sys.exit(REFUSED)
    if not all(finding.is_measured for finding in findings):
        # As everywhere when an extra is missing. Zero would tell a pipeline that all is well.
        sys.exit(USAGE)


def _write(document: Document, out: Path) -> None:
    """The page, the Markdown and the plots; the results are there already."""
    from truekeep.redteam.report_pages import html_page, write_markdown  # noqa: PLC0415

    (out / "report.html").write_text(html_page(document), encoding="utf-8")
    write_markdown(document, out, "README.md")
    click.echo(f"Written to {out}: report.html, README.md and {RESULTS}.", err=True)


def show(results: Results, findings: Sequence[ClaimFinding], output: str) -> None:
    """The claims and the figures on the terminal, or everything as JSON."""
    from truekeep.redteam.results import tally  # noqa: PLC0415 - help must stay quick

    if output == "json":
        claims = [
            {
                "claim": one.bound.claim,
                "met": one.is_met,
                "state": one.state,
                "found": one.sentence,
                "hits": one.hits,
                "total": one.total,
            }
            for one in findings
        ]
        print_json({**results.as_dict(), "claims": claims})
        return
    out = console()
    listing = table("", "claim", "found", wide="claim")
    for one in findings:
        listing.add_row(one.state, one.bound.claim, one.sentence)
    out.print(listing)
    out.print(tally(findings), style="bold")
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
