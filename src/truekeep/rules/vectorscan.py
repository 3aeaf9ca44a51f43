"""Which patterns could match a text at all: all of them at once, by Hyperscan (Vectorscan), with a cached database.

Patterns are compiled over one byte a character (see ``alphabet.to_bytes``) in a form that is never narrower than
the original; what the compiler refuses is always a candidate. Compiling thousands of patterns takes most of a
minute, loading the result a tenth of a second, so the database is kept under the hash of what went into it.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from truekeep.rules.model import PatternSpec
from truekeep.rules.pattern import compile_spec, emit
from truekeep.rules.pattern.alphabet import to_bytes
from truekeep.rules.pattern.measure import can_be_empty
from truekeep.rules.pattern.syntax import Group, Look, Node
from truekeep.rules.pattern.syntax import Sequence as Row

_FORMAT = b"truekeep prefilter 6\n"
Compiled = tuple[Any, list[int], list[int]]
"""The database, the patterns it cannot hold, and those that have to see a whole text."""


class VectorscanPrefilter:
    """A Hyperscan database of every pattern, and the few that it cannot hold."""

    name = "hyperscan"

    def __init__(self, specs: Sequence[PatternSpec], cache_dir: Path | None, stored: Compiled | None = None) -> None:
        self._database, self._always, self.far = stored or _cached(specs, cache_dir)
        self._local = threading.local()

    @classmethod
    def from_cache(cls, specs: Sequence[PatternSpec], cache_dir: Path | None) -> VectorscanPrefilter | None:
        """The prefilter if its database was compiled before; ``None`` otherwise."""
        stored = _read(_file(specs, cache_dir)) if cache_dir is not None else None
        return cls(specs, cache_dir, stored) if stored is not None else None

    def candidates(self, text: str) -> Collection[int]:
        """The numbers of the patterns that could match ``text``."""
        found = self._always.copy()
        if self._database is not None:
            self._database.scan(to_bytes(text), self._note, context=found, scratch=self._scratch())
        return found

    @staticmethod
    def _note(number: int, _start: int, _end: int, _flags: int, found: list[int]) -> None:
        found.append(number)

    def _scratch(self) -> Any:
        # Scratch space is what makes a scan unsafe to share; each thread has its own.
        scratch = getattr(self._local, "scratch", None)
        if scratch is None:
            import hyperscan  # noqa: PLC0415  # optional on some platforms

            scratch = self._local.scratch = hyperscan.Scratch(self._database)
        return scratch


def available() -> bool:
    """Whether Hyperscan can be imported here."""
    try:
        import hyperscan  # noqa: F401, PLC0415  # optional on some platforms
    except ImportError:
        return False
    return True


def expression(spec: PatternSpec) -> str | None:
    """``spec`` as the prefilter sees it, or ``None`` if nothing useful is left of it."""
    pattern = compile_spec(spec)
    for node in (pattern.node, *_looks(pattern.node)):
        text = "" if can_be_empty(node) else emit.wide(node, pattern.groups)
        if text:
            return text
    return None


def _looks(node: Node) -> list[Node]:
    """Bodies of look-arounds that every match needs: if nothing else is left of a pattern, one of them will do."""
    if isinstance(node, Group):
        return _looks(node.part)
    if isinstance(node, Row):
        return [body for part in node.parts for body in _looks(part)]
    if isinstance(node, Look) and not node.negated:
        return [node.part]
    return []


def _file(specs: Sequence[PatternSpec], cache_dir: Path) -> Path:
    """Where the database of ``specs`` is kept: under the hash of everything that goes into it."""
    import hyperscan  # noqa: PLC0415  # optional on some platforms

    described = json.dumps([[spec.source, spec.operator, spec.ignore_case] for spec in specs]).encode()
    engine = f"{hyperscan.__version__}\n".encode() if hasattr(hyperscan, "__version__") else b"\n"
    key = hashlib.sha256(_FORMAT + engine + described).hexdigest()
    return cache_dir / f"{key}.db"


def _cached(specs: Sequence[PatternSpec], cache_dir: Path | None) -> Compiled:
    file = _file(specs, cache_dir) if cache_dir is not None else None
    stored = _read(file) if file is not None else None
    if stored is not None:
        return stored
    compiled = _compile(specs)
    if file is not None:
        _write(file, compiled)
    return compiled


def _compile(specs: Sequence[PatternSpec]) -> Compiled:
    always: list[int] = []
    ready: list[tuple[int, bytes]] = []
    for number, spec in enumerate(specs):
        text = expression(spec)
        if text is None:
            always.append(number)
        else:
            ready.append((number, text.encode("latin-1")))
    far = [number for number, spec in enumerate(specs) if compile_spec(spec).is_far]
    try:
        return (_database(ready) if ready else None), always, far
    except _errors():
        refused = _refused(ready)
        usable = [item for item in ready if item[0] not in refused]
        return (_database(usable) if usable else None), sorted({*always, *refused}), far


def _errors() -> type[Exception]:
    import hyperscan  # noqa: PLC0415  # optional on some platforms

    error: type[Exception] = hyperscan.HyperscanError
    return error


def _refused(items: Sequence[tuple[int, bytes]]) -> set[int]:
    """The expressions the compiler refuses, found by halving."""
    try:
        if items:
            _database(items)
    except _errors():
        if len(items) == 1:
            return {items[0][0]}
        middle = len(items) // 2
        return _refused(items[:middle]) | _refused(items[middle:])
    return set()


def _database(items: Sequence[tuple[int, bytes]]) -> Any:
    import hyperscan  # noqa: PLC0415  # optional on some platforms

    database = hyperscan.Database()
    database.compile(
        expressions=[text for _, text in items],
        ids=[number for number, _ in items],
        elements=len(items),
        flags=hyperscan.HS_FLAG_SINGLEMATCH,
    )
    return database


def _read(file: Path) -> Compiled | None:
    """The stored database, or ``None`` when it is missing, damaged, from elsewhere or not this user's own."""
    import hyperscan  # noqa: PLC0415  # optional on some platforms

    try:
        with file.open("rb") as handle:
            if not _is_ours(os.fstat(handle.fileno())):
                return None
            checksum, header, payload = handle.readline().strip(), handle.readline(), handle.read()
        if hashlib.sha256(header + payload).hexdigest().encode() != checksum:
            return None
        database = hyperscan.loadb(payload, hyperscan.HS_MODE_BLOCK) if payload else None
        kept = json.loads(header)
        return database, list(kept["always"]), list(kept["far"])
    except (OSError, ValueError, KeyError, hyperscan.HyperscanError):
        return None


def _is_ours(status: os.stat_result) -> bool:
    """A database is machine code in all but name: load it only if nobody else could have written it."""
    getuid: Callable[[], int] | None = getattr(os, "getuid", None)
    return getuid is None or (status.st_uid == getuid() and not status.st_mode & 0o022)


def _write(file: Path, compiled: Compiled) -> None:
    """Store the database for the next start. A cache that cannot be written costs time, not correctness."""
    import tempfile  # noqa: PLC0415  # only when something was compiled

    import hyperscan  # noqa: PLC0415  # optional on some platforms

    database, always, far = compiled
    payload = hyperscan.dumpb(database) if database is not None else b""
    header = json.dumps({"always": always, "far": far}).encode() + b"\n"
    checksum = hashlib.sha256(header + payload).hexdigest().encode() + b"\n"
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=".prefilter-")
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(checksum + header + payload)
        Path(name).replace(file)
    except OSError:
        return
