"""The commands of ``truekeep protect`` for instruction files: scan, baseline, diff, quarantine, undo, install-hook."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from truekeep.cli.failure import REFUSED
from truekeep.cli.options import Decorated
from truekeep.cli.output import print_json
from truekeep.errors import InvalidRequest
from truekeep.trust.fence import one_line

if TYPE_CHECKING:
    from truekeep.protect.files_roots import Root
    from truekeep.rules.sarif import Scanned

_home = click.option(
    "--home",
    type=click.Path(file_okay=False),
    envvar="TRUEKEEP_HOME",
    help="Where truekeep's data, keys and settings are. Default: the XDG directories.",
)
_baseline = click.option(
    "--baseline",
    "baseline_file",
    type=click.Path(dir_okay=False),
    help="The baseline's file. Default: in truekeep's data.",
)
_user = click.option("--user", is_flag=True, help="Look at the instruction files and memories in your home directory.")


def _format(*choices: str) -> Callable[[Decorated], Decorated]:
    kind = click.Choice(["text", *choices])
    return click.option("--format", "output", type=kind, default="text", help="How to print it.")


@click.command()
@click.argument("paths", nargs=-1, type=click.Path())
@_user
@click.option("--staged", is_flag=True, help="Look at what git has staged for the next commit, not at the files.")
@click.option("--new", is_flag=True, help="Only what the baseline does not have as accepted.")
@_baseline
@_format("json", "sarif")
@_home
def scan(
    paths: tuple[str, ...],
    user: bool,
    staged: bool,
    new: bool,
    baseline_file: str | None,
    output: str,
    home: str | None,
) -> None:
    """Look for threats in the instruction files (CLAUDE.md, AGENTS.md, …) below PATHS, or here.

    A file that is named is looked at whatever it is called. Exits with 1 if anything was found or a file could not be
    looked at.
    """
    from truekeep.config import Paths  # noqa: PLC0415 - the library is heavier than the help text
    from truekeep.protect import files_report as report  # noqa: PLC0415
    from truekeep.protect.files_roots import chosen, staged_root  # noqa: PLC0415
    from truekeep.protect.files_scan import InstructionScanner  # noqa: PLC0415

    where = Paths.resolve(home)
    if staged and (paths or user):
        raise InvalidRequest("--staged looks at what is staged, and at nothing else.", code="staged_alone")
    roots = [staged_root(Path())] if staged else chosen(paths, user=user)
    scanner = InstructionScanner(where)
    scanned: list[Scanned] = []
    known = 0
    for root in roots:
        items = [scanner.scanned(file) for file in root.files]
        if new:
            items, accepted = _unaccepted(where, root, items, baseline_file)
            known += accepted
        scanned += root.named(items, is_only=len(roots) == 1)
    found = [item for item in scanned if not item.scan.is_clean]
    if output == "text":
        click.echo(report.text_report(found, len(scanned), known))
    else:
        print_json(report.sarif_report(found) if output == "sarif" else report.json_report(found, len(scanned), known))
    if found:
        sys.exit(REFUSED)


def _unaccepted(
    where: Any, root: Root, items: Sequence[Scanned], baseline_file: str | None
) -> tuple[list[Scanned], int]:
    from truekeep.protect import baseline  # noqa: PLC0415 - the library is heavier than the help text
    from truekeep.protect.files_key import protect_key  # noqa: PLC0415

    key = protect_key(where.keys)
    known = baseline.read_baseline(key, _baseline_path(where, root, baseline_file))
    return baseline.unaccepted(key, known, items)


def _baseline_path(where: Any, root: Root, baseline_file: str | None) -> Path:
    from truekeep.protect.baseline import default_path  # noqa: PLC0415 - the library is heavier than the help text

    return Path(baseline_file).absolute() if baseline_file else default_path(where.data, root.path)


def _single_root(path: str, user: bool) -> Root:
    from truekeep.protect.files_roots import whole_root  # noqa: PLC0415 - the library is heavier than the help text

    return whole_root(Path(path), is_home=user)


@click.command()
@click.argument("path", default=".", type=click.Path(exists=True, file_okay=False))
@click.option("--accept-findings", is_flag=True, help="Accept what the scan finds now; look at it first.")
@_user
@_baseline
@_format("json")
@_home
def baseline(
    path: str, accept_findings: bool, user: bool, baseline_file: str | None, output: str, home: str | None
) -> None:
    """Take down the instruction files at PATH as they are, so that 'diff' and 'scan --new' say what appeared since."""
    from datetime import UTC, datetime  # noqa: PLC0415 - the library is heavier than the help text

    from truekeep.config import Paths  # noqa: PLC0415
    from truekeep.protect import baseline as baselines  # noqa: PLC0415
    from truekeep.protect.files_key import protect_key  # noqa: PLC0415
    from truekeep.protect.files_scan import InstructionScanner  # noqa: PLC0415

    where = Paths.resolve(home)
    root = _single_root(path, user)
    scanner = InstructionScanner(where)
    items = [scanner.scanned(file) for file in root.files]
    count = sum(len(item.scan.matches) for item in items)
    unread = sum(item.scan.overrun is not None for item in items)
    target = _baseline_path(where, root, baseline_file)
    is_made = not count or accept_findings
    if is_made:
        key = protect_key(where.keys, create=True)
        made = datetime.now(UTC).isoformat(timespec="seconds")
        baselines.write_baseline(key, target, baselines.taken(key, root.path, root.files, items, made))
    if output == "json":
        told = {"made": is_made, "file": str(target), "files": len(items), "findings": count, "unread": unread}
        print_json(told)
    elif is_made:
        click.echo(f"{len(items)} files taken down, {count} findings accepted, {unread} not readable.")
    else:
        click.echo(f"{count} findings. Look at them with 'truekeep protect scan'; then --accept-findings.")
    if not is_made:
        sys.exit(REFUSED)


@click.command()
@click.argument("path", default=".", type=click.Path(exists=True, file_okay=False))
@_user
@_baseline
@_format("json")
@_home
def diff(path: str, user: bool, baseline_file: str | None, output: str, home: str | None) -> None:
    """Say what appeared in instruction files since the baseline, by which commit or owner, and when.

    Exits with 1 if anything is not as it was.
    """
    from truekeep.config import Paths  # noqa: PLC0415 - the library is heavier than the help text
    from truekeep.protect import baseline as baselines  # noqa: PLC0415
    from truekeep.protect.files_key import protect_key  # noqa: PLC0415
    from truekeep.protect.files_since import appearances, text_of  # noqa: PLC0415

    where = Paths.resolve(home)
    root = _single_root(path, user)
    key = protect_key(where.keys)
    known = baselines.read_baseline(key, _baseline_path(where, root, baseline_file))
    found = list(appearances(root.path, list(baselines.changes(key, known, root.files)), root.files))
    if output == "json":
        print_json({"since": known.made, "changes": [one.as_dict() for one in found]})
    else:
        click.echo(text_of(found, known.made))
    if found:
        sys.exit(REFUSED)


@click.command()
@click.argument("place", metavar="FILE:LINES")
@click.option("--digest", default="", help="The file's SHA-256 as it was looked at; another one is refused.")
@_format("json")
@_home
def quarantine(place: str, digest: str, output: str, home: str | None) -> None:
    """Take the lines of FILE:LINES (CLAUDE.md:12 or CLAUDE.md:12-15) out of a file; 'undo' puts them back.

    The passage is sealed in truekeep's data directory, and a marker line stands in its place.
    """
    from datetime import UTC, datetime  # noqa: PLC0415 - the library is heavier than the help text

    found = re.fullmatch(r"(?s)(.+):([0-9]{1,7})(?:-([0-9]{1,7}))?", place)
    if found is None:
        raise InvalidRequest("Say which lines: FILE:12 or FILE:12-15.", code="which_lines")
    first, last = int(found[2]), int(found[3] or found[2])
    when = datetime.now(UTC).isoformat(timespec="seconds")
    done = _passages(home, create=True).take_out(Path(found[1]), first, last, when, digest)
    if output == "json":
        print_json({"id": done.id, "file": done.file, "lines": [first, last]})
    else:
        click.echo(f"Lines {first} to {last} are out. To put them back: truekeep protect undo {done.id}")


@click.command()
@click.argument("passage_id", metavar="ID", default="")
@click.option("--list", "is_list", is_flag=True, help="List what is out instead.")
@click.option("--anyway", is_flag=True, help="Put it back where its marker is, although the file was changed since.")
@_format("json")
@_home
def undo(passage_id: str, is_list: bool, anyway: bool, output: str, home: str | None) -> None:
    """Put a quarantined passage back into its file."""
    if is_list == bool(passage_id):
        raise InvalidRequest("Name the passage's id, or --list.", code="which_passage")
    passages = _passages(home)
    shown = passages.all() if is_list else [passages.put_back(passage_id, anyway=anyway)]
    members = [{"id": one.id, "file": one.file, "lines": [one.first, one.last], "when": one.when} for one in shown]
    if output == "json":
        print_json(members if is_list else members[0])
    elif is_list:
        for one in shown:
            click.echo(f"{one.id}  {one.when}  {one_line(one.file)}:{one.first}-{one.last}")
    else:
        click.echo(f"The passage is back in {one_line(shown[0].file)}.")


def _passages(home: str | None, *, create: bool = False) -> Any:
    from truekeep.config import Paths  # noqa: PLC0415 - the library is heavier than the help text
    from truekeep.protect.files_key import protect_key  # noqa: PLC0415
    from truekeep.protect.files_quarantine import PassageQuarantine  # noqa: PLC0415

    where = Paths.resolve(home)
    return PassageQuarantine(where.data, protect_key(where.keys, create=create))


@click.command("install-hook")
@click.argument("path", default=".", type=click.Path(exists=True, file_okay=False))
def install_hook(path: str) -> None:
    """Make git look at staged instruction files before each commit of the repository at PATH."""
    from truekeep.protect.files_hook import install_hook as install  # noqa: PLC0415 - starts git

    click.echo(f"Installed {one_line(str(install(Path(path))))}")
