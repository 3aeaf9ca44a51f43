"""Which patterns could match a text at all: all of them at once, by Hyperscan (Vectorscan), with a cached database.

Patterns are compiled over one byte a character (see ``alphabet.to_bytes``) in a form that is never narrower than
the original; what the compiler refuses is always a candidate. Compiling thousands of patterns takes most of a
minute, loading the result a tenth of a second, so the database is kept under the hash of what went into it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import threading
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from truekeep import disk
from truekeep.config import cache_key_file
from truekeep.rules.model import PatternSpec
from truekeep.rules.pattern import compile_spec, emit
from truekeep.rules.pattern.alphabet import to_bytes
from truekeep.rules.pattern.measure import can_be_empty
from truekeep.rules.pattern.syntax import LookAround, Node, PatternGroup
from truekeep.rules.pattern.syntax import PatternSequence as Row

_FORMAT = b"truekeep prefilter 7\n"
_KEY = 32
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
    if isinstance(node, PatternGroup):
        return _looks(node.part)
    if isinstance(node, Row):
        return [body for part in node.parts for body in _looks(part)]
    if isinstance(node, LookAround) and not node.negated:
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
    """The stored database, or ``None`` when it is missing, damaged or not one that was stored here.

    A database is machine code in all but name, so nothing in the cache is believed for where it lies or what it is
    called: it is loaded only if a key that lies elsewhere says that it was stored under this very name.
    """
    import hyperscan  # noqa: PLC0415  # optional on some platforms

    try:
        seal, _, content = disk.read(file).partition(b"\n")
        if not hmac.compare_digest(seal, _seal(disk.read(cache_key_file(), _KEY), file.name, content)):
            return None
        header, _, payload = content.partition(b"\n")
        database = hyperscan.loadb(payload, hyperscan.HS_MODE_BLOCK) if payload else None
        kept = json.loads(header)
        return database, list(kept["always"]), list(kept["far"])
    except (OSError, ValueError, KeyError, hyperscan.HyperscanError):
        return None


def _write(file: Path, compiled: Compiled) -> None:
    """Store the database for the next start. A cache that cannot be written costs time, not correctness."""
    import hyperscan  # noqa: PLC0415  # optional on some platforms

    database, always, far = compiled
    payload = hyperscan.dumpb(database) if database is not None else b""
    content = json.dumps({"always": always, "far": far}).encode() + b"\n" + payload
    try:
        disk.make_directory(cache_key_file().parent)
        disk.make_directory(file.parent)
        disk.write_once(cache_key_file(), secrets.token_bytes(_KEY))
        seal = _seal(disk.read(cache_key_file(), _KEY), file.name, content)
        disk.replace(file, seal + b"\n" + content)
    except (OSError, ValueError):
        return


def _seal(key: bytes, name: str, content: bytes) -> bytes:
    if len(key) != _KEY:
        raise ValueError("not a key")
    state = hashlib.blake2b(name.encode() + b"\n", key=key, digest_size=32, person=b"rule cache")
    state.update(content)
    return state.hexdigest().encode()
