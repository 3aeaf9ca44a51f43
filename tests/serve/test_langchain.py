"""The Agent Memory Server's tools for LangChain, unchanged, over a real socket."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from agent_memory_client import MemoryAPIClient, MemoryClientConfig

from tests.serve.conftest import Served

pytest.importorskip("langchain_core")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def test_every_tool_runs(served: Served) -> None:
    from agent_memory_client.integrations.langchain import get_memory_tools

    async def go() -> set[str]:
        address = served.address.replace("http://", f"http://token:{served.token('owner')}@")
        async with MemoryAPIClient(MemoryClientConfig(base_url=address)) as client:
            tools: dict[str, Any] = {
                tool.name: tool for tool in get_memory_tools(client, session_id="s-1", user_id="u-1")
            }
            made = {"memories": [{"text": "I sail on Sundays", "memory_type": "semantic"}]}
            await tools["eagerly_create_long_term_memory"].ainvoke(made)
            found = str(await tools["search_memory"].ainvoke({"query": "sail on Sundays"}))
            assert found.startswith("Found 1 relevant memories")
            memory_id = served.client().get("/v1/long-term-memory/").json()["memories"][0]["id"]
            assert "I sail" in str(await tools["get_long_term_memory"].ainvoke({"memory_id": memory_id}))
            await tools["edit_long_term_memory"].ainvoke({"memory_id": memory_id, "text": "I sail on Mondays"})
            await tools["get_or_create_working_memory"].ainvoke({})
            await tools["lazily_create_long_term_memory"].ainvoke(
                {"text": "I own a small boat", "memory_type": "semantic"}
            )
            await tools["update_working_memory_data"].ainvoke({"data": {"step": 1}})
            await tools["delete_long_term_memories"].ainvoke({"memory_ids": [memory_id]})
            await tools["get_current_datetime"].ainvoke({})
            return set(tools)

    assert "search_memory" in asyncio.run(go())
    left = served.client().get("/v1/long-term-memory/").json()["memories"]
    assert json.dumps([one["text"] for one in left]) == '["I own a small boat"]'
