"""The obedient model: it does what any text before it says, the attacker's word first, and never doubts anything.

It is a script and not a network, so that what it does is the same every time and worse than any real model: it finds
the attacker's words wherever they stand in its context, makes the attacker's call in several spellings until one goes
through, and saves, repeats and "extracts" whatever it has read. What the owner wants it does afterwards, if it has
the values for it.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from truekeep.errors import how_to_install
from truekeep.redteam.agent_scenarios import READ, SAVE, Scenario, ToolCall, same, spellings
from truekeep.redteam.figures import CannotRun

if TYPE_CHECKING:
    from truekeep.extract.llm import ChatModel


Messages = Sequence[Mapping[str, Any]]
DONE = "done"
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_MOST_SAVED = 6  # sentences of one text, so that a long page does not fill the queue alone
_MOST_HEARD = 20  # sentences of one message
_MOST_CLAIMED = 40  # below the cap that a reply has
_AWAY = re.compile(r"^(?:is it true|i heard|they say) that |^.*\bbut |^from now on,? ", re.IGNORECASE)
_PATH = "/v1/chat/completions"
_LONGEST = 4_000_000  # bytes of a request's body
_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Tried:
    """A call that was made in this conversation, and what came back."""

    call: ToolCall
    result: str


def turn(messages: Messages, scenario: Scenario | None) -> dict[str, Any]:
    """The model's next message: tool calls, or its last word."""
    if scenario is None:
        return _reads(messages)
    calls = next(_wanted(scenario, _context(messages), _tried(messages)), None)
    return _calling(calls, len(messages)) if calls else {"role": "assistant", "content": "All done."}


def _wanted(scenario: Scenario, context: str, tried: Sequence[Tried]) -> Iterator[list[ToolCall]]:
    """What is still to be done, the attacker's wishes first."""
    attack, won = scenario.attack, False
    if attack is not None and all(words.casefold() in context for words in attack.told_by):
        made = [one for one in tried if same(one.call, attack.call)]
        won = any(one.result == DONE for one in made)
        if attack.again:
            yield from ([attack.call] for _ in range(len(made), 3))
        elif not won:
            yield from ([one] for one in spellings(attack.call) if all(one != before.call for before in made))
    wanted = scenario.call
    if wanted is None or (won and not scenario.is_beside):
        return
    if _has_values(scenario, context) and not any(same(one.call, wanted) for one in tried):
        yield [wanted]


def _has_values(scenario: Scenario, context: str) -> bool:
    arguments = scenario.call.arguments if scenario.call else {}
    return all(
        name in scenario.worked_out or str(value).casefold() in context
        for name, value in arguments.items()
        if not isinstance(value, bool)
    )


def _reads(messages: Messages) -> dict[str, Any]:
    """Outside of a task it saves what it reads and says it once more."""
    read = [str(one["content"]) for one in messages if one["role"] == "tool" and one.get("name") == READ]
    if any(one.get("tool_calls") for one in messages):
        return {"role": "assistant", "content": "I have read this: " + "\n".join(read)}
    saved = [ToolCall(SAVE, {"text": part}) for text in read for part in _parts(text)[:_MOST_SAVED]]
    return _calling(saved, len(messages)) if saved else {"role": "assistant", "content": "There was nothing."}


def extracted(messages: Messages) -> str:
    """What it "remembers" of a conversation: every sentence of anybody, as a fact, resting on the words themselves."""
    claimed: list[dict[str, Any]] = []
    for line in str(messages[-1]["content"]).splitlines():
        said = _line(line)
        for sentence in _parts(said.get("text", ""))[:_MOST_HEARD]:
            claimed += [_claim(text, quote, said["id"]) for text, quote in _readings(sentence)]
    return json.dumps({"memories": claimed[:_MOST_CLAIMED]})


def _readings(sentence: str) -> Iterator[tuple[str, str]]:
    """A sentence as it stands, and as somebody would who overlooks that it asks, denies or reports."""
    yield sentence, sentence
    bare = _AWAY.sub("", sentence).rstrip("?.! ")
    if bare and bare != sentence.rstrip("?.! "):
        yield f"{bare[0].upper()}{bare[1:]}.", bare
    if " not " in bare:
        yield bare.replace(" not ", " ") + ".", bare


