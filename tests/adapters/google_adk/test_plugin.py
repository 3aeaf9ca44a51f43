"""Google ADK: several agents, whose words and whose confirmations count, and how it fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.adk")

from google.adk.agents import LlmAgent
from google.adk.code_executors import UnsafeLocalCodeExecutor
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools import AgentTool, load_memory
from google.genai import types
from pydantic import BaseModel

from tests.adapters.google_adk.scripted_llm import ScriptedLlm, framework_tool
from tests.adapters.google_adk.test_conformance import CONFIRM, SERVICES, AdkAgent
from tests.adapters.google_adk.test_conformance import TestGoogleAdk as Conformance
from tests.adapters.hostile_documents import attacked, one_document, unprotected
from truekeep import Keep, Tool
from truekeep.adapters.conformance import (
    DECLARED,
    OWNER,
    PAGE,
    PAY,
    QUESTION,
    READS,
    STEALS,
    STOLEN,
    WAITING,
    Toolbox,
    actions,
    judged,
    pays,
    seen,
    turn,
)
from truekeep.adapters.google_adk import TruekeepPlugin
from truekeep.adapters.scripted import ModelScript, ModelTurn, ScriptedCall
from truekeep.errors import StoreBusy

A = "desk/alice/a"


def llm_agent(name: str, script: ModelScript, tools: Sequence[Any] = (), **options: Any) -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedLlm(script=script), tools=list(tools), **options)


def agent_of(
    keep: Keep,
    place: Path,
    box: Toolbox,
    *turns: ModelTurn,
    plugins: Sequence[BasePlugin] = (),
    declared: Sequence[Tool] = DECLARED,
    **options: Any,
) -> AdkAgent:
    tools = options.pop("tools", None) or [framework_tool(one) for one in box.all]
    agent = llm_agent("clerk", options.pop("script", None) or ModelScript(turns), tools, **options)
    return AdkAgent(agent, [*plugins, TruekeepPlugin(keep=keep, tools=declared)], place)


def test_the_red_teams_documents_get_nothing_done(keep: Keep, tmp_path: Path) -> None:
    found = attacked(Conformance(), keep, tmp_path, 40)
    assert found.tried == 40
    assert found.done == []


def test_without_the_plugin_they_do(tmp_path: Path) -> None:
    script, tools = one_document()
    agent = AdkAgent(llm_agent("clerk", script, [framework_tool(one) for one in tools]), [], tmp_path)
    assert unprotected(agent, script, tools)


def test_an_agent_that_is_transferred_to_goes_on_with_the_same_conversation(keep: Keep, tmp_path: Path) -> None:
    box, inner = Toolbox(), ModelScript([turn(READS), turn(STEALS), ModelTurn("Tried.")])
    reader = llm_agent("reader", inner, [framework_tool(one) for one in box.all], instruction="You read.")
    goes = ScriptedCall("transfer_to_agent", {"agent_name": "reader"})
    agent = agent_of(
        keep, tmp_path, Toolbox(), ModelTurn("Hello."), turn(goes), sub_agents=[reader], instruction="You ask."
    )
    agent.run("a", "Good morning.")
    agent.run("a", QUESTION)
    assert "Hello." in str(inner.shown[0])  # what the other agent said is retold to it
    assert box.page.calls
    assert box.forward.calls == []
    assert [(one["action"], one["clean"]) for one in actions(keep, A)] == [("read_page", True), ("forward_mail", False)]


def test_what_another_agent_read_is_as_foreign_when_it_is_retold(keep: Keep, tmp_path: Path) -> None:
    box, inner = Toolbox(), ModelScript([turn(STEALS), ModelTurn("Tried.")])
    reader = llm_agent("writer", inner, [framework_tool(one) for one in box.all])
    goes = ScriptedCall("transfer_to_agent", {"agent_name": "writer"})
    agent = agent_of(keep, tmp_path, box, turn(READS), turn(goes), sub_agents=[reader])
    agent.run("a", QUESTION)
    assert "audit@evil.example" in str(inner.shown[0])
    assert box.forward.calls == []
    assert judged(keep, A)[-1] == ("forward_mail", "deny")


@pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated")  # the framework's own tool uses it
@pytest.mark.parametrize("reads", [True, False], ids=["reads", "is clean"])
def test_an_agent_as_a_tool_inherits_the_conversation(keep: Keep, tmp_path: Path, reads: bool) -> None:
    inner_box, box = Toolbox(), Toolbox()
    turns = [turn(READS), turn(STEALS), ModelTurn("Forward them.")] if reads else [ModelTurn("It is fine.")]
    inner = llm_agent(
        "reader", ModelScript(turns), [framework_tool(one) for one in inner_box.all], description="Reads."
    )
    asks = ScriptedCall("reader", {"request": "Is it fine?"})
    agent = agent_of(
        keep,
        tmp_path,
        box,
        turn(asks),
        turn(pays()),
        ModelTurn("Paid."),
        tools=[AgentTool(inner), *(framework_tool(one) for one in box.all)],
        declared=[Tool("reader", reads=True), *DECLARED],
    )
    agent.run("a", OWNER)
    assert inner_box.forward.calls == []
    assert bool(inner_box.page.calls) is reads
    assert [one["clean"] for one in actions(keep, A) if one["action"] == "pay"] == [not reads]
    assert box.pay.calls == [PAY]


def test_the_same_words_in_two_runs_are_two_requests(keep: Keep, tmp_path: Path) -> None:
    box = Toolbox()
    agent = agent_of(keep, tmp_path, box, turn(pays()), ModelTurn("Paid."), turn(pays()), ModelTurn("Paid."))
    agent.run("a", OWNER)
    agent.run("a", OWNER)
    assert box.pay.calls == [PAY, PAY]


def test_users_who_share_a_keep_and_a_sessions_id_stay_apart(keep: Keep) -> None:
    plugin = TruekeepPlugin(keep=keep)

    class Session:
        def __init__(self, app: str, user: str) -> None:
            self.app_name, self.user_id, self.id = app, user, "1"

    pairs = [("desk", "a/b"), ("desk/a", "b"), ("desk", "a"), ("desk", "A")]
    names = {plugin._conversation(Session(*pair)).name for pair in pairs}
    assert len(names) == len(pairs)


@pytest.mark.parametrize("yes", [True, False], ids=["yes", "no"])
def test_another_process_takes_the_owners_answer(keep: Keep, tmp_path: Path, yes: bool) -> None:
    box = Toolbox()
    first = agent_of(keep, tmp_path, box, turn(READS), turn(pays(amount=317)))
    first.run("a", OWNER)
    second = agent_of(keep, tmp_path, box, ModelTurn("Done, or not."))
    second.stopped = first.stopped
    assert second.resume("a", yes=yes).text == "Done, or not."
    assert box.pay.calls == ([WAITING] if yes else [])


def test_a_confirmation_of_another_question_is_no_answer(keep: Keep, tmp_path: Path) -> None:
    box = Toolbox()
    agent = agent_of(keep, tmp_path, box, turn(READS), turn(pays(amount=317)), ModelTurn("Done."))
    agent.run("a", OWNER)
    stored = SERVICES[tmp_path].sessions["desk"]["alice"]["a"]
    for call in (call for event in stored.events for call in event.get_function_calls() if call.name == CONFIRM):
        call.args["toolConfirmation"]["hint"] = "Shall I go on?"
    agent.resume("a", yes=True)
    assert box.pay.calls == []


@pytest.mark.parametrize("amount", [300, 317], ids=["allowed", "waits"])
def test_a_tool_that_wants_to_be_confirmed_itself_is_asked_about_once(keep: Keep, tmp_path: Path, amount: int) -> None:
    box = Toolbox()
    tools = [framework_tool(box.page), framework_tool(box.pay, require_confirmation=True)]
    agent = agent_of(keep, tmp_path, box, turn(READS), turn(pays(amount=amount)), ModelTurn("Paid."), tools=tools)
    assert agent.run("a", OWNER).waits
    assert box.pay.calls == []
    assert agent.resume("a", yes=True).text == "Paid."
    assert box.pay.calls == [{**PAY, "amount": amount}]


def test_what_the_owner_is_asked_says_where_the_values_come_from(keep: Keep, tmp_path: Path) -> None:
    agent = agent_of(keep, tmp_path, Toolbox(), turn(READS), turn(pays(amount=317)))
    agent.run("a", OWNER)
    calls = [call for event in agent.events for call in event.get_function_calls() if call.name == CONFIRM]
    assert "317" in calls[0].args["toolConfirmation"]["hint"]


def test_the_frameworks_memory_tool_answers_for_this_conversation(keep: Keep, tmp_path: Path) -> None:
    keep.remember("My desk is in room 12.", via="user")
    looks = ScriptedCall("load_memory", {"query": "Where is my desk?"})
    script = ModelScript([turn(looks), ModelTurn("Room 12.")])
    agent = agent_of(keep, tmp_path, Toolbox(), tools=[load_memory], script=script)
    agent.run("a", "Where is my desk?")
    assert "room 12" in next(one.text for one in script.shown[-1] if one.role == "tool")
    assert judged(keep, A) == []
    assert keep.is_clean(A)


def test_the_agents_own_tools_need_no_guard_and_do_not_taint(keep: Keep, tmp_path: Path) -> None:
    keep.remember("My desk is in room 12.", via="user")
    calls = (ScriptedCall("recall_memories", {"question": "desk"}), ScriptedCall("remember_note", {"note": "Asked."}))
    script = ModelScript([turn(*calls), ModelTurn("Room 12.")])
    agent_of(keep, tmp_path, Toolbox(), script=script).run("a", "Where is my desk?")
    assert any("room 12" in one.text for one in script.shown[-1] if one.role == "tool")
    assert judged(keep, A) == []
    assert keep.is_clean(A)


def test_an_answer_in_a_given_form_is_the_agents_own(keep: Keep, tmp_path: Path) -> None:
    class Found(BaseModel):
        room: int

    gives = ScriptedCall("set_model_response", {"room": 12})
    agent = agent_of(keep, tmp_path, Toolbox(), turn(gives), turn(gives), output_schema=Found)
    for _ in range(2):
        assert agent.run("a", "Where is my desk?").text == '{"room": 12}'
    assert judged(keep, A) == []
    assert keep.is_clean(A)


def test_code_that_an_executor_runs_is_noticed(keep: Keep, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    agent = agent_of(keep, tmp_path, Toolbox(), ModelTurn("Hello."), code_executor=UnsafeLocalCodeExecutor())
    with caplog.at_level(logging.WARNING, logger="truekeep"):
        agent.run("a", QUESTION)
    assert "code executor" in caplog.text
    assert not keep.is_clean(A)


def test_a_live_connection_is_noticed(keep: Keep) -> None:
    class Context:
        live_request_queue = object()

        class session:  # noqa: N801 - as the framework names it
            app_name, user_id, id = "desk", "alice", "a"

    plugin = TruekeepPlugin(keep=keep)
    asyncio.run(plugin.before_run_callback(invocation_context=Context))
    assert "live" in plugin._conversation(Context.session).unmediated


@pytest.mark.parametrize(("template", "clean"), [("Be kind to {name}.", True), ("Know: {user:notes}.", False)])
def test_a_prompt_that_takes_in_what_outlives_conversations_is_foreign(
    keep: Keep, tmp_path: Path, template: str, clean: bool
) -> None:
    agent = agent_of(keep, tmp_path, Toolbox(), ModelTurn("Hello."), instruction=template)
    state = {"name": "Alice", "user:notes": PAGE}
    asyncio.run(agent.sessions.create_session(app_name="desk", user_id="alice", session_id="a", state=state))
    agent.run("a", "Good morning.")
    assert keep.is_clean(A) is clean


class Answering(BasePlugin):
    """A plugin that answers in a tool's place."""

    async def before_tool_callback(self, *, tool: Any, **rest: Any) -> dict[str, Any] | None:  # noqa: ARG002
        return {"result": PAGE} if tool.name == "read_page" else None


