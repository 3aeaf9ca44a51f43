"""An adapter whose framework is not installed says the one line that installs it."""

from __future__ import annotations

import importlib
import sys

import pytest

from truekeep.errors import MissingExtra


@pytest.mark.parametrize(
    ("adapter", "package", "extra"),
    [
        ("agent_framework", "agent_framework", "agent-framework"),
        ("google_adk", "google.adk", "google-adk"),
        ("google_adk_memory", "google.adk", "google-adk"),
        ("langgraph", "langchain.agents.middleware", "langgraph"),
        ("openai_agents", "agents", "openai-agents"),
        ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
        ("strands", "strands", "strands"),
        ("strands_store", "strands", "strands"),
        ("anthropic", "anthropic", "anthropic"),
        ("claude_agent", "claude_agent_sdk", "claude-agent"),
        ("agent_hooks", "agent_hooks", "agent-hooks"),
    ],
)
def test_a_missing_framework_is_told_with_what_installs_it(
    monkeypatch: pytest.MonkeyPatch, adapter: str, package: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    for module in (adapter, "openai_items", "langgraph_store", "pydantic_parts", "strands_messages"):
        monkeypatch.delitem(sys.modules, f"truekeep.adapters.{module}", raising=False)
    with pytest.raises(MissingExtra) as missing:
        importlib.import_module(f"truekeep.adapters.{adapter}")
    assert f"truekeep[{extra}]" in missing.value.hint
