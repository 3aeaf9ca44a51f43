"""What a scan of instruction files found: for people in 80 columns, as JSON, and as SARIF."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

from truekeep import __version__
from truekeep.rules import Match
from truekeep.rules.sarif import Scanned, scan_log
from truekeep.trust.fence import one_line

_WIDTH = 80


def lines_of(item: Scanned, match: Match) -> tuple[int, int]:
    """The first and the last line of a match. A pattern begins with what stands before an order, often a line's end."""
    start, end = match.span
    while start < end and item.text[start].isspace():
        start += 1
    first = item.text.count("\n", 0, start) + item.line
    return first, first + item.text.count("\n", start, max(start, end - 1))


def text_report(found: Sequence[Scanned], looked_at: int, known: int = 0) -> str:
    """The report for people: each finding with its place, what it is, and the command that takes it out."""
    lines: list[str] = []
    for item in found:
        lines.append(one_line(item.name))
        for match in item.scan.matches:
            lines += _finding(item, match)
        if item.scan.overrun:
            lines += _wrapped(f"not clean: {item.scan.overrun}", "  ")
        lines.append("")
    count = sum(len(item.scan.matches) + bool(item.scan.overrun) for item in found)
    accepted = f", {known} accepted in the baseline" if known else ""
    lines.append(f"{_counted(looked_at, 'file')} looked at, {_counted(count, 'finding')}{accepted}.")
    if any(item.scan.matches for item in found):
        lines += ["Take a passage out with: truekeep protect quarantine FILE:LINES"]
    return "\n".join(lines)


def _finding(item: Scanned, match: Match) -> Iterator[str]:
    first, last = lines_of(item, match)
    place = str(first) if first == last else f"{first}-{last}"
    view = "" if match.view == "raw" else f" (in the {match.view} view)"
    yield from _wrapped(f"line {place}: {match.rule.severity.label} {match.rule.id}{view}", "  ")
    yield from _wrapped(one_line(match.rule.title), "    ")
    yield from _wrapped(one_line(match.excerpt), "    ")


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=indent + "  ")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def json_report(found: Sequence[Scanned], looked_at: int, known: int = 0) -> dict[str, Any]:
    """The report for programs; it never contains what the files say."""
    return {"looked_at": looked_at, "accepted": known, "found": [_item(item) for item in found]}


def _item(item: Scanned) -> dict[str, Any]:
    findings = [{**match.as_dict(), "lines": list(lines_of(item, match))} for match in item.scan.matches]
    return {"file": item.name, "sha256": _digest(item.text), "overrun": item.scan.overrun, "findings": findings}


def _digest(text: str) -> str | None:
    """The digest that ``quarantine --digest`` compares; none for a file with bytes that are no text."""
    return None if not text or "\ufffd" in text else sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def sarif_report(found: Sequence[Scanned]) -> dict[str, Any]:
    """The report for code hosts."""
    return scan_log(found, __version__)
