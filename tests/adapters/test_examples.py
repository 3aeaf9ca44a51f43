"""The examples run, without a network, and nobody is steered in them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NEEDS = {
    "agent_framework_agent.py": "agent_framework",
    "google_adk_agent.py": "google.adk",
    "langgraph_agent.py": "langchain",
    "mem0_memory.py": "truekeep",
    "openai_agent.py": "agents",
    "pydantic_ai_agent.py": "pydantic_ai",
    "strands_agent.py": "strands",
    "agent_hooks_host.py": "agent_hooks",
    "anthropic_agent.py": "anthropic",
    "claude_agent.py": "claude_agent_sdk",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_an_example_ends_with_nothing_carried_out(name: str, tmp_path: Path) -> None:
    pytest.importorskip(NEEDS[name])
    run_example(name, tmp_path)


def run_example(name: str, tmp_path: Path) -> None:
    """Run an example as a reader does. Those of frameworks with an environment of their own are run there."""
    environment = os.environ | {"TRUEKEEP_HOME": str(tmp_path / "home")}
    command = [sys.executable, str(EXAMPLES / name)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=100)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip().endswith("mails forwarded: 0")


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_protecting_an_agent_takes_at_most_three_lines(name: str) -> None:
    marked = re.findall(r"  # \(\d\)$", (EXAMPLES / name).read_text("utf-8"), re.MULTILINE)
    assert 1 <= len(marked) <= 3
