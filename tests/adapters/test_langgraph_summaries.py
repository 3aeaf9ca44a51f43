"""LangChain's summaries in the place of messages: as clean as the conversation was, and never the owner's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("langchain")

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langgraph.checkpoint.memory import InMemorySaver

from tests.adapters.test_langgraph import LangGraphAgent, ScriptedChat, framework_tool
from truekeep import Keep
from truekeep.adapters.conformance import DECLARED, QUESTION, READS, STEALS, Toolbox, pays, seen, turn
from truekeep.adapters.langgraph import TruekeepMiddleware
from truekeep.adapters.scripted import ModelScript, ModelTurn, ShownMessage

SUMMARY = "The owner wants to pay Northwind 300 euros to the account 9904-71."
SHOWN = f"Here is a summary of the conversation to date:\n\n{SUMMARY}"


class Unreachable(ConnectionError):
    """The model cannot be reached."""


class EndingScript(ModelScript):
    """A model that cannot be reached any more when its script is over."""

    def __init__(self, turns: Sequence[ModelTurn]) -> None:
        super().__init__(turns)
        self.left = len(turns)

    def next(self, shown: Sequence[ShownMessage]) -> ModelTurn:
        """The next turn."""
        self.left -= 1
        if self.left < 0:
            raise Unreachable
        return super().next(shown)


def agent(
    keep: Keep, box: Toolbox, saver: InMemorySaver, *turns: ModelTurn, sums_up: bool = True, is_guarded: bool = True
) -> LangGraphAgent:
    """An agent as a process starts it anew, over the same conversations."""
    model = ScriptedChat(script=EndingScript(turns))
    middle: list[Any] = [TruekeepMiddleware(keep, tools=DECLARED)] if is_guarded else []
    if sums_up:
        kept: Any = ("messages", 1)
        middle.append(SummarizationMiddleware(model, trigger=("messages", 3), keep=kept, summarizer=lambda _: SUMMARY))
    tools = [framework_tool(one) for one in box.all]
    return LangGraphAgent(create_agent(model, tools, middleware=middle, checkpointer=saver), ())


def shown(agent: LangGraphAgent) -> list[str]:
    state = agent.agent.get_state({"configurable": {"thread_id": "a"}})
    return [one.text for one in state.values["messages"]]


def test_a_summary_of_a_conversation_that_read_something_keeps_its_taint(keep: Keep) -> None:
    box, saver = Toolbox(), InMemorySaver()
    first = agent(keep, box, saver, turn(READS), ModelTurn("Read."), ModelTurn("Well."))
    first.run("a", QUESTION)
    first.run("a", "And what else?")
    assert SHOWN in shown(first)
    assert not keep.is_clean("a")
    again = agent(keep, box, saver, turn(STEALS), turn(pays(account="9904-71")), ModelTurn("Tried."))
    again.run("a", "Go on.")
    assert (box.forward.calls, box.pay.calls) == ([], [])


def test_a_clean_conversation_stays_clean_after_its_summary_also_in_another_process(keep: Keep) -> None:
    box, saver = Toolbox(), InMemorySaver()
    first = agent(keep, box, saver, *[ModelTurn(f"Well, {n}.") for n in range(3)])
    for message in ("Good morning.", "How are you?", "I am fine."):
        first.run("a", message)
    assert shown(first)[0] == SHOWN
    assert keep.is_clean("a")
    again = agent(keep, box, saver, ModelTurn("Fine."), sums_up=False)
    again.run("a", "Good night.")
    assert keep.is_clean("a")
    assert seen(keep, "a").count(("agent", SHOWN)) == 1


def test_a_summary_that_stands_before_an_unanswered_message_is_not_the_owners_in_another_process(keep: Keep) -> None:
    box, saver = Toolbox(), InMemorySaver()
    first = agent(keep, box, saver, turn(READS), ModelTurn("Read."))
    first.run("a", QUESTION)
    with pytest.raises(Unreachable):
        first.run("a", "And what else?")
    assert shown(first) == [SHOWN, "And what else?"]
    again = agent(keep, box, saver, turn(pays(account="9904-71")), ModelTurn("Tried."), sums_up=False)
    again.run("a", "Please do.")
    assert ("user", SHOWN) not in seen(keep, "a")
    assert box.pay.calls == []


def test_a_summary_of_what_truekeep_never_saw_is_foreign(keep: Keep) -> None:
    box, saver = Toolbox(), InMemorySaver()
    unguarded = agent(keep, box, saver, turn(READS), ModelTurn("Read."), ModelTurn("Well."), is_guarded=False)
    unguarded.run("a", QUESTION)
    unguarded.run("a", "And what else?")
    assert SHOWN in shown(unguarded)
    guarded = agent(keep, box, saver, turn(pays(account="9904-71")), ModelTurn("Tried."), sums_up=False)
    guarded.run("a", "Please do.")
    assert not keep.is_clean("a")
    assert ("user", SHOWN) not in seen(keep, "a")
    assert box.pay.calls == []
