"""The documentation cannot rot: its Python examples and its terminal sessions run here."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from truekeep import Settings
from truekeep.cli import _COMMANDS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)


def pages_with(mark: str) -> list[Path]:
    return [page for page in PAGES if mark in page.read_text("utf-8")]


@pytest.fixture(autouse=True)
def _as_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A newcomer has the default embedder, which finds more than keywords do."""
    monkeypatch.delenv("TRUEKEEP_EMBEDDER")


@pytest.mark.parametrize("page", pages_with(">>> "), ids=lambda page: page.name)
def test_python_examples_run_and_print_what_they_show(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRUEKEEP_HOME", str(tmp_path))
    text = page.read_text("utf-8").replace("```", "")
    example = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_with("```console"), ids=lambda page: page.name)
def test_terminal_sessions_print_what_they_show(page: Path, tmp_path: Path) -> None:
    for number, block in enumerate(CONSOLE.findall(page.read_text("utf-8"))):
        environment = os.environ | {"TRUEKEEP_HOME": str(tmp_path / str(number)), "COLUMNS": "80", "NO_COLOR": "1"}
        folder = tmp_path / f"{number} cwd"
        folder.mkdir()
        for command, expected in sessions(block):
            words = shlex.split(command)
            assert words[0] == "truekeep", command
            found = subprocess.run(
                [sys.executable, "-m", *words],
                env=environment,
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
            assert found.returncode in (0, 1), found.stderr
            assert matches(expected, found.stdout + found.stderr), f"{command}\n{found.stdout}{found.stderr}"


def sessions(block: str) -> list[tuple[str, str]]:
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts]


def matches(expected: str, found: str) -> bool:
    """Whether the output is as shown; ``…`` stands for anything, and spacing does not matter.

    A command without output claims nothing about it; that it runs has been checked by then.
    """
    if not expected.strip():
        return True
    pieces = [" ".join(piece.split()) for piece in expected.split("…")]
    pattern = ".*".join(re.escape(piece) for piece in pieces)
    return re.fullmatch(pattern + r"\s*", " ".join(found.split()), re.DOTALL) is not None


def test_every_setting_is_documented() -> None:
    page = (ROOT / "docs" / "getting-started.md").read_text("utf-8")
    missing = [field.name for field in fields(Settings) if f"`{field.name}`" not in page and field.name != "channels"]
    assert missing == []


def test_every_command_is_named_in_the_changelog() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert [name for name in _COMMANDS if f"`{name}`" not in text] == []


def test_links_between_pages_lead_somewhere() -> None:
    for page in [*PAGES, ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text("utf-8")):
            if not target.startswith("https://"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_files_of_the_repository_that_a_page_names_are_there() -> None:
    for page in [*PAGES, ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md"]:
        for named in re.findall(r"\b(?:src/truekeep|tests|scripts)/[a-z][\w./-]*\w", page.read_text("utf-8")):
            assert (ROOT / named).exists(), f"{page.name}: {named}"


def test_the_package_and_its_documentation_do_not_speak_of_the_machine_they_were_made_on() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    words = ("/work/" + "shared", "/work/" + "main", "/root/" + ".pyenv")
    for name in tracked:
        path = ROOT / name
        if path.suffix in (".py", ".md", ".toml", ".yaml", "") and path.is_file():
            text = path.read_text("utf-8", "replace")
            assert not any(word in text for word in words), name