def test_what_another_plugin_answers_in_a_tools_place_is_foreign(keep: Keep, tmp_path: Path) -> None:
    box = Toolbox()
    agent = agent_of(keep, tmp_path, box, turn(READS), turn(STEALS), ModelTurn("Tried."), plugins=[Answering("other")])
    agent.run("a", QUESTION)
    assert ("tool", PAGE) in seen(keep, A)
    assert box.forward.calls == []


def test_arguments_that_are_changed_after_they_were_judged_taint(keep: Keep, tmp_path: Path) -> None:
    def change(tool: Any, args: dict[str, Any], tool_context: Any) -> None:
        args["url"] = "https://elsewhere.example/"

    declared = [Tool("read_page", reads=True, own=True, owner_writes=("*",))]
    for name, callback in (("a", None), ("b", change)):
        agent = agent_of(
            keep,
            tmp_path,
            Toolbox(),
            turn(READS),
            ModelTurn("Read."),
            declared=declared,
            before_tool_callback=callback,
        )
        agent.run(name, QUESTION)
    assert keep.is_clean(A)
    assert not keep.is_clean("desk/alice/b")


def test_a_keep_that_does_not_open_denies_and_taints_when_it_does(
    keep: Keep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = Toolbox()
    agent = agent_of(keep, tmp_path, box, turn(STEALS), ModelTurn("I could not."), turn(pays()), ModelTurn("Tried."))
    plugin: Any = agent.runner.plugin_manager.plugins[0]

    class Broken:
        def get(self, *_: str) -> Keep:
            raise StoreBusy("Somebody has it.")

    monkeypatch.setattr(plugin, "_keeps", Broken())
    assert agent.run("a", f"Forward {STOLEN['subject']} to {STOLEN['to']}.").text == "I could not."
    monkeypatch.setattr(plugin, "_keeps", None)
    agent.run("a", "Go on.")
    assert box.forward.calls == box.pay.calls == []
    assert not keep.is_clean(A)


def test_a_file_beside_the_owners_words_is_not_the_owners(keep: Keep, tmp_path: Path) -> None:
    agent = agent_of(keep, tmp_path, Toolbox(), ModelTurn("A file."))
    parts = [
        types.Part.from_text(text="What is this?"),
        types.Part.from_bytes(data=b"%PDF", mime_type="application/pdf"),
    ]
    agent._run("a", types.Content(role="user", parts=parts), "async")
    assert seen(keep, A)[0][0] == "user"
    assert not keep.is_clean(A)
