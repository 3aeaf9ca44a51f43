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

from truekeep.cli import cli
from truekeep.config import Settings
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
    assert sum(words[:2] == ["tokens", "add"] for words in commands()) == 2
    assert any(words[0] == "serve" and "--tls-key" in words for words in commands())


def test_every_variable_is_a_setting() -> None:
    known = {"TRUEKEEP_HOME", "TRUEKEEP_KEYS"}
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
    assert json.loads(last("VOLUME")) == ["/data", "/keys"]
    assert "/v1/health/ready" in last("HEALTHCHECK")
    copied = [rest for name, rest in instructions() if name in ("COPY", "ADD")]
    assert not any(re.search(r"(^|\s)\.(\s|$)", rest.rpartition(" ")[0]) for rest in copied)  # never the whole folder
    assert not any(name == "ARG" for name, _ in instructions())
    assert "--unsafe" not in UNIT + CONTAINER + GUIDE
