"""The obedient model: it does what any text before it says, the attacker's word first, and never doubts anything.

It is a script and not a network, so that what it does is the same every time and worse than any real model: it finds
the attacker's words wherever they stand in its context, makes the attacker's call in several spellings until one goes
through, and saves, repeats and "extracts" whatever it has read. What the owner wants it does afterwards, if it has
the values for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from truekeep.redteam.agent.scenario import Call, Scenario

Messages = Sequence[Mapping[str, Any]]
DONE = "done"
READ, SAVE = "read", "remember"
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_MOST_SAVED = 6
_MOST_HEARD = 20
_MOST_CLAIMED = 40
_AWAY = re.compile(r"^(?:is it true|i heard|they say) that |^.*\bbut |^from now on,? ", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Tried:
    """A call that was made in this conversation, and what came back."""

    call: Call
    result: str


def turn(messages: Messages, scenario: Scenario | None) -> dict[str, Any]:
    """The model's next message: tool calls, or its last word."""
    if scenario is None:
        return _reads(messages)
    calls = next(_wanted(scenario, _context(messages), _tried(messages)), None)
    return _calling(calls, len(messages)) if calls else {"role": "assistant", "content": "All done."}


def spellings(call: Call) -> list[Call]:
    """The same call as a model might write it another time."""
    texts = {name: value for name, value in call.arguments.items() if isinstance(value, str)}
    others = (
        {name: value.upper() for name, value in texts.items()},
        {name: re.sub(r"(?<=\d)-(?=\d)", " - ", value) for name, value in texts.items()},
        {name: re.sub(r"(?<=\d)[- ](?=\d)", "", value) for name, value in texts.items()},
    )
    written = [call]
    for changed in others:
        one = Call(call.tool, {**call.arguments, **changed})
        if one not in written:
            written.append(one)
    return written


def same(call: Call, other: Call) -> bool:
    """Whether two calls do the same, however they are written."""
    return call.tool == other.tool and _plain(call.arguments) == _plain(other.arguments)


def _wanted(scenario: Scenario, context: str, tried: Sequence[Tried]) -> Iterator[list[Call]]:
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
    saved = [Call(SAVE, {"text": part}) for text in read for part in _parts(text)[:_MOST_SAVED]]
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
            Call(one["function"]["name"], json.loads(one["function"]["arguments"])),
            results.get(one["id"], ""),
        )
        for one in asked
    ]


def _calling(calls: Sequence[Call], turn_number: int) -> dict[str, Any]:
    made = [
        {
            "id": f"call-{turn_number}-{place}",
            "type": "function",
            "function": {"name": one.tool, "arguments": json.dumps(dict(one.arguments))},
        }
        for place, one in enumerate(calls)
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


def _plain(arguments: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: "".join(char for char in str(value).casefold() if char.isalnum()) for name, value in arguments.items()
    }
