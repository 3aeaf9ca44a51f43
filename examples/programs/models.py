"""The models of these programs: a script that needs no network, or any endpoint that speaks chat completions.

    MODEL_URL=http://127.0.0.1:8000/v1 MODEL_NAME=qwen3 python examples/programs/personal_assistant.py

A model is given a prompt and the tools, and answers with the next call or with words. What it answers is never trusted:
the boundary judges its calls, the gate its notes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.request import Request, urlopen

Call = tuple[str, dict[str, Any]]
Model = Callable[[str], Call | str]
Tools = Mapping[str, Sequence[str]]
"""Each tool's name with those of its arguments."""
_SECONDS = 60
_LONGEST = 1_000_000


def model(*turns: Call | str, tools: Tools) -> Model:
    """The endpoint that MODEL_URL names, or else a model that says these turns whatever it is told."""
    url = os.environ.get("MODEL_URL")
    if url:
        return lambda prompt: _asked(url, prompt, tools)
    left: Iterator[Call | str] = iter(turns)
    return lambda _prompt: next(left, "I have nothing more to do.")


def _asked(url: str, prompt: str, tools: Tools) -> Call | str:
    asked = {
        "model": os.environ.get("MODEL_NAME", "default"),
        "messages": [{"role": "user", "content": prompt}],
        "tools": [{"type": "function", "function": _described(name, of)} for name, of in tools.items()],
    }
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ.get('MODEL_KEY', 'none')}"}
    request = Request(f"{url}/chat/completions", json.dumps(asked).encode(), headers)  # noqa: S310 - the user's own
    with urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
        message = json.loads(answer.read(_LONGEST))["choices"][0]["message"]
    for call in message.get("tool_calls") or ():
        return call["function"]["name"], json.loads(call["function"]["arguments"])
    return str(message["content"])


def _described(name: str, arguments: Sequence[str]) -> dict[str, Any]:
    properties = {one: {"type": "string"} for one in arguments}
    return {"name": name, "parameters": {"type": "object", "properties": properties, "required": list(arguments)}}
