"""Keys are never shown: not in output, logs, errors, exports or process listings."""

from __future__ import annotations

import base64
import logging
import os
import secrets
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.integrity.greenhouse import grown
from tests.integrity.key_sources import sources
from truekeep import Keep
from truekeep.cli import cli
from truekeep.config import Paths, Settings
from truekeep.errors import KeyUnavailable
from truekeep.stores.files import keyring
from truekeep.stores.master import Master

pytestmark = pytest.mark.slow


def shapes(secret: bytes) -> set[str]:
    return {secret.hex(), base64.b64encode(secret).decode(), repr(secret)[2:-1]}


def everything_of(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + repr(error) + str(getattr(error, "hint", ""))


RUN = """
import json, logging, sys, traceback
logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
from pathlib import Path
from truekeep import Keep
from truekeep.config import Paths, Settings
from truekeep.keep import now
from truekeep.stores.files import keyring
from truekeep.stores.rotation import rotate_data
home = sys.argv[1]
with Keep.open("alice", home=home) as keep:
    keep.remember("The office is in Nitra.", via="user")
    print(keep.describe(), vars(keep), keep.audit.events(), keep.get_memories())
paths = Paths.resolve(home)
settings = Settings.load(paths.config)
ring = keyring(paths, settings)
print(ring, vars(ring), ring.open("alice"), ring.secret("alice"), ring.masters.current(), settings)
rotate_data(paths, "alice", now, settings)
print(Path("/proc/self/cmdline").read_bytes())
try:
    damaged = {"truekeep": "keep-key", "version": 1, "master": ring.masters.current().id}
    (paths.keys / "keeps" / "alice.key").write_text(json.dumps(damaged))
    Keep.open("alice", home=home)
except Exception:
    traceback.print_exc()
"""


@pytest.mark.parametrize("source", ["environment", "file", "command"])
def test_no_key_is_in_output_logs_errors_or_process_listings(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    key = secrets.token_bytes(32)
    environment = os.environ | {"TRUEKEEP_MASTER_KEY": sources(tmp_path, key, monkeypatch)[source]}
    environment |= {"MY_MASTER": base64.b64encode(key).decode()} if source == "environment" else {}
    shown = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "ignore", "-c", RUN, str(home)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = Paths.resolve(home)
    told = shown.stdout + shown.stderr
    assert "wrong_key" in told or "cannot be unwrapped" in told, "the run got to its end"
    assert not [shape for shape in shapes(key) if shape in told]
    stored = b"".join(path.read_bytes() for path in paths.data.rglob("*") if path.is_file())
    stored += b"".join(path.read_bytes() for path in paths.keys.rglob("*") if path.is_file())
    assert not [shape for shape in shapes(key) if shape.encode() in stored]


def test_no_key_is_in_a_keeps_own_representations_exports_or_errors(
    home: Path, open_keep: Callable[[], Keep], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    grown(open_keep, 1)
    ring = keyring(Paths.resolve(home), Settings())
    secret, keys, first = ring.secret("alice"), ring.open("alice"), ring.masters.current()
    assert isinstance(first, Master)
    secrets_held = [secret.root, *secret.data, first.key, keys.digest, keys.anchor, keys.sign]
    secrets_held += [part for epoch in keys.epochs for part in (epoch.file, epoch.mac, epoch.audit)]
    told = [repr(secret), repr(keys), repr(first), repr(keys.epochs), str(vars(ring)), caplog.text]
    for arguments in (["keys", "status"], ["keys", "status", "--format", "json"], ["doctor"], ["audit", "events"]):
        told.append(CliRunner().invoke(cli, [*arguments, "--home", str(home)]).output)
    (home / "keys" / "master.key").write_text("{}")
    try:
        open_keep()
    except KeyUnavailable as error:
        told.append(everything_of(error))
    for value in secrets_held:
        for shape in shapes(value):
            assert not any(shape in text for text in told)


def test_the_terminal_shows_fingerprints_and_public_keys(home: Path, open_keep: Callable[[], Keep]) -> None:
    grown(open_keep, 1)
    first = CliRunner().invoke(cli, ["keys", "status", "--home", str(home)]).output
    assert "public key ed25519:" in first
    rotated = CliRunner().invoke(cli, ["keys", "rotate", "--data", "--keep", "alice", "--home", str(home)])
    assert (rotated.exit_code, "keep: alice" in rotated.output) == (0, True)
    assert CliRunner().invoke(cli, ["keys", "rotate", "--master", "--home", str(home)]).exit_code == 0
    again = CliRunner().invoke(cli, ["keys", "status", "--home", str(home)]).output
    assert "data key 2" in again
    line = next(line for line in first.splitlines() if "public key" in line)
    assert line in again, "the public key lasts"
