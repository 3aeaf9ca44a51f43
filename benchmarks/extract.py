"""Extraction: what the built-in extractor finds and gets wrong, and how long a custom prompt takes to judge."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from benchmarks.extract_snippets import SETS, score, snippets
from benchmarks.harness import Figure, cpu_per_call
from truekeep.extract.conversation import Conversation
from truekeep.extract.offline.extractor import extract_statements
from truekeep.extract.prompt_safety import MAX_PROMPT, validate_custom_prompt

PROMPTS = {
    "English prose": "Extract each important preference the speaker states, with all names, always. ",
    "JSON example": 'Return {{"memories": [{{"text": "...", "type": "semantic"}}]}} (see 1. and 2) for {message}.\n',
    "Slovak prose": "Z konverzácie vyber dôležité rozhodnutia, termíny a mená osôb; ostatné vynechaj. ",
    "Chinese prose": "从对话中提取重要的决定和日期。",
    "doubled braces": "{{}}",
}


def measure() -> list[Figure]:
    """Shares of wrong and missed facts, milliseconds for a prompt of the longest length, microseconds per message."""
    return [*_facts(), *_prompts(), _message()]


def _found(talk: Conversation) -> Iterable[str]:
    return [statement.text for statement in extract_statements(talk)]


def _facts() -> Iterable[Figure]:
    for name in SETS:
        chosen = snippets(name)
        total = score(_found, chosen)
        size = f"{len(chosen)} snippets, {total.facts} facts, {total.candidates} candidates"
        yield Figure(f"extract: wrong candidates, {name}", 1 - total.precision, "share", 0.1, size)
        yield Figure(f"extract: missed facts, {name}", 1 - total.recall, "share", 0.4, size)


def _prompts() -> Iterable[Figure]:
    longest = {name: (text * MAX_PROMPT)[: MAX_PROMPT // len(text) * len(text)] for name, text in PROMPTS.items()}
    calls = {name: (lambda text=text: validate_custom_prompt(text)) for name, text in longest.items()}
    for name, seconds in cpu_per_call(calls, rounds=15, repeat=2).items():
        yield Figure(f"prompt of {MAX_PROMPT:,} characters, {name}", statistics.median(seconds) * 1000, "ms", 10.0)


def _message() -> Figure:
    talks = [snippet.conversation for name in SETS for snippet in snippets(name)]
    timed = cpu_per_call({"all": lambda: [extract_statements(talk) for talk in talks]}, rounds=5, repeat=1)
    return Figure("extract: one short conversation", statistics.median(timed["all"]) / len(talks) * 1e6, "µs")
