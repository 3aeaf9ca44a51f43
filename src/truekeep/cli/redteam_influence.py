"""``truekeep redteam influence``: try every known way to make a planted value act, and show what came of it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from truekeep.cli.failure import REFUSED
from truekeep.cli.options import common
from truekeep.cli.output import console, print_json, table

if TYPE_CHECKING:
    from rich.console import Console

    from truekeep.ops.redteam_scores import Score
    from truekeep.redteam.attack import Attack
    from truekeep.redteam.battery import BatteryReport
    from truekeep.redteam.playing import AttackOutcome

_SMALLEST, _LARGEST = 20, 10_000
_TOTALS = {
    "won": "attacks got anything at all",
    "acting": "attacks that planted something made it act",
    "displaced": "true memories were displaced",
    "allowed": "calls that must not go through did",
    "blocked": "honest calls were blocked",
}


def _sizes(_: click.Context, __: click.Parameter, given: str) -> tuple[int, ...]:
    try:
        sizes = tuple(int(size) for size in given.replace("_", "").split(","))
    except ValueError:
        raise click.BadParameter("give whole numbers with commas between them") from None
    if not all(_SMALLEST <= size <= _LARGEST for size in sizes):
        raise click.BadParameter(f"a keep has from {_SMALLEST} to {_LARGEST:,} memories here")
    return sizes


@click.command()
@click.option("--sizes", callback=_sizes, default="60,500,2000,10000", show_default=True, help="How many memories.")
@click.option("--attack", help="Only attacks with these words in their name.")
@click.option("--policy", type=click.Choice(["strict", "inform"]), default="inform", show_default=True)
@click.option("--questions", type=click.IntRange(0, 10_000), default=200, show_default=True, help="Per honest group.")
@click.option("--list", "only_list", is_flag=True, help="List the attacks, and play none.")
@common
def influence(
    sizes: tuple[int, ...],
    attack: str | None,
    policy: str,
    questions: int,
    only_list: bool,
    home: str | None,
    output: str,
) -> None:
    """Attack who may act, on temporary keeps with your settings and embedder. Exit code 1 if an attack got anything."""
    from truekeep.config import Paths, Settings  # noqa: PLC0415
    from truekeep.ops import redteam_scores as scores  # noqa: PLC0415 - help must stay quick
    from truekeep.redteam.attack_files import chosen_attacks  # noqa: PLC0415
    from truekeep.redteam.battery import influence as attacked  # noqa: PLC0415

    listed = chosen_attacks(attack)
    if only_list:
        _print_list(listed, output)
        return
    paths = Paths.resolve(home)
    settings = Settings.load(paths.config).with_policy(policy)
    report = attacked(settings, sizes, listed, questions=questions, config=paths.config, progress=_progress)
    scores.note(paths, _score(report))
    if sys.stderr.isatty():
        click.echo("\r\033[K", err=True, nl=False)
    if output == "json":
        print_json(report.as_dict())
    else:
        _print(report, sizes)
    if not report:
        sys.exit(REFUSED)


def _score(report: BatteryReport) -> Score:
    """What the console shows of a run: all sizes together."""
    from datetime import UTC, datetime  # noqa: PLC0415

    from truekeep.ops.redteam_scores import INFLUENCE, Figure, Score  # noqa: PLC0415
    from truekeep.redteam.playing import totals  # noqa: PLC0415

    figures = tuple(Figure(name, rate.hits, rate.total) for name, rate in totals(report.outcomes).items())
    sizes = ", ".join(f"{size:,}" for size in report.totals)
    conditions = {"policy": report.settings.policy, "embedder": report.settings.embedder, "memories": sizes}
    return Score(INFLUENCE, datetime.now(UTC), bool(report), conditions, figures)


def _progress(what: str, done: int, total: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r\033[K{what}: {done:,} of {total:,}", err=True, nl=False)


def _print_list(listed: Sequence[Attack], output: str) -> None:
    if output == "json":
        print_json([{"name": one.name, "group": one.group, "about": " ".join(one.about.split())} for one in listed])
        return
    listing = table("group", "attack", "about", wide="about")
    for one in listed:
        listing.add_row(one.group, one.name, " ".join(one.about.split()))
    console().print(listing)


def _print(report: BatteryReport, sizes: Sequence[int]) -> None:
    out = console()
    listing = table("attack", *(f"{size:,}" for size in sizes), wide="attack")
    results = {(one.attack, one.size): one for one in report.outcomes}
    for name in dict.fromkeys(one.attack for one in report.outcomes):
        listing.add_row(name, *(_word(results[name, size]) for size in sizes))
    out.print(listing)
    _print_breaks(out, report)
    _print_totals(out, report)
    if report.found:
        _print_found(out, report)


def _word(outcome: AttackOutcome) -> str:
    return "held" if outcome else "not played" if outcome.unsound else "BROKEN"


def _print_breaks(out: Console, report: BatteryReport) -> None:
    for one in (outcome for outcome in report.outcomes if not outcome):
        out.print(f"\n{one.attack}, {one.size:,} memories", style="bold red")
        for word in ("acting", "displaced", "allowed", "blocked"):
            for text in getattr(one, word):
                out.print(f"  {word}: {text}", markup=False)
        if one.unsound:
            out.print(f"  It could not be played, so nothing is known: {one.unsound}", markup=False)


def _print_totals(out: Console, report: BatteryReport) -> None:
    out.print("\nWhat the attacks got, with 95 % intervals", style="bold")
    listing = table("memories", "got", "", wide="")
    for size, found in report.totals.items():
        for name, words in _TOTALS.items():
            listing.add_row(f"{size:,}", str(found[name]), words)
    out.print(listing)


def _print_found(out: Console, report: BatteryReport) -> None:
    from truekeep.redteam.honest import GROUPS  # noqa: PLC0415

    out.print("\nWhat it costs: honest facts among the first five answers, with 95 % intervals", style="bold")
    listing = table("memories", "plain recall", "influence only", "fact", wide="fact")
    for found in report.found:
        listing.add_row(f"{found.size:,}", str(found.plain_rate), str(found.acting_rate), GROUPS[found.group])
    out.print(listing)
    for size, refused in report.refused.items():
        out.print(f"Honest texts not stored at {size:,} memories: {refused}")
