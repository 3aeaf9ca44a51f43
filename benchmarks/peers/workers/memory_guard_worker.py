"""agent-memory-guard in front of a plain vector store, the way its README puts it in front of mem0.

A write goes through ``MemoryGuard.write``; what it blocks is refused, what it quarantines is held, and what it lets
through is stored as ``read`` gives it back, with secrets struck out. It has no gate at recall, so whatever is stored
may act. The ``hardened`` guard is the one that its own benchmark grades best (the strict rules, the detector of
persistent instructions, protected keys); ``strict`` is the policy of its quick start. The class of a source is set by
the host for honest texts; a planted text comes as the output of an external tool, or as the class that it claims.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from agent_memory_guard import MemoryGuard, Policy, PolicyViolation  # type: ignore[import-not-found]
from agent_memory_guard.detectors import (  # type: ignore[import-not-found]
    MemoryPersistenceInjectionDetector,
    PromptInjectionDetector,
    RapidChangeDetector,
    SensitiveDataDetector,
    SizeAnomalyDetector,
)
from agent_memory_guard.events import Action, SourceClass  # type: ignore[import-not-found]
from agent_memory_guard.policies.policy import PolicyRule  # type: ignore[import-not-found]
from guarded_shelf import GuardedShelf  # type: ignore[import-not-found]
from worker_loop import HELD, OWNER, REFUSED, STORED, SYSTEM, Entry, Vectors, serve  # type: ignore[import-not-found]

_CLASSES = {OWNER: SourceClass.USER_INPUT, SYSTEM: SourceClass.EXTERNAL_TOOL}
_CLAIMED = {"user": SourceClass.USER_INPUT, "system": SourceClass.SYSTEM, "assistant": SourceClass.AGENT_AUTHORED}


class Guarded(GuardedShelf):  # type: ignore[misc]
    """A guard, and a key of its own for every memory."""

    version = version("agent-memory-guard")

    def __init__(self, vectors: Vectors, _home: Path, options: Mapping[str, Any]) -> None:
        super().__init__(vectors)
        # Snapshots of the whole store at every refusal are for forensics; nothing here looks at them.
        self._guard = _hardened() if options.get("policy") != "strict" else _strict()
        self._number = 0

    def judged(self, entry: Entry, *, honest: bool) -> tuple[str, str]:
        """What the guard's policy says."""
        self._number += 1
        key = f"memory.{self._number}"
        claimed = None if honest else _CLAIMED.get(entry.claims.get("role", ""))
        source_class = claimed or _CLASSES.get(entry.by, SourceClass.EXTERNAL_TOOL)
        source = entry.source or entry.by
        try:
            action = self._guard.write(key, entry.text, source=source, source_class=source_class)
        except PolicyViolation:
            return REFUSED, ""
        if action == Action.QUARANTINE:
            return HELD, ""
        return STORED, str(self._guard.read(key))


def _strict() -> Any:
    return MemoryGuard(policy=Policy.strict(), snapshot_on_block=False)


def _hardened() -> Any:
    strict = Policy.strict()
    persistence = PolicyRule("block_persistence", "memory_persistence_injection", Action.BLOCK)
    policy = Policy(
        default_action=Action.ALLOW,
        protected_keys=(*strict.protected_keys, "security.*"),
        immutable_keys=("identity.user_id",),
        rules=[*strict.rules, persistence],
    )
    detectors = [
        PromptInjectionDetector(),
        SensitiveDataDetector(),
        SizeAnomalyDetector(),
        RapidChangeDetector(),
        MemoryPersistenceInjectionDetector(),
    ]
    return MemoryGuard(policy=policy, detectors=detectors, snapshot_on_block=False)


if __name__ == "__main__":
    serve(Guarded)
