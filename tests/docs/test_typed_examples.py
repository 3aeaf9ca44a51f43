"""``py.typed`` keeps its promise: the README's examples pass strict type checkers as a user's program would."""

from __future__ import annotations

import doctest
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
DEFINITION = "def pay(payee, amount, account):"
TYPED = "def pay(payee: str, amount: int, account: str) -> str:"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples of the README one after the other, without what they print."""
    examples = doctest.DocTestParser().get_examples((ROOT / "README.md").read_text("utf-8"))
    source = "".join(example.source for example in examples).replace(DEFINITION, TYPED)
    assert TYPED in source
    assert len(examples) > 15
    path = tmp_path_factory.mktemp("typed") / "readme.py"
    path.write_text(source, "utf-8")
    return path


def checked(command: list[str], program: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*command, str(program)], cwd=program.parent, capture_output=True, text=True, check=False)


def test_the_examples_pass_mypy(program: Path) -> None:
    ran = checked([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(program.parent / "cache")], program)
    assert ran.returncode == 0, ran.stdout


@pytest.mark.skipif(shutil.which("npm") is None, reason="pyright is installed by npm, which is not here")
def test_the_examples_pass_pyright(program: Path) -> None:
    ran = checked([sys.executable, "-m", "pyright", "--pythonpath", sys.executable], program)
    assert ran.returncode == 0, ran.stdout
