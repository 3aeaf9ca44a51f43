"""The password in a connection string is shown to nobody."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.postgres.test_keep import run
from truekeep.config import Settings

SECRET = "hunter2"
_STRINGS = [
    f"postgresql://alice:{SECRET}@127.0.0.1:1/keeps",
    f"postgresql://alice:{SECRET}@127.0.0.1:1,127.0.0.1:2/keeps?target_session_attrs=read-write",
    f"postgresql://alice@127.0.0.1:1/keeps?password={SECRET}&connect_timeout=2",
    f"postgresql://alice@127.0.0.1:1/keeps?connect_timeout=2&sslPassword={SECRET}",
    f"postgresql://alice:{SECRET}@[nowhere/keeps",
]


@pytest.mark.parametrize("store", _STRINGS)
@pytest.mark.parametrize("command", ["config show", "doctor", "db status", "list --keep alice", "keys status"])
def test_no_command_says_a_password(
    home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], store: str, command: str
) -> None:
    monkeypatch.setenv("TRUEKEEP_STORE", store)
    monkeypatch.setenv("TRUEKEEP_HOME", str(home))
    for form in ("text", "json"):
        run(*command.split(), "--format", form)
    told = capfd.readouterr()
    assert told.out + told.err
    assert SECRET not in told.out + told.err


def test_settings_do_not_show_where_keeps_are_when_they_are_printed() -> None:
    assert SECRET not in repr(replace(Settings(), store=_STRINGS[0]))
