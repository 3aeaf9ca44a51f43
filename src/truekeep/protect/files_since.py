"""What appeared in instruction files since the baseline, by which commit or owner, and when."""

from __future__ import annotations

import os
import pwd
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from truekeep.protect.baseline import FileChange
from truekeep.protect.files_git import LineOrigin, last_commit, line_origins
from truekeep.protect.files_walk import InstructionFile
from truekeep.trust.fence import one_line

_MOST_NAME = 60


@dataclass(frozen=True, slots=True)
class Appearance:
    """A run of lines that appeared together. ``commit`` is empty for what git does not have; then the file speaks."""

    name: str
    kind: str
    first: int
    last: int
    commit: str
    by: str
    when: str

    def as_dict(self) -> dict[str, Any]:
        """As JSON members."""
        return {
            "file": self.name,
            "kind": self.kind,
            "lines": [self.first, self.last] if self.first else None,
            "commit": self.commit or None,
            "by": self.by,
            "when": self.when,
        }


def appearances(root: Path, changed: Sequence[FileChange], files: Sequence[InstructionFile]) -> Iterator[Appearance]:
    """Each change with where it came from: one entry for each run of lines of one commit."""
    present = {file.name: file for file in files}
    for change in changed:
        if not change.lines:
            gone = change.kind == "removed"
            commit = last_commit(root, change.name) if gone else LineOrigin()
            yield _appearance(root, change, 0, 0, commit)
            continue
        origins = line_origins(root, present[change.name])
        for first, last in _runs(change.lines, origins):
            yield _appearance(root, change, first, last, origins.get(first, LineOrigin()))


def _runs(lines: Sequence[int], origins: dict[int, LineOrigin]) -> Iterator[tuple[int, int]]:
    first = last = lines[0]
    for number in lines[1:]:
        if number <= last + 2 and origins.get(number) == origins.get(first):  # a blank line parts nothing
            last = number
            continue
        yield first, last
        first = last = number
    yield first, last


def _appearance(root: Path, change: FileChange, first: int, last: int, origin: LineOrigin) -> Appearance:
    by, when = (origin.author, origin.when) if origin.commit else _owner(root / change.name)
    return Appearance(change.name, change.kind, first, last, origin.commit, one_line(by)[:_MOST_NAME], when)


def _owner(path: Path) -> tuple[str, str]:
    """Who owns a file and when it was last written. Which process wrote it the file system does not keep."""
    try:
        status = os.lstat(path)
    except OSError:
        return "", ""
    when = datetime.fromtimestamp(status.st_mtime, UTC).isoformat(timespec="seconds")
    try:
        name = pwd.getpwuid(status.st_uid).pw_name
    except KeyError:
        name = ""
    return f"uid {status.st_uid}{f' ({name})' if name else ''}", when


def text_of(found: Sequence[Appearance], made: str) -> str:
    """The changes for people, in 80 columns."""
    if not found:
        return f"Nothing appeared since the baseline of {made}."
    lines = [f"Since the baseline of {made}:"]
    for one in found:
        place = f":{one.first}-{one.last}" if one.first else ""
        lines += ["", f"{one_line(one.name)}{place}  {one.kind}"]
        source = f"commit {one.commit}" if one.commit else "not in a commit"
        told = ", ".join(part for part in (source, one.by, one.when) if part)
        lines += textwrap.wrap(told, 80, initial_indent="  ", subsequent_indent="    ")
    return "\n".join(lines)
