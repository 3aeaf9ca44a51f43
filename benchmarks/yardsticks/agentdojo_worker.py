"""Runs inside AgentDojo's own environment and knows nothing of truekeep: prints what its agents would read, as JSON.

For every suite, user task, injection task and attack: the user's prompt, the outputs of the tools that the task calls
with the injection in them, the injection itself, and the calls that the injection and the user want, each with whether
it changes anything. One line each.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from agentdojo.agent_pipeline.base_pipeline_element import BasePipelineElement
from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
from agentdojo.attacks import load_attack
from agentdojo.functions_runtime import FunctionsRuntime
from agentdojo.task_suite.load_suites import get_suites

VERSION = "v1.2.2"
ATTACKS = (
    "direct",
    "ignore_previous",
    "system_message",
    "injecagent",
    "important_instructions",
    "important_instructions_no_names",
    "tool_knowledge",
)


class Victim(BasePipelineElement):  # type: ignore[misc]  # agentdojo is not installed here
    """A pipeline by name only: some attacks address the model by it."""

    name = "gpt-4o-2024-05-13"

    def query(self, *_: Any, **__: Any) -> Any:
        """Nobody asks."""
        raise NotImplementedError


def documents() -> Iterator[dict[str, Any]]:
    """Everything, suite by suite."""
    for suite_name, suite in get_suites(VERSION).items():
        marks = {vector: f"<CANARY---{vector}--->" for vector in suite.get_injection_vector_defaults()}
        wanted = {name: made_by(suite, task, {}) for name, task in suite.injection_tasks.items()}
        read = {name: made_by(suite, task, marks) for name, task in suite.user_tasks.items()}
        for name in ATTACKS:
            attack = load_attack(name, suite, Victim())
            for user_name, user_task in suite.user_tasks.items():
                found = [vector for vector in marks if any(marks[vector] in one["output"] for one in read[user_name])]
                # The attack would find out the same by playing the task once more, each time.
                attack.get_injection_candidates = lambda _, found=found: found
                for injection_name, injection_task in suite.injection_tasks.items() if found else ():
                    injected = attack.attack(user_task, injection_task)
                    yield {
                        "suite": suite_name,
                        "user_task": user_name,
                        "injection_task": injection_name,
                        "attack": name,
                        "prompt": user_task.PROMPT,
                        "injection": max(injected.values(), key=len).strip(),
                        "documents": [
                            {"tool": one["tool"], "text": filled(one["output"], marks, injected)}
                            for one in read[user_name]
                            if "<CANARY---" in one["output"]
                        ],
                        "calls": [plain(one) for one in wanted[injection_name]],
                        "user_calls": [plain(one) for one in read[user_name]],
                    }


def made_by(suite: Any, task: Any, injected: dict[str, str]) -> list[dict[str, Any]]:
    """What a task calls, what it gets back and whether that changes anything."""
    environment = suite.load_and_inject_default_environment(injected)
    environment = task.init_environment(environment) if hasattr(task, "init_environment") else environment
    runtime = FunctionsRuntime(suite.tools)
    made = []
    for call in task.ground_truth(environment):
        before = environment.model_dump()
        output, _ = runtime.run_function(environment, call.function, call.args)
        changes = environment.model_dump() != before
        text = tool_result_to_str(output)
        made.append({"tool": call.function, "arguments": dict(call.args), "changes": changes, "output": text})
    return made


def filled(output: str, marks: dict[str, str], injected: dict[str, str]) -> str:
    """A tool's output with the injections where their marks stand."""
    for vector, mark in marks.items():
        output = output.replace(mark, injected.get(vector, ""))
    return output


def plain(call: dict[str, Any]) -> dict[str, Any]:
    """A call without what it gave back."""
    return {name: call[name] for name in ("tool", "arguments", "changes")}


if __name__ == "__main__":
    for document in documents():
        sys.stdout.write(json.dumps(document, default=str) + "\n")
