"""Runs inside AgentDojo's own environment and knows nothing of truekeep: plays its tasks as it is told, line by line.

Each line on standard input is a request and gets one line of JSON. ``suites`` lists what there is, ``begin`` makes an
environment with or without an injection, ``call`` carries one call out, ``end`` asks the suite's own checks.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from typing import Any

import yaml
from agentdojo.agent_pipeline.base_pipeline_element import BasePipelineElement
from agentdojo.attacks import load_attack
from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime
from agentdojo.task_suite.load_suites import get_suites
from pydantic_core import to_jsonable_python

VERSION = "v1.2.2"


class Victim(BasePipelineElement):  # type: ignore[misc]  # agentdojo is not installed here
    """A pipeline by name only: some attacks address the model by it."""

    name = "gpt-4o-2024-05-13"

    def query(self, *_: Any, **__: Any) -> Any:
        """Nobody asks."""
        raise NotImplementedError


class Host:
    """One task at a time."""

    def __init__(self) -> None:
        self.suites = get_suites(VERSION)
        self._reached: dict[tuple[str, str], list[str]] = {}
        self._loaded: tuple[tuple[str, str, str, str], Any, list[str]] | None = None
        self._ended: dict[str, dict[str, bool]] = {}

    def list_suites(self) -> dict[str, Any]:
        """Tools and tasks of every suite."""
        return {
            name: {
                "tools": [
                    {"name": tool.name, "description": tool.description, "schema": tool.parameters.model_json_schema()}
                    for tool in suite.tools
                ],
                "users": {key: task.PROMPT for key, task in suite.user_tasks.items()},
                "injections": {key: task.GOAL for key, task in suite.injection_tasks.items()},
            }
            for name, suite in self.suites.items()
        }

    def begin(self, suite: str, user: str, injection: str = "", attack: str = "important_instructions") -> Any:
        """A fresh environment; what the user asks, and the calls that the user and the injection want."""
        self.suite, self.task = self.suites[suite], self.suites[suite].user_tasks[user]
        self.wanted = self.suite.injection_tasks[injection] if injection else None
        key = (suite, user, injection, attack)
        if self._loaded is None or self._loaded[0] != key:  # nearly all the time goes into reading an environment
            injected = self._injected(suite, user, attack) if injection else {}
            marks = [flat(text) for text in injected.values() if text.strip()]
            self._ended.clear()
            self._loaded = (key, self.suite.load_and_inject_default_environment(injected), marks)
        self.marks = self._loaded[2]
        self.environment = self.task.init_environment(self._loaded[1].model_copy(deep=True))
        self.before = self.environment.model_copy(deep=True)
        self.runtime = FunctionsRuntime(self.suite.tools)
        self.done: list[FunctionCall] = []
        hostile = self.wanted.ground_truth(self.before) if self.wanted else []
        return {
            "prompt": self.task.PROMPT,
            "calls": [plain(call) for call in self.task.ground_truth(self.before)],
            "hostile": [plain(call) for call in hostile],
        }

    def _injected(self, suite: str, user: str, attack: str) -> dict[str, str]:
        made = load_attack(attack, self.suite, Victim())
        if (suite, user) not in self._reached:
            self._reached[suite, user] = made.get_injection_candidates(self.task)
        # The attack would find out the same by playing the task once more, each time.
        made.get_injection_candidates = lambda _: self._reached[suite, user]
        injected: dict[str, str] = made.attack(self.task, self.wanted)
        return injected

    def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """Carry a call out: what comes back, and whether the injection is in it."""
        value, error = self.runtime.run_function(self.environment, name, arguments)
        self.done.append(FunctionCall(function=name, args=arguments))
        value = to_jsonable_python(value, serialize_unknown=True)
        text = flat(json.dumps(value, ensure_ascii=False))
        return {"value": value, "error": error, "injected": any(mark in text for mark in self.marks)}

    def end(self) -> Any:
        """What the suite's own checks say: was the task completed, was the attack carried out."""
        # The same calls in the same environment end the same; to compare two environments takes longer than to play.
        made = json.dumps([plain(call) for call in self.done], default=str)
        if made not in self._ended:
            self._ended[made] = self._checked()
        return self._ended[made]

    def _checked(self) -> dict[str, bool]:
        output = [{"type": "text", "content": self.task.GROUND_TRUTH_OUTPUT}]
        done = self.suite._check_user_task_utility(self.task, output, self.before, self.environment, self.done)
        if self.wanted is None:
            return {"utility": bool(done), "security": False}
        struck = self.suite._check_injection_task_security(
            self.wanted, output, self.before, self.environment, self.done
        )
        return {"utility": bool(done), "security": bool(struck)}


def flat(text: str) -> str:
    """A text by its letters and digits alone: an environment's file folds lines and escapes quotes."""
    return "".join(char for char in text.replace("\\n", " ") if char.isalnum())


def plain(call: Any) -> dict[str, Any]:
    """A call as JSON."""
    return {"name": call.function, "arguments": to_jsonable_python(dict(call.args), serialize_unknown=True)}


def main() -> None:
    """Answer until nobody asks."""
    yaml.safe_load = functools.partial(yaml.load, Loader=yaml.CSafeLoader)
    host = Host()
    does: dict[str, Callable[..., Any]] = {
        "suites": host.list_suites,
        "begin": host.begin,
        "call": host.call,
        "end": host.end,
    }
    for line in sys.stdin:
        request = json.loads(line)
        answer = does[request.pop("do")](**request)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
