"""The unit, the container file and their guide: every command in them exists, and nothing secret is built in."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from configparser import ConfigParser
from dataclasses import fields
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from truekeep import Keep
from truekeep.cli import cli
from truekeep.config import Settings
from truekeep.errors import ConfigError
from truekeep.serve.settings import ServeSettings

ROOT = Path(__file__).parents[2]
UNIT = (ROOT / "deploy" / "truekeep.service").read_text("utf-8")
CONTAINER = (ROOT / "deploy" / "Containerfile").read_text("utf-8")
GUIDE = (ROOT / "docs" / "deploy.md").read_text("utf-8")


def instructions() -> list[tuple[str, str]]:
    lines = [line for line in CONTAINER.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in lines]


def last(word: str) -> str:
    return [rest for name, rest in instructions() if name == word][-1]


def commands() -> list[list[str]]:
    unit = [line.partition("=")[2] for line in UNIT.splitlines() if line.startswith("ExecStart=")]
    blocks = re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
    told = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    words = [shlex.split(line) for line in (*unit, *told)] + [json.loads(last("CMD"))]
    places = [(line, at) for line in words for at, word in enumerate(line) if word.rpartition("/")[2] == "truekeep"]
    found = [line[at + 1 :] for line, at in places if at + 1 < len(line) and line[at + 1] in cli.list_commands(None)]  # type: ignore[arg-type]
    inline = [shlex.split(one)[1:] for one in re.findall(r"`(truekeep [^`]+)`", GUIDE)]
    return found + inline


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_and_option_exists(words: list[str]) -> None:
    context = click.Context(cli)
    command: click.Command | None = cli
    while isinstance(command, click.Group) and words:
        command, words = command.get_command(context, words[0]), words[1:]
    assert command is not None
    known = {name for parameter in command.params for name in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known


def test_there_are_commands_to_check() -> None:
    assert ["serve", "--workers", "2"] in commands()
    assert sum(words[:2] == ["tokens", "add"] for words in commands()) == 4
    assert any(words[0] == "serve" and "--tls-key" in words for words in commands())


def test_every_variable_is_a_setting() -> None:
    known = {"TRUEKEEP_HOME", "TRUEKEEP_KEYS", "TRUEKEEP_CONFIG"}
    known |= {f"TRUEKEEP_{field.name.upper()}" for field in fields(Settings)}
    known |= {f"TRUEKEEP_SERVE_{field.name.upper()}" for field in fields(ServeSettings)}
    used = set(re.findall(r"TRUEKEEP_[A-Z_]+", UNIT + CONTAINER + GUIDE))
    assert used <= known
    assert {"TRUEKEEP_HOME", "TRUEKEEP_KEYS", "TRUEKEEP_MASTER_KEY"} <= used


def test_the_unit_gives_the_service_no_more_than_it_needs() -> None:
    unit = ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(UNIT)
    service = unit["Service"]
    for name in ("DynamicUser", "NoNewPrivileges", "PrivateTmp", "PrivateDevices", "ProtectHome", "RestrictSUIDSGID"):
        assert service[name] == "yes", name
    assert service["ProtectSystem"] == "strict"
    assert service["CapabilityBoundingSet"] == ""
    assert service["StateDirectory"].split() == ["truekeep", "truekeep-keys"]
    assert service["LoadCredential"].startswith("master.key:")
    assert service["UMask"] == "0077"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_itself_takes_the_unit_and_finds_little_exposed(tmp_path: Path) -> None:
    unit = tmp_path / "truekeep.service"
    unit.write_text(UNIT.replace("/opt/truekeep/bin/truekeep", sys.executable))  # the program has to be there
    verified = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (verified.returncode, verified.stdout + verified.stderr) == (0, "")
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert judged.returncode == 0, judged.stdout[-200:]  # two out of ten, or less


def test_the_container_runs_as_nobody_special_with_data_and_keys_apart() -> None:
    assert last("USER") == "truekeep"
    assert json.loads(last("VOLUME")) == ["/data", "/keys", "/cache"]
    assert "/v1/health/ready" in last("HEALTHCHECK")
    copied = [rest for name, rest in instructions() if name in ("COPY", "ADD")]
    assert not any(re.search(r"(^|\s)\.(\s|$)", rest.rpartition(" ")[0]) for rest in copied)  # never the whole folder
    assert not any(name == "ARG" for name, _ in instructions())
    assert "--unsafe" not in UNIT + CONTAINER + GUIDE


def environment(text: str) -> dict[str, str]:
    return dict(re.findall(r"\b([A-Z][A-Z_]+)=([^\s]+)", text))


@pytest.mark.parametrize("text", [UNIT, CONTAINER], ids=["unit", "container"])
def test_nothing_on_a_volume_is_configuration_code_or_believed(text: str) -> None:
    """Whoever writes the data volume must not be able to say which command answers for the master key."""
    found = environment(text)
    assert found["TRUEKEEP_CONFIG"] == "/etc/truekeep"
    volumes = [found["TRUEKEEP_HOME"], found["TRUEKEEP_KEYS"], found["XDG_CACHE_HOME"]]
    assert len(set(volumes)) == 3
    for place in (found["TRUEKEEP_CONFIG"], found.get("HOME", "/nonexistent")):
        assert not any(Path(place).is_relative_to(volume) for volume in volumes)
    assert found["PYTHONNOUSERSITE"] == found["PYTHONSAFEPATH"] == "1"
    if text is CONTAINER:
        assert "--home-dir /nonexistent" in text
        assert "install -d -o root -m 0755 /etc/truekeep" in text


def test_settings_planted_on_the_data_volume_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("data", "data/data", "data/cache/truekeep", "keys"):
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        (tmp_path / place / "config.toml").write_text(f'master_key = "command:touch {tmp_path}/ran"\n')
        (tmp_path / place / "rules.toml").write_text("not toml")
    monkeypatch.setenv("TRUEKEEP_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("TRUEKEEP_KEYS", str(tmp_path / "keys"))
    monkeypatch.setenv("TRUEKEEP_CONFIG", str(tmp_path / "etc"))
    with Keep.open("alice") as keep:
        assert keep.remember("The office is in Nitra.", via="user").accepted
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("what", ["file", "directory"])
@pytest.mark.parametrize("name", ["config.toml", "rules.toml"])
def test_settings_that_others_can_write_are_refused(home: Path, name: str, what: str) -> None:
    home.mkdir(mode=0o700)
    (home / name).write_text("")
    with Keep.open("alice", home=home):
        pass
    (home / name if what == "file" else home).chmod(0o666 if what == "file" else 0o777)
    with pytest.raises(ConfigError) as caught:
        Keep.open("alice", home=home)
    assert caught.value.code == "config_unsafe"


def test_the_doctor_says_where_settings_lie_with_the_data(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def told() -> dict[str, object]:
        ran = CliRunner().invoke(cli, ["doctor", "--home", str(home), "--format", "json"])
        (check,) = (one for one in json.loads(ran.output) if one["name"] == "settings apart from data")
        assert isinstance(check, dict)
        return check

    home.mkdir(mode=0o700)
    assert told()["ok"]
    assert "TRUEKEEP_CONFIG" in str(told()["hint"])
    home.chmod(0o777)
    assert not told()["ok"]
    home.chmod(0o700)
    monkeypatch.setenv("TRUEKEEP_CONFIG", "/etc")
    assert (told()["ok"], told()["hint"]) == (True, "")
