"""Every command is looked at: what changes much says beforehand what it would do, and names its way back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.cli.conftest import Run, run
from truekeep import Keep
from truekeep.cli import cli
from truekeep.cli.working import STANDING

__all__ = ["run"]
PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
ROW = re.compile(r"^\| `truekeep ([^`]+)` \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
LINE = re.compile(r"^(?:Reads only|Changes one thing|Goes on until it is stopped): (.+)\.$", re.MULTILINE)


def commands() -> Iterator[tuple[str, click.Command]]:
    def walk(command: click.Command, name: str, context: click.Context) -> Iterator[tuple[str, click.Command]]:
        if not isinstance(command, click.Group) or (command.invoke_without_command and name):
            yield name, command
        if isinstance(command, click.Group):
            for one in command.list_commands(context):
                found = command.get_command(context, one)
                assert found is not None
                yield from walk(found, f"{name} {one}".strip(), context)

    yield from walk(cli, "", click.Context(cli))


def options(command: click.Command) -> set[str]:
    return {name for one in command.params for name in one.opts}


def text() -> str:
    page = PAGE.read_text("utf-8")
    return page[page.index("## What changes much") :]


def test_every_command_has_a_place_in_the_table_and_no_other_has() -> None:
    rows = [name for name, _, _ in ROW.findall(text())]
    listed = [one.strip(" `") for found in LINE.findall(text()) for one in found.split(",")]
    named = {name for name, _ in commands()}
    assert sorted([*rows, *listed]) == sorted(named)


@pytest.mark.parametrize(("name", "before", "back"), ROW.findall(text()))
def test_what_the_table_says_of_a_command_is_so(name: str, before: str, back: str) -> None:
    known = dict(commands())
    has = options(known[name])
    for option in re.findall(r"`(--[a-z-]+)`", before):
        assert option in has, (name, option)
    assert before.startswith(("`--dry-run`", "without `--yes`", "without `--apply`")), (name, before)
    for command in re.findall(r"`truekeep ([a-z -]+?)(?: [A-Z…].*)?`", back):
        words = [word for word in command.split() if not word.startswith("--")]
        assert " ".join(words) in known, (name, command)
        assert all(word in options(known[" ".join(words)]) for word in command.split() if word.startswith("--"))
    assert "`truekeep" in back or back.startswith("none"), (name, back)


def test_what_goes_on_until_it_is_stopped_is_what_shows_no_line() -> None:
    (listed,) = re.findall(r"^Goes on until it is stopped: (.+)\.$", text(), re.MULTILINE)
    names = {one.strip(" `") for one in listed.split(",")}
    assert all(STANDING & {name, name.split()[0]} for name in names)


def filled(run: Run) -> None:
    run("remember", "I prefer dark mode.")
    run("remember", "I live in Nitra.")


def head(home: Path) -> int:
    with Keep.open("default", home=home, background=False) as keep:
        return keep.audit.head


def test_a_dry_run_changes_nothing_and_says_how_to_do_it(run: Run, home: Path, tmp_path: Path) -> None:
    filled(run)
    copy, lines = tmp_path / "a.backup", tmp_path / "lines.jsonl"
    run("backup", str(copy))
    run("remember", "I moved to Praha.")
    lines.write_text(json.dumps({"text": "The office is in Nitra."}) + "\nI like tea.\n")
    before = head(home)
    dry = {
        ("destroy",): "Would destroy default",
        ("restore", str(copy), "--by", "eva", "--reason", "a test"): "Nothing was changed",
        ("keys", "rotate", "--master"): "Would wrap the keys of 1 keeps",
        ("keys", "rotate", "--data"): "Would encrypt and seal default anew",
        ("import", str(lines)): "would quarantine: 2",
        ("forget", "what I said about dark mode"): "dark mode",
    }
    for words, said in dry.items():
        answer = run(*words, "--dry-run")
        assert answer.code == 0, (words, answer)
        assert said in answer.out, (words, answer)
        assert head(home) == before, words
    assert "dark mode" in run("list").out


def test_a_restore_that_would_be_refused_is_refused_in_a_dry_run(run: Run, tmp_path: Path) -> None:
    filled(run)
    copy = tmp_path / "a.backup"
    copy.write_bytes(b"no backup")
    refused = run("restore", str(copy), "--by", "eva", "--reason", "a test", "--dry-run")
    assert refused.code != 0


def test_what_was_decided_deleted_and_imported_names_its_way_back_and_that_works(run: Run, tmp_path: Path) -> None:
    run("remember", "The office is in Nitra.", "--via", "web", "--principal", "news.example")
    item = run("review", "list", "--format", "json").json[0]["id"]
    for decide in ("approve", "reject"):
        said = run("review", decide, item, "--by", "eva", "--reason", "a test").out
        back = re.search(r"Undo: truekeep (.+) --reason …", said)
        assert back is not None, said
        assert run(*back[1].split(), "--reason", "a mistake").code == 0
        assert run("review", "list", "--format", "json").json[0]["id"] == item
    run("remember", "I prefer dark mode.")
    memory = next(one["id"] for one in run("list", "--format", "json").json if "dark mode" in one["content"])
    said = run("forget", memory, "--yes").out
    back = re.search(r"Undo: truekeep (.+)", said)
    assert back is not None, said
    assert "dark mode" not in run("list").out
    assert run(*back[1].split()).code == 0
    assert "dark mode" in run("list").out
    lines = tmp_path / "lines.txt"
    lines.write_text("I like tea.\n")
    back = re.search(r"Undo: truekeep (.+) --reason …", run("import", str(lines), "--via", "user").out)
    assert back is not None
    assert "tea" in run("list").out
    assert run(*back[1].split(), "--reason", "a mistake", "--yes").code == 0
    assert "tea" not in run("list").out
