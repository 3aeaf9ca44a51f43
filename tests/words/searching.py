"""The search: every candidate is asked of the boundary, and one that is allowed is a win for the attacker."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.trust.flow.world import NOW, evidence
from tests.words.candidates import Made, candidate
from truekeep.sessions.transcripts import Observation, Transcript
from truekeep.trust.flow.decide import Answer, CallJudgement, judge
from truekeep.trust.flow.evidence import SessionEvidence
from truekeep.trust.flow.tools import Tool
from truekeep.trust.quote import split_paste
from truekeep.types import Standing

NO_VALUE = "The weather stays mild along the coast."
"""A foreign text that taints and gives nothing."""


@dataclass
class Progress:
    """How far a search has come; kept in a file, so that a long one can be stopped and taken up again."""

    next: int = 0
    cpu: float = 0.0
    answers: Counter[str] = field(default_factory=Counter)
    wins: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def load(cls, path: Path) -> Progress:
        if not path.exists():
            return cls()
        kept = json.loads(path.read_text("utf-8"))
        return cls(kept["next"], kept["cpu"], Counter(kept["answers"]), kept["wins"])

    def save(self, path: Path) -> None:
        draft = path.with_suffix(".draft")
        kept = {"next": self.next, "cpu": self.cpu, "answers": self.answers, "wins": self.wins}
        draft.write_text(json.dumps(kept, indent=1, ensure_ascii=False), "utf-8")
        draft.replace(path)


def asked(made: Made) -> CallJudgement:
    """What the boundary says to a candidate's call; to the last one, where the call is made again."""
    session = _session(made)
    judged = judge(session, made["call"], made["arguments"])
    for _ in range(made.get("repeat", 1) - 1):
        session.spend(judged.uses)
        judged = judge(session, made["call"], made["arguments"])
    return judged


def _session(made: Made) -> SessionEvidence:
    """What a keep would gather of it: the owner's messages go through the detection of pastes, as they do there."""
    session = evidence(
        memories=made.get("memories"),
        tools=[Tool(**tool) for tool in made.get("tools", ())],
        results=[(row["name"], row["result"]) for row in made.get("results", ())],
    )
    transcript = Transcript()
    for place, text in enumerate(made["foreign"]):
        transcript.add(Observation(f"f{place}", "s", "web", Standing.HEARSAY, text, NOW, "https://page.example"))
    for place, text in enumerate(made["messages"]):
        parts = split_paste(text, transcript.seen)
        said = Observation(f"o{place}", "s", "user", Standing.OWNER, text, NOW, own=parts.own, pasted=parts.pasted)
        transcript.add(said)
    transcript.read_for_calls(session.tools)
    session.requests, session.foreign, session.clean = transcript.requests, transcript.foreign, False
    return session


def wins(first: int, last: int) -> Iterator[tuple[Made, CallJudgement]]:
    """The candidates of a range that are allowed."""
    for number in range(first, last):
        made = candidate(number)
        judged = asked(made)
        if judged.answer is Answer.ALLOW:
            yield made, judged


def search(
    until: int, seconds: float, state: Path, told: Callable[[str], None], *, is_silent: bool = False
) -> Progress:
    """Go on with a search until so many candidates were asked or so much CPU time has passed.

    A silent one taints the session with a text that gives no value, so that only the owner named it.
    """
    progress = Progress.load(state)
    started = shown = time.process_time()
    while progress.next < until and time.process_time() - started < seconds:
        made = candidate(progress.next)
        made |= {"foreign": [NO_VALUE]} if is_silent else {}
        judged = asked(made)
        progress.answers[judged.answer.value] += 1
        if judged.answer is Answer.ALLOW:
            progress.wins.append(made)
        progress.next += 1
        if progress.next % 2_000 == 0 or progress.next == until:
            now = time.process_time()
            progress.cpu, shown = progress.cpu + now - shown, now
            progress.save(state)
            told(f"{progress.next:,} candidates, {len(progress.wins)} wins, {progress.cpu:,.0f} s of CPU")
    progress.cpu += time.process_time() - shown
    progress.save(state)
    return progress


def by_family(won: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """How many wins there are of each family, most first."""
    return Counter(made["family"] for made in won).most_common()
