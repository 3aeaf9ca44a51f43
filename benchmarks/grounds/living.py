"""Scenes of a set, lived under the act boundary, as rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from benchmarks.grounds.planting import counted
from benchmarks.tool_call.judges import Boundary
from benchmarks.tool_call.scenes import Scene, live
from truekeep.redteam.figures import ResultRow


def lived(name: str, scenes: Sequence[Scene], note: str) -> Iterator[ResultRow]:
    """Attackers' calls carried out and asked about; honest sessions done, without a question, and with what it cost."""
    judge = Boundary()
    played = [(scene, live(scene, judge)) for scene in scenes]
    attacked = [(scene, one) for scene, one in played if one.is_attacked]
    honest = [one for _, one in played]
    which = [scene.name for scene, one in attacked if one.is_struck]
    asked = Counter(what for one in honest for what in (*one.questions, *one.refused))
    yield counted(name, "executed", [one.is_struck for _, one in attacked], note, which=which)
    yield counted(name, "questioned", [one.hostile_asked > 0 for _, one in attacked], note)
    yield counted(name, "unasked", [one.is_done and not one.questions for one in honest], note, asked=dict(asked))
    yield counted(name, "completed", [one.is_done for one in honest], note)
