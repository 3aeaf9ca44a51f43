"""Shared parts: a home in a temporary directory, a clock that stands still, and what an intruder can do."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.compiled import KEY, compiled
from truekeep import Keep, embed
from truekeep.redteam.keep_target import intruder as intruder  # noqa: PLC0414 - tests have it from here

_COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# What is to be merged is judged by the same examples each time; the long profile looks for new ones.
settings.register_profile("quick", _COMMON, max_examples=60, derandomize=True)
settings.register_profile("long", _COMMON, max_examples=5_000)
settings.load_profile("long" if os.environ.get("TRUEKEEP_LONG") else "quick")


class Clock:
    """A clock that moves only when it is told to."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **span: float) -> None:
        self.now += timedelta(**span)


@pytest.fixture(scope="session")
def shared_cache() -> Path:
    """Compiled rules, for all tests; compiled before the first, so that no test is measured meanwhile."""
    return compiled()


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, shared_cache: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("TRUEKEEP_", "XDG_")) and not name.startswith("TRUEKEEP_LONG"):
            monkeypatch.delenv(name)
    nobody = tmp_path.with_name(f"{tmp_path.name}-nobody")
    monkeypatch.setenv("HOME", str(nobody))
    keys = nobody / ".config" / "truekeep" / "keys"
    keys.mkdir(parents=True, mode=0o700)
    if KEY.exists():  # without Hyperscan nothing is compiled
        shutil.copy(KEY, keys)
    monkeypatch.setenv("XDG_CACHE_HOME", str(shared_cache))
    # Tests that are not about meaning search by keywords, which costs no model and is the same everywhere.
    monkeypatch.setenv("TRUEKEEP_EMBEDDER", "none")
    # A command that is run within a test leaves the process as it was for those that embed many texts.
    monkeypatch.setattr(embed, "expect_few_texts", lambda: None)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def old_home(tmp_path: Path) -> Path:
    """A copy of the home that truekeep 0.1.0 made; git keeps no file modes, so they are set again."""
    copied = tmp_path / "old-home"
    shutil.copytree(Path(__file__).parent / "fixtures" / "keep-0.1.0", copied)
    for path in (copied, *copied.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return copied


@pytest.fixture
def old_clock() -> Clock:
    """A clock that stands a day after that home was made."""
    clock = Clock()
    clock.now = datetime(2026, 3, 2, tzinfo=UTC)
    return clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keep(home: Path, clock: Clock) -> Iterator[Keep]:
    with Keep.open("alice", home=home, clock=clock, background=False) as opened:
        yield opened


@pytest.fixture
def open_keep(home: Path, clock: Clock) -> Callable[[], Keep]:
    """How to open Alice's keep, for tests that do it more than once."""
    return lambda: Keep.open("alice", home=home, clock=clock, background=False)


@pytest.fixture
def informed(home: Path, clock: Clock) -> Iterator[Keep]:
    """A keep under the preset ``inform``."""
    with Keep.open("ines", home=home, clock=clock, background=False, policy="inform") as opened:
        yield opened


@pytest.fixture
def forge(home: Path) -> Callable[..., None]:
    """Write a row into the memories behind the store's back."""

    def write(text: str, *, seq: int = 900, row_id: str = "mem_00000000000000000000", name: str = "alice") -> None:
        body = '{"v":1,"text":' + _quoted(text) + ',"standing":"owner","origin":{"channel":"user"}}'
        with intruder(home, name) as connection, connection:
            row = (seq, row_id, body, b"\7" * 32)
            connection.execute("INSERT INTO memories(seq, id, tag, body, mac) VALUES (?, ?, '', ?, ?)", row)

    return write


def _quoted(text: str) -> str:
    import json

    return json.dumps(text)


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A directory in which the file modes count, even when the tests run as root."""
    folder = Path(tempfile.mkdtemp(prefix="truekeep-test-"))
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(folder, 65534, 65534)
        os.seteuid(65534)
    try:
        yield folder
    finally:
        if is_root:
            os.seteuid(0)
        shutil.rmtree(folder)


def readings(keep: Keep) -> list[str]:
    """What people are shown beside each memory as the agent's reading."""
    return [str(keep.trace(one["id"]).as_dict()["memory"]["reading"]) for one in keep.get_memories()]
