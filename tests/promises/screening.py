"""P5: nothing comes in but through the gate, and nothing goes out that the rules of this moment block.

An operator adds a rule and takes it back, on both sides. While it is in force no way out tells what it blocks, however
long ago that was stored; only a snapshot that was frozen before does, and it says that it is stale.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.promises.record import PromiseBroken
from tests.promises.side import Side
from tests.promises.twins import Twins
from tests.promises.vocabulary import INJECTION
from truekeep.rules.registry import Registry, write_registry

BLOCKED = "Gold"
"""The one word that the rule looks for; it is the value of a fact."""
_RULE = """
title: The word of an operator
id: operators_word
description: A rule that an operator adds later.
status: stable
maturity: stable
severity: high
schema_version: "1.0"
tags: {category: prompt-injection, threat: prompt-injection, scope: strict}
agent_source: {type: memory_access}
detection:
  conditions:
    - {field: content, operator: regex, value: '\\bGold\\b'}
  condition: any
response: {actions: [block]}
test_cases:
  true_positives: [{input: "the plan is Gold", expected: triggered}]
  true_negatives: [{input: "the plan is golden", expected: not_triggered}]
"""


@dataclass(frozen=True)
class Rule:
    """The operator adds the rule, or takes it back."""

    is_added: bool

    def run(self, twins: Twins) -> None:
        for side in twins.sides:
            path = side.home.parent / "operators_word.yaml"  # one for both, so that it is read once
            path.write_text(_RULE)
            registry = Registry().with_source(path, "enforce") if self.is_added else Registry()
            write_registry(side.home, registry)
            side.is_strict = self.is_added


def check_screens(side: Side) -> None:
    """Every way out keeps to the rules in force, and what no screen lets in is nowhere."""
    if any(INJECTION in memory.text for memory in side.memories().values()):
        raise PromiseBroken(f"P5: {INJECTION!r} was stored")
    if not side.is_strict:
        return
    for way, text in _told(side):
        if BLOCKED in text:
            raise PromiseBroken(f"P5: {way} tells {text!r}, which a rule in force blocks")
    for session, frozen in side.frozen.items():
        if BLOCKED in frozen and not side.keep.snapshot(session).stale:
            raise PromiseBroken(f"P5: the snapshot of {session} shows what a rule blocks, and does not say so")


def _told(side: Side) -> Iterator[tuple[str, str]]:
    keep = side.keep
    for one in keep.get_memories():
        yield "the list", " ".join((one["content"], one["gist"], one["question"], *one["topics"]))
    for hit in keep.recall("What is Northwind's plan?", k=50, background=True):
        yield "recall", hit.text
    for one in keep.bind("agent").get_memories():
        yield "a handle's list", one["content"]
    for line in keep.export():
        yield "the export", line
    for memory_id in list(side.memories())[:5]:
        yield "a memory's page", str(keep.get_memory(memory_id)["content"])
        for version in keep.history(memory_id):
            yield "history", str(version["content"])
