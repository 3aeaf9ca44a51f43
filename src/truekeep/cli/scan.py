"""``truekeep scan``: look for threats in files, directories, JSON lines or standard input."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from truekeep.cli.failure import REFUSED
from truekeep.cli.options import Decorated
from truekeep.cli.output import print_json
from truekeep.errors import InvalidRequest
from truekeep.trust.fence import one_line

if TYPE_CHECKING:
    from truekeep.rules.sarif import Scanned

MAX_BYTES = 50_000_000  # a file is read into memory whole
_TEXT_MEMBERS = ("text", "content", "memory", "input", "message")
_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv"})
_KINDS = ("memory_write", "memory_read", "llm_input", "llm_output", "tool_call", "tool_response", "skill")


@dataclass(frozen=True, slots=True)
class ScannedPiece:
    """One text to scan: the file it is from, the line it starts on, and its fields."""

    name: str
    line: int
    text: str


def scan_options(command: Decorated) -> Decorated:
    """The options of ``scan``."""
    for option in (
        click.option("--home", type=click.Path(file_okay=False), envvar="TRUEKEEP_HOME", help="Where settings are."),
        click.option(
            "--format",
            "output",
            type=click.Choice(["text", "json", "ndjson", "sarif"]),
            default="text",
            help="How to print what was found.",
        ),
        click.option(
            "--kind",
            type=click.Choice(_KINDS),
            metavar="KIND",
            default="memory_write",
            show_default=True,
            help=f"What the text is: {', '.join(_KINDS)}.",
        ),
        click.option(
            "--lane",
            type=click.Choice(["enforce", "alert", "hunt"]),
            default="hunt",
            show_default=True,
            help="Which rules: enforce takes stable ones, alert also those under test, hunt all.",
        ),
        click.option(
            "--rules", "rule_paths", multiple=True, type=click.Path(exists=True), help="Use these rules instead."
        ),
    ):
        command = option(command)
    return command


@click.command()
@click.argument("files", nargs=-1, type=click.Path())
@scan_options
def scan(
    files: tuple[str, ...], rule_paths: tuple[str, ...], lane: Any, kind: str, output: str, home: str | None
) -> None:
    """Scan FILES (text, JSON lines, directories; - or nothing for standard input) for threats.

    Exits with 1 if anything was found or a text could not be scanned to its end.
    """
    from truekeep.rules import Event  # noqa: PLC0415 - the library is heavier than the help text
    from truekeep.rules.sarif import Scanned  # noqa: PLC0415

    _require_files(files)
    engine = _engine(rule_paths, lane, home)
    found = []
    count = 0
    for piece in _progress(pieces(files or ("-",)), output):
        count += 1
        result = engine.scan(Event(kind, {"content": piece.text}))
        if not result.is_clean:
            item = Scanned(piece.name, piece.text, result, piece.line)
            found.append(item)
            if output == "ndjson":
                print_json(as_dict(item), indent=None)
    _print(found, count, output)
    if found:
        sys.exit(REFUSED)


def _engine(rule_paths: tuple[str, ...], lane: Any, home: str | None) -> Any:
    from truekeep.config import Paths  # noqa: PLC0415 - the library is heavier than the help text
    from truekeep.rules import Engine, active, load  # noqa: PLC0415

    paths = Paths.resolve(home)
    loaded = load([Path(path) for path in rule_paths]) if rule_paths else active(paths.config)
    for fault in loaded.errors:
        click.echo(one_line(str(fault)), err=True)
    if not loaded.rules:
        raise InvalidRequest("no usable rules", hint="Run 'truekeep rules lint PATH' to see what is wrong with them.")
    return Engine(loaded.rules, cache_dir=paths.cache / "rules", lane=lane)


def _require_files(files: tuple[str, ...]) -> None:
    """Loading the rules takes a moment; a mistyped name is told before that."""
    if any(name != "-" and not Path(name).exists() for name in files):
        raise InvalidRequest("There is no such file or directory.", hint="Use - for standard input.")


def pieces(files: tuple[str, ...]) -> Iterator[ScannedPiece]:
    """Every text in ``files``, line by line for JSON lines."""
    for name in files:
        if name == "-":
            yield from _of_text("stdin", sys.stdin.buffer.read(MAX_BYTES + 1), lines=False)
            continue
        path = Path(name)
        for file in _walk(path) if path.is_dir() else (path,):
            with file.open("rb") as handle:
                data = handle.read(MAX_BYTES + 1)
            yield from _of_text(str(file), data, lines=file.suffix.lower() in (".jsonl", ".ndjson"))


def _walk(directory: Path) -> Iterator[Path]:
    for entry in sorted(directory.iterdir()):
        if entry.is_symlink() or entry.name in _SKIPPED:
            continue
        if entry.is_dir():
            yield from _walk(entry)
        elif entry.is_file():
            yield entry


def _of_text(name: str, data: bytes, *, lines: bool) -> Iterator[ScannedPiece]:
    if len(data) > MAX_BYTES:
        raise InvalidRequest(
            f"a file is larger than {MAX_BYTES:,} bytes", hint="Split it; nothing is cut off silently."
        )
    # Bytes that are no text cannot hide an instruction from a reader; what is readable around them is scanned.
    text = data.decode("utf-8", errors="replace")
    if not lines:
        if text.strip():
            yield ScannedPiece(name, 1, text)
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            yield ScannedPiece(name, number, "\n".join(_members(line)))


def _members(line: str) -> list[str]:
    """The texts of one JSON line: its usual members, or every string in it; a line that is not JSON stands as it is."""
    try:
        value = json.loads(line)
    except ValueError:
        return [line]
    if isinstance(value, dict):
        usual = [value[key] for key in _TEXT_MEMBERS if isinstance(value.get(key), str)]
        if usual:
            return usual
    return list(_strings(value)) or [line]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _progress(found: Iterator[ScannedPiece], output: str) -> Iterator[ScannedPiece]:
    """A bar on standard error, on a terminal only."""
    if output == "ndjson" or not sys.stderr.isatty():
        yield from found
        return
    from rich.console import Console  # noqa: PLC0415 - only on a terminal
    from rich.progress import track  # noqa: PLC0415

    yield from track(list(found), "Scanning", console=Console(stderr=True), transient=True)


def as_dict(item: Scanned) -> dict[str, Any]:
    """One scanned text with findings as JSON members; it never contains the text itself."""
    return {
        "file": item.name,
        "line": item.line,
        "overrun": item.scan.overrun,
        "matches": [match.as_dict() for match in item.scan.matches],
    }


def _print(found: list[Any], count: int, output: str) -> None:
    if output == "json":
        print_json({"scanned": count, "found": [as_dict(item) for item in found]})
    elif output == "sarif":
        from truekeep import __version__  # noqa: PLC0415 - only for this format
        from truekeep.rules.sarif import scan_log  # noqa: PLC0415

        print_json(scan_log(found, __version__))
    elif output == "text":
        for item in found:
            _print_item(item)
        click.echo(f"{count} scanned, {len(found)} with findings", err=True)


def _print_item(item: Any) -> None:
    """Findings for people. Whoever wrote what is scanned also chose the file's name, and may have put lines into it."""
    name = one_line(item.name)
    for match in item.scan.matches:
        line = item.line + item.text[: match.span[0]].count("\n")
        severity = click.style(match.rule.severity.label, fg="red" if match.rule.severity >= 3 else "yellow")
        view = "" if match.view == "raw" else f" (in the {match.view} view)"
        rule = f"{match.rule.id} {one_line(match.rule.title)}"
        click.echo(f"{name}:{line}: {severity} {rule}{view}: {one_line(match.excerpt)}")
    if item.scan.overrun:
        click.echo(f"{name}:{item.line}: not scanned to the end: {item.scan.overrun}")
