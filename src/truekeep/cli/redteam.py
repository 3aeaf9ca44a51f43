"""``truekeep redteam``: attack the defences and measure them on your own texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from truekeep.cli.options import common
from truekeep.cli.output import console, print_json, table
from truekeep.cli.redteam_influence import influence
from truekeep.cli.redteam_run import Wish, report, whole

if TYPE_CHECKING:
    from truekeep.ops.redteam_scores import Score
    from truekeep.redteam.screen import Share

_FOLDER = click.Path(file_okay=False, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_REPORT = Path("redteam-report")


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

    A run judges the claims of a file of thresholds; exit code 1 if one does not hold. A full run that was interrupted
    goes on where it was.
    """
    if context.invoked_subcommand is not None:
        return
    if profile is None:
        click.echo(context.get_help())
        return
    whole(Wish(profile, out or (_REPORT if profile == "full" else None), steps, again, thresholds), home, output)


redteam.add_command(influence)
redteam.add_command(report)


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
    figures = tuple(Figure(side, share.held, share.total) for side, share in overall.items())
    attacks = overall.get("attack")
    is_held = attacks is not None and attacks.held == attacks.total
    return Score(SCREEN, datetime.now(UTC), is_held, conditions, figures)


def _print(shares: Sequence[Share]) -> None:
    listing = table("texts", "", "not accepted", "share", "95 % interval", wide="")
    before = ""
    for share in shares:
        low, high = share.interval
        rate = share.held / share.total
        counts = f"{share.held} of {share.total}"
        group = share.group if share.group != before else ""
        listing.add_row(group, share.name, counts, f"{rate:.1%}", f"{low:.1%} to {high:.1%}")
        before = share.group
    console().print(listing)
    console().print("Not accepted is caught for attacks and a false alarm for honest texts.")
