"""Shells complete the commands, and the manual page has them all."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
ASKED = {
    "bash": 'eval "$(truekeep completion bash)"; COMP_WORDS=(truekeep {word}); COMP_CWORD=1; '
    '_truekeep_completion truekeep; printf "%s\\n" "${{COMPREPLY[@]}}"',
    "zsh": 'autoload -U compinit; compinit -u; eval "$(truekeep completion zsh)"; '
    'compadd() {{ print -l -- "${{(@P)2}}" }}; _describe() {{ print -l -- "${{(@P)3}}" }}; '
    "words=(truekeep {word}); CURRENT=2; _truekeep_completion",
    "fish": 'truekeep completion fish | source; complete -C "truekeep {word}"',
}


@pytest.mark.slow
@pytest.mark.parametrize("shell", sorted(ASKED))
def test_a_shell_completes_a_command(shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell} on this machine")
    here = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    ran = subprocess.run(
        [program, "-c", ASKED[shell].format(word="rec")], env=here, capture_output=True, text=True, check=True
    )
    assert [line.split(":")[0].split("\t")[0] for line in ran.stdout.split()][:1] == ["recall"], ran.stdout


def test_the_manual_page_that_is_given_away_has_every_command() -> None:
    if str(SCRIPTS) not in sys.path:
        sys.path.insert(0, str(SCRIPTS))
    man = importlib.import_module("reference.man")
    assert man.PAGE.read_text("utf-8") == man.page(), "python scripts/reference/man.py writes it anew"


def test_the_manual_page_is_typeset_without_a_warning() -> None:
    if shutil.which("groff") is None:
        pytest.skip("there is no groff on this machine")
    page = SCRIPTS.parent / "docs" / "man" / "truekeep.1"
    ran = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    assert "truekeep recall" in re.sub(".\x08", "", ran.stdout)  # bold is a sign, a step back and the sign again
