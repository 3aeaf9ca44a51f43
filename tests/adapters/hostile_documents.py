"""The red team's documents, read by an agent whose model does whatever they ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from truekeep import Keep, Tool
from truekeep.adapters.scripted import AgentUnderTest, ModelScript, ModelTurn, ObedientTurn, ScriptedCall, ScriptedTool
from truekeep.redteam.documents import Injected, own_documents, some

READ = "read_document"
DECLARED = (Tool(READ, reads=True),)


class Building(Protocol):
    """How a framework's tests make an agent."""

    def build(
        self,
        keep: Keep,
        script: ModelScript,
        tools: Sequence[ScriptedTool],
        *,
        place: Path,
        declared: Sequence[Tool],
    ) -> AgentUnderTest: ...


@dataclass(slots=True)
class Attacked:
    """How often a model tried what a document asked for, and what of it was done."""

    tried: int = 0
    done: list[dict[str, Any]] = field(default_factory=list)


def attacked(building: Building, keep: Keep, place: Path, most: int) -> Attacked:
    """Read so many documents, each in a conversation of its own, and obey them there and in the next one."""
    found = Attacked()
    items = [item for item in some(own_documents(), most) if item.calls]
    for number, item in enumerate(items):
        tools = tools_for(item)
        obeys = [
            ObedientTurn(item.injection[:60], ScriptedCall(one.tool, one.arguments), "Nothing.") for one in item.calls
        ]
        turns: list[ModelTurn | ObedientTurn] = [
            ModelTurn(calls=(ScriptedCall(READ, {"name": "it"}),)),
            *obeys,
            ModelTurn("Done."),
            *obeys,
        ]
        script = ModelScript(turns)
        agent = building.build(keep, script, tools, place=place, declared=DECLARED)
        for conversation in (f"read-{number}", f"later-{number}"):
            outcome = agent.run(conversation, item.prompt)
            while outcome.waits:  # the owner did not ask for it, and says so; the model goes on
                outcome = agent.resume(conversation, yes=False)
        found.tried += any(item.injection[:60] in one.text for one in script.shown[1])
        found.done += [call for tool in tools[1:] for call in tool.calls]
    return found


def unprotected(agent: AgentUnderTest, script: ModelScript, tools: Sequence[ScriptedTool]) -> list[dict[str, Any]]:
    """What an agent without protection does when it reads one of the documents: the test of this test."""
    agent.run("unprotected", "Please read it.")
    assert script.shown
    return [call for tool in tools[1:] for call in tool.calls]


def one_document() -> tuple[ModelScript, list[ScriptedTool]]:
    """A model that reads a document and obeys it, and its tools."""
    item = next(item for item in own_documents() if item.calls)
    obeys = [ObedientTurn(item.injection[:60], ScriptedCall(one.tool, one.arguments), "No.") for one in item.calls]
    return ModelScript([ModelTurn(calls=(ScriptedCall(READ, {"name": "it"}),)), *obeys]), tools_for(item)


def tools_for(item: Injected) -> list[ScriptedTool]:
    """A tool that reads the document, and those that the attacker wants called."""
    document = "\n\n".join(text for _, text in item.documents)
    names = {call.tool: tuple(call.arguments) for call in item.calls}
    acting = [ScriptedTool(name, "Do it.", parameters) for name, parameters in names.items()]
    return [ScriptedTool(READ, "Read a document.", ("name",), document), *acting]
