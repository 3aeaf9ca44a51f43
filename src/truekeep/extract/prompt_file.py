"""Keeps the prompt library in a file beside the operator's settings, which it is as trusted as."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from truekeep.errors import ConfigError, InvalidRequest
from truekeep.extract.library import PromptVersion, State
from truekeep.types import utc_moment, utc_text

FORMAT = 1
_MAX_FILE = 20_000_000


class FilePromptStore:
    """A ``PromptStore`` in one JSON file; a write replaces the file as a whole."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def all(self) -> Sequence[PromptVersion]:
        """Every version in the file; a file that cannot be read is an error, never an empty library."""
        try:
            if self._path.stat().st_size > _MAX_FILE:
                raise ConfigError("The prompt library is too large.", code="prompt_library")
            loaded = json.loads(self._path.read_text("utf-8"))
            if loaded["format"] != FORMAT:
                raise ConfigError("The prompt library was written by another version.", code="prompt_library")
            return [_version(entry) for entry in loaded["prompts"]]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            if isinstance(error, ConfigError):
                raise
            raise ConfigError("The prompt library cannot be read.", code="prompt_library") from error

    def put(self, version: PromptVersion) -> None:
        """Keep a version, replacing its earlier state."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _locked(self._path.with_suffix(".lock")):
            known = {(v.name, v.version): v for v in self.all()}
            before = known.get((version.name, version.version))
            # What was reviewed under a version must never become another text.
            if before is not None and before.hash != version.hash:
                raise InvalidRequest("Somebody else added this version meanwhile.", code="prompt_version_taken")
            kept = list((known | {(version.name, version.version): version}).values())
            kept.sort(key=lambda v: (v.name, v.version))
            self._write({"format": FORMAT, "prompts": [_members(v) for v in kept]})

    def _write(self, document: Mapping[str, Any]) -> None:
        fresh = self._path.with_suffix(".new")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(document, file, ensure_ascii=False, indent=1)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            import fcntl  # noqa: PLC0415 - not on every system
        except ImportError:
            yield
            return
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _members(version: PromptVersion) -> dict[str, Any]:
    return {
        "name": version.name,
        "version": version.version,
        "text": version.text,
        "hash": version.hash,
        "state": version.state.value,
        "added_by": version.added_by,
        "added_at": utc_text(version.added_at),
        "decided_by": version.decided_by,
        "decided_at": None if version.decided_at is None else utc_text(version.decided_at),
        "reason": version.reason,
    }


def _version(members: Mapping[str, Any]) -> PromptVersion:
    decided = members["decided_at"]
    return PromptVersion(
        name=str(members["name"]),
        version=int(members["version"]),
        text=str(members["text"]),
        hash=str(members["hash"]),
        state=State(members["state"]),
        added_by=str(members["added_by"]),
        added_at=utc_moment(members["added_at"]),
        decided_by=members["decided_by"],
        decided_at=None if decided is None else utc_moment(decided),
        reason=str(members["reason"]),
    )
