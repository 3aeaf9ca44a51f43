"""A newcomer follows the site from the installation to a guarded agent: the commands of the page, one after the other.

The package is installed from this source into an environment of its own. In the long profile what it needs comes from
an index, as for a newcomer; otherwise from the environment of the tests, so that no network is asked.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parents[2]
PAGE = SOURCE / "docs" / "first-agent.md"
MOST = 15
LONG = bool(os.environ.get("TRUEKEEP_LONG"))
_BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)
_COMMAND = re.compile(r"[^\n]*<<'END'\n.*?\nEND|[^\n]+", re.DOTALL)
_EXPECTED = {
    "truekeep recall": ("1180-22", "9904-71"),
    "python agent.py": ("Paid 300 to 1180-22.", "Paid 300 to 9904-71."),
}
"""What an answer has to hold, and what it must not."""


def commands() -> list[str]:
    """Every command of the page; a file that is written is one."""
    return [found for block in _BLOCK.findall(PAGE.read_text("utf-8")) for found in _COMMAND.findall(block)]


def test_the_page_needs_no_more_than_fifteen_commands() -> None:
    assert len(commands()) <= MOST


def test_a_newcomer_gets_from_installing_to_a_guarded_agent(tmp_path: Path) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("TRUEKEEP_", "XDG_", "PYTHON"))}
    place = tmp_path / "newcomer"
    place.mkdir()
    path = f"{place}/venv/bin:{Path(sys.executable).parent}:/usr/bin:/bin"
    around = {**clean, "HOME": str(tmp_path), "PATH": path}
    took: list[tuple[float, str]] = []
    for command in commands():
        began, run = time.monotonic(), command
        if command.startswith("pip install"):
            run = command.replace("truekeep", f"'{SOURCE}'") if LONG else "true"
            if not LONG:
                _install(place / "venv")
        done = subprocess.run(
            ["bash", "-ec", run], cwd=place, env=around, capture_output=True, text=True, timeout=500, check=False
        )
        took.append((time.monotonic() - began, command.partition("\n")[0]))
        assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        for begins, (has, has_not) in _EXPECTED.items():
            if command.startswith(begins):
                assert has in done.stdout, done.stdout
                assert has_not not in done.stdout, done.stdout
    print("\n".join(f"{seconds:6.1f} s  {command}" for seconds, command in took))


def _install(environment: Path) -> None:
    """Put this source, and what the tests have beside it, where ``pip`` would have put the package."""
    packages = next((environment / "lib").glob("python3*")) / "site-packages"
    packages.joinpath("newcomer.pth").write_text(f"{SOURCE / 'src'}\n{sysconfig.get_path('purelib')}\n")
    program = environment / "bin" / "truekeep"
    program.write_text(f"#!{environment / 'bin' / 'python3'}\nfrom truekeep.cli import main\nmain()\n")
    program.chmod(0o755)
