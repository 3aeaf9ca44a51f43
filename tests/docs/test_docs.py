"""The documentation cannot rot: its Python examples and its terminal sessions run here."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields
from io import StringIO
from pathlib import Path

import pytest

from truekeep import Settings
from truekeep.cli import _COMMANDS, main

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
def test_terminal_sessions_print_what_they_show(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    run = as_a_process if page.name == "README.md" else in_this_process
    for number, block in enumerate(CONSOLE.findall(page.read_text("utf-8"))):
        monkeypatch.setenv("TRUEKEEP_HOME", str(tmp_path / str(number)))
        folder = tmp_path / f"{number} cwd"
        folder.mkdir()
        monkeypatch.chdir(folder)
        for command, expected in sessions(block):
            name, *words = shlex.split(command)
            if name == "printf":  # a file that the example is about
                subprocess.run(["sh", "-c", command], check=True)
                continue
            assert name == "truekeep", command
            code, told = run(words)
            assert code in (0, 1), told
            assert matches(expected, told), f"{command}\n{told}"


def as_a_process(words: list[str]) -> tuple[int, str]:
    done = subprocess.run([sys.executable, "-m", "truekeep", *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def in_this_process(words: list[str]) -> tuple[int, str]:
    """The same without a start-up of the interpreter and the embedder for each command."""
    out, err, code = StringIO(), StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(words)
        except SystemExit as stop:
            code = int(stop.code or 0)
    return code, out.getvalue() + err.getvalue()


def sessions(block: str) -> list[tuple[str, str]]:
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts]


def matches(expected: str, found: str) -> bool:
    """Whether the output is as shown; ``…`` stands for anything, and spacing does not matter.

    A command without output claims nothing about it; that it runs has been checked by then.
    """
    if not expected.strip():
        return True
    first, *others = (" ".join(piece.split()) for piece in expected.split("…"))
    text = " ".join(found.split())
    if not others:
        return text == first
    at = len(first)
    for piece in others[:-1]:
        at = text.find(piece, at) + len(piece) if piece in text[at:] else len(text) + 1
    return text.startswith(first) and text.endswith(others[-1]) and at <= len(text) - len(others[-1])


def test_whatever_a_page_installs_it_installs_by_name_and_from_a_checkout() -> None:
    pages = [*PAGES, *sorted((ROOT / "docs" / "adapters").glob("*.md"))]
    lines = [(page.name, line) for page in pages for line in page.read_text("utf-8").splitlines()]
    by_name = [(name, line) for name, line in lines if re.search(r"pip install '?truekeep", line)]
    assert len(by_name) > 15
    assert [(name, line) for name, line in by_name if "checkout" not in line and "| by name" not in line] == []


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
