"""BEAM: long conversations of one person with an assistant, and questions about what was said far back.

What the person said is learned in sessions of twenty messages, verbatim, and asked for later, among what may act alone.
Found is a question for which one of the person's own messages that the set names as its source is among
the first five. Beside it the same messages ranked by cosine with the same embedder.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from benchmarks.grounds.fetched import Files, Ground
from benchmarks.grounds.planting import counted, is_found, keep_for
from truekeep.embed import default
from truekeep.redteam.figures import ResultRow

GROUND = Ground("BEAM", repository="mohammadtavakoli78/BEAM")
_CHATS = range(1, 6)
_SESSION, _K = 20, 5
_START = datetime(2024, 3, 1, 9, tzinfo=UTC)


def measured(files: Files) -> Iterator[ResultRow]:
    """The first five conversations of 100,000 tokens."""
    ours, plain = list[bool](), list[bool]()
    for number in _CHATS:
        said = messages(json.loads(files.read(f"chats/100K/{number}/chat.json")))
        asked = questions(_probes(files, number), said)
        texts = list(said.values())
        rows = default().embed(texts, "passage")
        with keep_for("strict") as keep:
            for first in range(0, len(texts), _SESSION):
                with keep.session(f"s-{first}", mediated=True) as session:
                    for text in texts[first : first + _SESSION]:
                        session.observe("user", text[:50_000], at=_START)
                keep.extraction.run(None)
            for question, sources in asked:
                ours.append(is_found(keep, question, [said[source] for source in sources], acting=True))
                order = np.argsort(-(rows @ default().embed([question], "query")[0]), kind="stable")[:_K]
                plain.append(bool({texts[place] for place in order} & {said[source] for source in sources}))
    yield counted(GROUND.name, "honest_found", ours, "five conversations of 100K tokens")
    yield counted(GROUND.name, "cosine_found", plain, "five conversations of 100K tokens")


def messages(chat: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """The person's messages by number, without the mark that the set's own generator leaves at their ends."""
    turns = (message for batch in chat for turn in batch["turns"] for message in turn)
    return {one["id"]: one["content"].split("->->")[0].strip() for one in turns if one["role"] == "user"}


def questions(probes: Mapping[str, Any], said: Mapping[int, str]) -> list[tuple[str, list[int]]]:
    """Each question whose sources include messages of the person."""
    listed = []
    for probe in (probe for kind in probes.values() for probe in kind):
        sources = [number for number in _numbers(probe.get("source_chat_ids")) if number in said]
        if sources:
            listed.append((probe["question"], sources))
    return listed


def _probes(files: Files, number: int) -> dict[str, Any]:
    text = files.read(f"chats/100K/{number}/probing_questions/probing_questions.json")
    try:
        loaded: dict[str, Any] = json.loads(text)
    except ValueError:  # some of its files are Python's own notation
        loaded = ast.literal_eval(text)
    return loaded


def _numbers(given: Any) -> Iterator[int]:
    if isinstance(given, int):
        yield given
    elif isinstance(given, Mapping):
        for inner in given.values():
            yield from _numbers(inner)
    elif isinstance(given, list):
        for inner in given:
            yield from _numbers(inner)
