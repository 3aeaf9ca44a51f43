"""Takes a passage out of an instruction file and puts it back: sealed outside the repository, a marker in its place.

The order of steps is what makes a crash harmless: the passage is sealed on the disk before the file is replaced, and
the seal goes away after the file is whole again. At every moment the passage is in the file, in the seal, or in both.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from truekeep import disk
from truekeep.errors import InvalidRequest, StoreBusy, StoreTampered, UnknownId
from truekeep.protect.files_catalog import catalog
from truekeep.protect.files_key import ProtectKey

_ID = re.compile(r"pq_[0-9a-f]{12}")
_LOCK_SECONDS = 10.0
_MOST_SEALED = 4_000_000
_NONCE = 12


@dataclass(frozen=True, slots=True)
class QuarantinedPassage:
    """What was taken out of where. ``before`` and ``after`` are digests of the whole file."""

    id: str
    file: str
    first: int
    last: int
    passage: str
    before: str
    after: str
    when: str


class PassageQuarantine:
    """The sealed passages in truekeep's data directory."""

    def __init__(self, data: Path, key: ProtectKey) -> None:
        self._folder = data / "protect" / "passages"
        self._key = key.derived("passage")

    def take_out(self, file: Path, first: int, last: int, when: str, digest: str = "") -> QuarantinedPassage:
        """Seal the lines from ``first`` to ``last`` and put a marker in their place.

        ``digest`` is the SHA-256 of the file as it was looked at; another one is refused.
        """
        file = _absolute(file)
        with self._locked():
            content = _content(file)
            if digest and digest != _digest(content):
                raise _changed()
            lines = content.splitlines(keepends=True)
            if not 1 <= first <= last <= len(lines):
                raise InvalidRequest("The file has no such lines.", code="no_such_lines")
            made = f"pq_{secrets.token_hex(6)}"
            passage = b"".join(lines[first - 1 : last])
            left = b"".join((*lines[: first - 1], _marker(made, passage), *lines[last:]))
            record = QuarantinedPassage(
                made, str(file), first, last, b64encode(passage).decode(), _digest(content), _digest(left), when
            )
            disk.make_directory(self._folder)
            disk.write_new(self._path(made), self._sealed(record))
            _replace(file, content, left)
        return record

    def put_back(self, passage_id: str, *, anyway: bool = False) -> QuarantinedPassage:
        """Put a passage back in the place of its marker. A file that was changed since is refused.

        ``anyway`` puts it back all the same, if the marker is still there once.
        """
        with self._locked():
            record = self._opened(passage_id)
            file = Path(record.file)
            content = _content(file)
            if _digest(content) != record.before:  # else a crash left the file as it was
                if _digest(content) != record.after and not anyway:
                    raise _changed("Use --anyway to put the passage where its marker is now.")
                _replace(file, content, _restored(content, record))
            self._path(passage_id).unlink()
            disk.sync_directory(self._folder)
        return record

    def all(self) -> list[QuarantinedPassage]:
        """What is out at the moment, oldest first."""
        if not self._folder.is_dir():
            return []
        names = [path.stem for path in self._folder.glob("pq_*.sealed") if _ID.fullmatch(path.stem)]
        return sorted((self._opened(name) for name in names), key=lambda record: (record.when, record.id))

    def _path(self, passage_id: str) -> Path:
        if not _ID.fullmatch(passage_id):
            raise UnknownId("No passage of that id is quarantined.", hint="See 'truekeep protect undo --list'.")
        return self._folder / f"{passage_id}.sealed"

    def _sealed(self, record: QuarantinedPassage) -> bytes:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - heavy, and only for this

        nonce = secrets.token_bytes(_NONCE)
        return nonce + AESGCM(self._key).encrypt(nonce, json.dumps(asdict(record)).encode(), record.id.encode())

    def _opened(self, passage_id: str) -> QuarantinedPassage:
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - heavy, and only for this
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        try:
            sealed = disk.read(self._path(passage_id), _MOST_SEALED)
            opened = AESGCM(self._key).decrypt(sealed[:_NONCE], sealed[_NONCE:], passage_id.encode())
        except FileNotFoundError:
            raise UnknownId(
                "No passage of that id is quarantined.", hint="See 'truekeep protect undo --list'."
            ) from None
        except (OSError, ValueError, InvalidTag):
            raise StoreTampered("The sealed passage was altered.", code="passage_altered") from None
        return QuarantinedPassage(**json.loads(opened))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            with disk.locked(self._folder.parent / "passages.lock", _LOCK_SECONDS):
                yield
        except TimeoutError:
            raise StoreBusy("Another process is taking passages out.") from None


def _absolute(file: Path) -> Path:
    """The file by its full path; links in the way to it are resolved once, the file itself must be none."""
    return file.parent.resolve() / file.name


def _marker(passage_id: str, passage: bytes) -> bytes:
    end = b"\r\n" if passage.endswith(b"\r\n") else b"\n" if passage.endswith(b"\n") else b""
    return f"<!-- truekeep {passage_id}: lines were taken out; truekeep protect undo {passage_id} -->".encode() + end


def _restored(content: bytes, record: QuarantinedPassage) -> bytes:
    lines = content.splitlines(keepends=True)
    marker = _marker(record.id, b"")
    places = [number for number, line in enumerate(lines) if line.strip() == marker]
    if len(places) != 1:
        raise _changed("The marker is not there, or is there more than once; look at the file.")
    lines[places[0]] = b64decode(record.passage)
    return b"".join(lines)


def _content(file: Path) -> bytes:
    try:
        return disk.read(file, catalog().limits.file_bytes)
    except OSError as error:
        raise InvalidRequest(
            "The file cannot be used.",
            code="file_unusable",
            hint=f"It must be a regular file of yours: {type(error).__name__}.",
        ) from None


def _replace(file: Path, expected: bytes, content: bytes) -> None:
    """Put the content in the file's place, with its permissions, if it is still what was read."""
    try:
        mode = stat.S_IMODE(file.lstat().st_mode)
        with disk.drafted(file, content) as draft:
            draft.chmod(mode)
            if _content(file) != expected:
                raise _changed()
            os.rename(draft, file)  # noqa: PTH104 - as everywhere in disk: over what is there, in one step
            disk.sync_directory(file.parent)
    except OSError as error:
        raise InvalidRequest(
            "The file cannot be written.", code="file_unusable", hint=f"Nothing was lost: {type(error).__name__}."
        ) from None


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()


def _changed(hint: str = "Scan it again and name the lines anew; nothing was changed.") -> InvalidRequest:
    return InvalidRequest("The file was changed since.", code="file_changed", hint=hint)
