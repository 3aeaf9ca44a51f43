"""Extraction: how long a custom prompt takes to judge."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from benchmarks.harness import Figure, cpu_per_call
from truekeep.extract.prompt_safety import MAX_PROMPT, validate_custom_prompt

PROMPTS = {
    "English prose": "Extract each important preference the speaker states, with all names, always. ",
    "JSON example": 'Return {{"memories": [{{"text": "...", "type": "semantic"}}]}} (see 1. and 2) for {message}.\n',
    "Slovak prose": "Z konverzácie vyber dôležité rozhodnutia, termíny a mená osôb; ostatné vynechaj. ",
    "Chinese prose": "从对话中提取重要的决定和日期。",
    "doubled braces": "{{}}",
}


def measure() -> Iterable[Figure]:
    """Milliseconds for a prompt of the longest length."""
    longest = {name: (text * MAX_PROMPT)[: MAX_PROMPT // len(text) * len(text)] for name, text in PROMPTS.items()}
    calls = {name: (lambda text=text: validate_custom_prompt(text)) for name, text in longest.items()}
    for name, seconds in cpu_per_call(calls, rounds=15, repeat=2).items():
        yield Figure(f"prompt of {MAX_PROMPT:,} characters, {name}", statistics.median(seconds) * 1000, "ms", 10.0)
