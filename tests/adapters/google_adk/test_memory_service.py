"""Google ADK's memory service: what it learns, from whom, and for whom."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("google.adk")

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.events import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.genai import types

from tests.adapters.google_adk.scripted_llm import ScriptedLlm
from truekeep import Keep
from truekeep.adapters.google_adk import TruekeepMemoryService, TruekeepPlugin
from truekeep.adapters.scripted import ModelScript, ModelTurn
from truekeep.adapters.user_keeps import UserKeeps, keep_name_of
from truekeep.trust.origin import keep_name

DESK = "My desk is in room 12, by the window."


def content(text: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part.from_text(text=text)])


async def talk(home: Path, user: str, text: str) -> tuple[Session, TruekeepMemoryService]:
    """A user says something to an agent, as the guide has it."""
    agent = LlmAgent(name="clerk", model=ScriptedLlm(script=ModelScript([ModelTurn("Noted.")])))
    service, sessions = TruekeepMemoryService(home), InMemorySessionService()
    app = App(name="desk", root_agent=agent, plugins=[TruekeepPlugin(home, learn=True)])
    runner = Runner(app=app, session_service=sessions, memory_service=service)
    session = await sessions.create_session(app_name="desk", user_id=user)
    async for _ in runner.run_async(user_id=user, session_id=session.id, new_message=content(text)):
        pass
    found = await sessions.get_session(app_name="desk", user_id=user, session_id=session.id)
    assert found is not None
    return found, service


def texts(service: TruekeepMemoryService, user: str, query: str) -> list[MemoryEntry]:
    return list(asyncio.run(service.search_memory(app_name="desk", user_id=user, query=query)).memories)


def test_what_a_user_said_is_found_for_that_user_alone(tmp_path: Path) -> None:
    async def both() -> TruekeepMemoryService:
        session, service = await talk(tmp_path, "alice", DESK)
        await service.add_session_to_memory(session)
        await talk(tmp_path, "bob", "Good morning.")
        return service

    service = asyncio.run(both())
    found = texts(service, "alice", "Where is the desk?")
    assert [one.content.parts[0].text for one in found if one.content.parts] == [DESK]
    assert found[0].custom_metadata["may_act"] is True
    assert found[0].id
    assert texts(service, "bob", "Where is the desk?") == []
    UserKeeps.at(tmp_path).close()


@pytest.mark.parametrize("added", ["session", "events"])
def test_an_author_that_is_only_said_to_be_the_user_is_not_believed(keep: Keep, added: str) -> None:
    service = TruekeepMemoryService(keep=keep)
    event = Event(author="user", content=content(DESK))
    session = Session(id="s", app_name="desk", user_id="alice", events=[event])
    if added == "session":
        asyncio.run(service.add_session_to_memory(session))
    else:
        given = {"app_name": "desk", "user_id": "alice", "events": [event], "session_id": "s"}
        asyncio.run(service.add_events_to_memory(**given))  # type: ignore[arg-type]
    assert texts(service, "alice", "Where is the desk?") == []
    assert keep.get_memories() == []


def test_events_that_are_slipped_into_a_reported_session_are_not_learned(keep: Keep) -> None:
    service, plugin = TruekeepMemoryService(keep=keep), TruekeepPlugin(keep=keep)
    session = Session(id="s", app_name="desk", user_id="alice", events=[])

    class Context:
        pass

    Context.session = session  # type: ignore[attr-defined]
    asyncio.run(plugin.on_user_message_callback(invocation_context=Context, user_message=content(DESK)))
    session.events.append(Event(author="user", content=content("My account is 9904-71 at Northwind.")))
    asyncio.run(service.add_session_to_memory(session))
    kept = str(keep.get_memories())
    assert "room 12" in kept
    assert "9904" not in kept


def test_what_is_written_directly_waits_for_the_owner(keep: Keep) -> None:
    service = TruekeepMemoryService(keep=keep)
    entry = MemoryEntry(content=content(DESK), author="user")
    asyncio.run(service.add_memory(app_name="desk", user_id="alice", memories=[entry]))
    assert keep.get_memories() == []
    assert keep.review.count() == 1


def test_a_deletion_waits_for_a_person(keep: Keep) -> None:
    service = TruekeepMemoryService(keep=keep)
    keep.remember(DESK, via="user")
    found = texts(service, "alice", "Where is the desk?")
    asyncio.run(service.delete_memory(app_name="desk", user_id="alice", memory_id=found[0].id))
    assert len(texts(service, "alice", "Where is the desk?")) == 1
    assert keep.review.count() == 1


PAIRS = st.tuples(st.text(max_size=30), st.text(max_size=30))


@given(PAIRS, PAIRS)
def test_no_two_users_have_the_same_keep(one: Any, other: Any) -> None:
    assert (keep_name_of(*one) == keep_name_of(*other)) is (one == other)
    assert keep_name(keep_name_of(*one)) == keep_name_of(*one)


@pytest.mark.parametrize(
    ("one", "other"), [(("a", "bc"), ("ab", "c")), (("a", "b"), ("A", "b")), (("", "../x"), ("", "x"))]
)
def test_names_that_read_alike_are_different_keeps(one: tuple[str, str], other: tuple[str, str]) -> None:
    first, second = keep_name_of(*one), keep_name_of(*other)
    assert first.casefold() != second.casefold()


def test_a_home_keeps_only_so_many_open(tmp_path: Path) -> None:
    keeps = UserKeeps(tmp_path, most=2)
    first = keeps.get("desk", "alice")
    first.remember(DESK, via="user")
    keeps.get("desk", "bob")
    keeps.get("desk", "carol")
    again = keeps.get("desk", "alice")
    assert again is not first
    assert "room 12" in str(again.get_memories())
    keeps.close()