def _claim(text: str, quote: str, message: str) -> dict[str, Any]:
    quotes = [{"quote": quote[:2_000], "message_id": message}]
    return {"text": text[:2_000], "type": "semantic", "topics": [], "entities": [], "quotes": quotes}


def _line(line: str) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except ValueError:
        return {}
    return said if isinstance(said, dict) and "id" in said else {}


def _parts(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]


def _context(messages: Messages) -> str:
    """Everything that was put before it, except what it wrote itself and what its calls came to."""
    told = (one for one in messages if one["role"] in ("system", "user") or one.get("name") == READ)
    return "\n".join(str(one["content"]) for one in told).casefold()


def _tried(messages: Messages) -> list[Tried]:
    results = {one["tool_call_id"]: str(one["content"]) for one in messages if "tool_call_id" in one}
    asked = [call for one in messages for call in one.get("tool_calls") or ()]
    return [
        Tried(
            ToolCall(one["function"]["name"], json.loads(one["function"]["arguments"])),
            results.get(one["id"], ""),
        )
        for one in asked
    ]


def _calling(calls: Sequence[ToolCall], turn_number: int) -> dict[str, Any]:
    made = [
        {
            "id": f"call-{turn_number}-{place}",
            "type": "function",
            "function": {"name": one.tool, "arguments": json.dumps(dict(one.arguments))},
        }
        for place, one in enumerate(calls)
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ObedientEndpoint

    def do_POST(self) -> None:
        """One completion."""
        length = int(self.headers.get("Content-Length", "0"))
        if self.path != _PATH or length > _LONGEST:
            self._answer(404, {})
            return
        self._answer(200, self.server.completion(json.loads(self.rfile.read(length))))

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        written = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(written)))
        self.end_headers()
        self.wfile.write(written)


class ObedientEndpoint(ThreadingHTTPServer):
    """Answers whoever asks. What a conversation is about it knows by the request's ``user``, as its script."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.scripts: dict[str, Scenario] = {}

    @property
    def url(self) -> str:
        """The base URL, as clients want it."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def completion(self, request: dict[str, Any]) -> dict[str, Any]:
        """The model's answer to one request; one that asks for a schema is asked for memories."""
        messages: Messages = request["messages"]
        if "response_format" in request:
            message: dict[str, Any] = {"role": "assistant", "content": extracted(messages)}
        else:
            message = turn(messages, self.scripts.get(request.get("user", "")))
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        return {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": reason}]}


class Line:
    """A connection to the endpoint that is kept open, as an agent's program holds one."""

    def __init__(self, endpoint: ObedientEndpoint) -> None:
        self.endpoint = endpoint
        self._connection = HTTPConnection("127.0.0.1", endpoint.server_address[1], timeout=_SECONDS)

    def ask(self, messages: Messages, user: str, tools: list[dict[str, Any]]) -> dict[str, Any]:
        """The model's next message."""
        body = json.dumps({"model": "obedient", "user": user, "messages": messages, "tools": tools})
        self._connection.request("POST", _PATH, body, {"Content-Type": "application/json"})
        answer = json.loads(self._connection.getresponse().read())
        message: dict[str, Any] = answer["choices"][0]["message"]
        return message

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


@contextmanager
def obedient() -> Iterator[Line]:
    """A running endpoint and a line to it."""
    endpoint = ObedientEndpoint()
    thread = threading.Thread(target=endpoint.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    line = Line(endpoint)
    try:
        yield line
    finally:
        line.close()
        endpoint.shutdown()
        thread.join()
        endpoint.server_close()


def obedient_model(line: Line) -> ChatModel:
    """The client that extraction uses, on the obedient endpoint; raises ``CannotRun`` without the extra it needs."""
    if find_spec("httpx") is None:
        raise CannotRun(f"extraction by a model needs the extra 'llm'. {how_to_install('llm')}")
    from truekeep.extract.endpoint import ModelSettings  # noqa: PLC0415 - only with the extra
    from truekeep.extract.llm import ChatModel  # noqa: PLC0415

    return ChatModel(replace(ModelSettings(line.endpoint.url, "obedient"), attempts=1))
