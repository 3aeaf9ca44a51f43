"""The doctor ends with a verdict and what to do next: the most useful first, each a command to copy."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from tests.cli.conftest import Run, run
from truekeep.cli import cli
from truekeep.cli.doctor_verdict import STEPS, DoctorCheck, verdict
from truekeep.redteam.keep_target import intruder

__all__ = ["run"]
BROKEN = ("altered", "cut", "zeros", "gone", "keyless")
Break = Callable[[Path], None]


def alter(home: Path) -> None:
    with intruder(home, "altered") as database:
        database.execute("UPDATE memories SET body = replace(body, 'dark', 'light')")


def cut(home: Path) -> None:
    with intruder(home, "cut") as database:
        database.execute("DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)")


def zero(home: Path) -> None:
    for path in (home / "data").rglob("zeros*"):
        path.write_bytes(b"\0" * path.stat().st_size)


def remove(home: Path) -> None:
    for path in (home / "data").rglob("gone*"):
        path.unlink()


def spoil_key(home: Path) -> None:
    for path in (home / "keys").rglob("keyless.key"):
        path.write_bytes(b"no key at all")


BREAKS: dict[str, Break] = {"altered": alter, "cut": cut, "zeros": zero, "gone": remove, "keyless": spoil_key}


def steps_of(answer: Any) -> list[dict[str, str]]:
    end = answer.json[-1]
    assert end["name"] == "verdict"
    steps: list[dict[str, str]] = end["steps"]
    return steps


def is_a_command(text: str) -> bool:
    """Whether that can be typed: one of ours with options that it has, or one of the system's."""
    words = shlex.split(text)
    if words[0] != "truekeep":
        return words[0] in ("chmod", "pip", "mv", "export")
    context = cli.make_context("truekeep", words[1:], resilient_parsing=True)
    command: click.Command = cli
    rest = words[1:]
    while isinstance(command, click.Group):
        found = command.get_command(context, rest.pop(0))
        assert found is not None, text
        command = found
    if "--help" not in rest:
        command.make_parser(context).parse_args(list(rest))
    return True


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_keep_comes_before_everything_that_could_be_better(run: Run, home: Path, name: str) -> None:
    run("remember", "I prefer dark mode.", "--keep", name)
    run("remember", "The office is in Nitra.", "--via", "web", "--keep", "whole")
    BREAKS[name](home)
    answer = run("doctor", "--format", "json")
    assert answer.code == 1
    first, *others = steps_of(answer)
    assert first["about"] == f"keep {name}"
    assert name in first["command"] or name == "keyless"
    assert is_a_command(first["command"])
    assert len(others) == STEPS - 1
    assert others[0]["about"] == "waiting in whole"  # what is whole is still looked at
    assert all(is_a_command(step["command"]) for step in others)


def test_the_command_for_a_broken_keep_says_more_about_it(run: Run, home: Path) -> None:
    for name in ("altered", "cut"):
        run("remember", "I prefer dark mode.", "--keep", name)
        BREAKS[name](home)
    for step in steps_of(run("doctor", "--format", "json"))[:2]:
        said = run(*shlex.split(step["command"])[1:])
        assert said.code == 1
        assert "ALTERED" in said.out or "missing" in said.out + said.err


def test_several_keeps_that_are_broken_alike_are_one_step(run: Run, home: Path) -> None:
    for name in BROKEN:
        run("remember", "I prefer dark mode.", "--keep", name)
    for broken in BREAKS.values():
        broken(home)
    answer = run("doctor", "--format", "json")
    bad = [check for check in answer.json if not check["ok"] and check["name"].startswith("keep ")]
    assert {check["name"] for check in bad} == {f"keep {name}" for name in BROKEN}
    assert all(check["hint"] and is_a_command(check["command"]) for check in bad)
    steps = steps_of(answer)
    assert len(steps) == STEPS
    alike = [DoctorCheck(f"keep k{number}", "gone", ok=False, hint="Put it back.") for number in range(12)]
    found = verdict([*alike, DoctorCheck("key master", "0644", ok=False, hint="Others can read it.")])
    assert [step.about for step in found.steps[:2]] == ["keep k0 (and 11 more)", "key master"]


def test_the_page_ends_with_the_verdict_and_whole_commands_on_lines_of_their_own(run: Run, home: Path) -> None:
    fresh = run("doctor").out.partition("All is well")[2].splitlines()
    assert "     truekeep remember 'I prefer dark mode'" in fresh
    run("remember", "The office is in Nitra.", "--via", "web")
    steps = run("doctor").out.partition("All is well")[2]
    assert "1. waiting in default" in steps
    assert "     truekeep review list --keep default" in steps.splitlines()
    assert "2. backup of default" in steps
    assert "3. keys apart from data" in steps
    assert "4." not in steps
    run("backup", str(home / "a.backup"))
    assert "backup of default" not in run("doctor").out
    (home / "keys" / "master.key").chmod(0o644)
    bad = run("doctor")
    assert bad.code == 1
    assert "1 thing is not as it must be." in bad.out
    assert "1. key master" in bad.out
    assert f"     chmod go-rwx {home / 'keys' / 'master.key'}" in bad.out.splitlines()


def test_keys_are_apart_once_what_it_says_was_done(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("remember", "I prefer dark mode.")
    check = next(one for one in run("doctor", "--format", "json").json if one["name"] == "keys apart from data")
    assert check["hint"]
    subprocess.run(["sh", "-c", check["command"]], check=True)
    monkeypatch.setenv("TRUEKEEP_KEYS", check["command"].rpartition("=")[2])
    assert "dark mode" in run("recall", "dark mode").out
    after = next(one for one in run("doctor", "--format", "json").json if one["name"] == "keys apart from data")
    assert after["value"] == "yes"


def test_settings_that_cannot_be_read_come_before_all_else(run: Run, home: Path) -> None:
    run("remember", "I prefer dark mode.")
    (home / "config.toml").write_text("policy = ")
    first = steps_of(run("doctor", "--format", "json"))[0]
    assert first["about"] == "settings"
    assert is_a_command(first["command"])
