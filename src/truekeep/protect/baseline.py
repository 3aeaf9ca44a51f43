"""The baseline of instruction files: what they were when somebody had looked at them, and what appeared since.

It holds keyed digests of lines and of accepted findings, no text, under a MAC whose key lies in the key directory. So
whoever writes the repository cannot add to what was accepted, even if the baseline lies in the repository.
"""

from __future__ import annotations

import hmac
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from truekeep import disk
from truekeep.errors import InvalidRequest, StoreReadOnly, StoreTampered
from truekeep.protect.files_key import ProtectKey
from truekeep.protect.files_report import lines_of
from truekeep.protect.files_walk import InstructionFile
from truekeep.rules import Match, Scan
from truekeep.rules.sarif import Scanned

_FORMAT = "protect-baseline"
_VERSION = 1
_MOST_BYTES = 100_000_000
_PURPOSE = "baseline"


@dataclass(frozen=True, slots=True)
class Baseline:
    """The state of each file as digests of its lines, and the findings that were accepted."""

    root: str
    made: str
    files: Mapping[str, tuple[str, ...]]
    accepted: frozenset[str]


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file that is not as it was; ``lines`` are the numbers of those that appeared."""

    name: str
    kind: str
    lines: tuple[int, ...] = ()


def default_path(data: Path, root: Path) -> Path:
    """Where the baseline of a root is kept if no other place is named: outside the repository."""
    return data / "protect" / "baselines" / f"{blake2b(str(root).encode(), digest_size=16).hexdigest()}.json"


def taken(
    key: ProtectKey, root: Path, files: Sequence[InstructionFile], scanned: Sequence[Scanned], made: str
) -> Baseline:
    """The baseline of these files as they are, with what was found in them accepted."""
    states = {file.name: _line_digests(key, file) for file in files if not file.unread}
    accepted = {fingerprint(key, item, match) for item in scanned for match in item.scan.matches}
    return Baseline(str(root), made, states, frozenset(accepted))


def unaccepted(key: ProtectKey, baseline: Baseline, scanned: Sequence[Scanned]) -> tuple[list[Scanned], int]:
    """What was found and not accepted, and how many findings were. What could not be looked at is never accepted."""
    left, known = [], 0
    for item in scanned:
        matches = [match for match in item.scan.matches if fingerprint(key, item, match) not in baseline.accepted]
        known += len(item.scan.matches) - len(matches)
        left.append(replace(item, scan=Scan(tuple(matches), item.scan.overrun)))
    return left, known


def fingerprint(key: ProtectKey, item: Scanned, match: Match) -> str:
    """A finding by its file, its rule and the lines it stands in; the lines' place does not matter, their text does."""
    first, last = lines_of(item, match)
    passage = item.text.split("\n")[first - item.line : last - item.line + 1]
    content = json.dumps([item.name, match.rule.id, [line.strip() for line in passage]])
    return key.mac("finding", content.encode("utf-8", "surrogatepass"))[:32]


def changes(key: ProtectKey, baseline: Baseline, files: Sequence[InstructionFile]) -> Iterator[FileChange]:
    """What is not as it was, by path. Lines that only moved are no new lines, but the file is changed."""
    present = {file.name: file for file in files}
    for name in sorted(set(baseline.files) | set(present)):
        file = present.get(name)
        if file is None:
            yield FileChange(name, "removed")
        elif file.unread:
            yield FileChange(name, "unread")
        elif name not in baseline.files:
            yield FileChange(name, "added", tuple(_appeared((), _line_digests(key, file))))
        elif (now := _line_digests(key, file)) != baseline.files[name]:
            yield FileChange(name, "changed", tuple(_appeared(baseline.files[name], now)))


def _appeared(before: Sequence[str], now: Sequence[str]) -> Iterator[int]:
    left = Counter(before)
    for number, digest in enumerate(now, start=1):
        if digest and not left[digest]:
            yield number
        left[digest] -= 1


def _line_digests(key: ProtectKey, file: InstructionFile) -> tuple[str, ...]:
    """A digest for each line, none for a blank one. Keyed: a line that can be guessed is not to be confirmed by it."""
    secret = key.derived("line")
    return tuple(
        blake2b(line, key=secret, digest_size=12).hexdigest() if line.strip() else ""
        for line in file.content.split(b"\n")
    )


def write_baseline(key: ProtectKey, path: Path, baseline: Baseline) -> None:
    """Put the baseline in its place, as a whole."""
    body = {
        "truekeep": _FORMAT,
        "version": _VERSION,
        "root": baseline.root,
        "made": baseline.made,
        "files": {name: list(lines) for name, lines in sorted(baseline.files.items())},
        "accepted": sorted(baseline.accepted),
    }
    try:
        if not path.parent.exists():
            disk.make_directory(path.parent)
        disk.replace(path, json.dumps({**body, "mac": key.mac(_PURPOSE, _canonical(body))}, indent=1).encode() + b"\n")
    except OSError as error:
        raise StoreReadOnly(
            "The baseline cannot be written there.", hint=f"Choose another place: {type(error).__name__}."
        ) from None


def read_baseline(key: ProtectKey, path: Path) -> Baseline:
    """The baseline at a path. One that this key did not make is refused, whatever it says."""
    try:
        body = json.loads(disk.read_of_anyone(path, _MOST_BYTES))
    except FileNotFoundError:
        raise InvalidRequest(
            "There is no baseline for this place.", code="no_baseline", hint="Make one: truekeep protect baseline"
        ) from None
    except (OSError, ValueError, RecursionError):
        raise _forged() from None
    mac = body.pop("mac", None) if isinstance(body, dict) else None
    if not isinstance(mac, str) or not hmac.compare_digest(mac.encode(), key.mac(_PURPOSE, _canonical(body)).encode()):
        raise _forged()
    if body.get("truekeep") != _FORMAT or body.get("version") != _VERSION:
        raise _forged()
    files = {name: tuple(lines) for name, lines in body["files"].items()}
    return Baseline(body["root"], body["made"], files, frozenset(body["accepted"]))


def _canonical(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, sort_keys=True, separators=(",", ":")).encode()


def _forged() -> StoreTampered:
    return StoreTampered(
        "The baseline was not made with this key, or was altered since.",
        code="baseline_forged",
        hint="Look at the files and make a new baseline: truekeep protect baseline",
    )
