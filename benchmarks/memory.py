"""Is what people said found again? Five unlike sets, side by side with plain cosine of the same embedder.

    python -m benchmarks memory [--talks talks.jsonl] [--gists bad]
                                [--memories memories.jsonl --questions questions.jsonl]

Facts and long histories are in ``benchmarks/data``; the other sets are given by path. Talks and histories go the whole
way: a mediated session, everything observed, the owner's words learned, and the questions put in a new session, where
only what may act is shown. Plain cosine gets the owner's messages as they are.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from benchmarks import recall_quality
from benchmarks.bad_model import LIE, bad_model
from truekeep import Keep, Settings
from truekeep.embed import default
from truekeep.extract.llm import ChatModel

DATA = Path(__file__).parent / "data"
K = 5


@dataclass(frozen=True)
class Asked:
    """A question, values of which one must be in the answer, and values that must not come before it."""

    text: str
    answers: tuple[str, ...]
    outdated: tuple[str, ...] = ()


@dataclass(frozen=True)
class Talk:
    """Conversations of one person, and what is asked later."""

    name: str
    language: str
    sessions: list[tuple[datetime, list[tuple[str, str, str | None]]]]
    asked: list[Asked]
    never_said: list[str] = field(default_factory=list)
    lies: list[str] = field(default_factory=list)

    @property
    def said(self) -> list[str]:
        """The owner's messages."""
        return [text for _, turns in self.sessions for channel, text, _ in turns if channel == "user"]


@dataclass
class Tally:
    """How often the answer was found, first, and behind an outdated or planted value."""

    asked: int = 0
    found: int = 0
    first: int = 0
    behind: int = 0

    def take(self, texts: Sequence[str], asked: Asked) -> None:
        """Count one answer."""
        right = _place(texts, asked.answers)
        wrong = _place([text for text in texts if _place([text], asked.answers) is None], asked.outdated)
        ahead = None if wrong is None else [t for t in texts if _place([t], asked.answers) is None][wrong]
        self.asked += 1
        self.found += right is not None
        self.first += right == 0
        self.behind += ahead is not None and (right is None or texts.index(ahead) < right)

    def __str__(self) -> str:
        shares = (
            f"{count}/{self.asked} ({count / max(1, self.asked):.0%})"
            for count in (self.found, self.first, self.behind)
        )
        return "in 5 {}, first {}, outdated or planted before it {}".format(*shares)


def talks(path: Path) -> list[Talk]:
    """Conversations in the form of the development data."""
    return [
        Talk(
            row["id"],
            row["lang"],
            [(_moment(one["date"]), [_turn(turn) for turn in one["turns"]]) for one in row["sessions"]],
            [Asked(one["q"], tuple(one["answer"]), tuple(one["not"])) for one in row["questions"]],
            lies=row["lies"],
        )
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())
    ]


def histories(path: Path = DATA / "histories.yaml") -> list[Talk]:
    """Long histories of people, written by somebody who had not seen the code."""
    return [
        Talk(
            row["person"],
            row["lang"],
            [(_moment(one["date"]), [_turn(turn) for turn in one["turns"]]) for one in row["sessions"]],
            [Asked(one["ask"], tuple(one["answers"]), tuple(one["not_first"])) for one in row["questions"]],
            row["never_said"],
        )
        for row in yaml.safe_load(path.read_text(encoding="utf-8"))
    ]


def remembered(talk: Talk, home: Path, model: ChatModel | None = None) -> Keep:
    """A keep that took part in the talk and learned from it, with gists if there is a model."""
    settings = replace(Settings.load(home), learn="discrete" if model is not None else "verbatim")
    keep = Keep.open("owner", home=home, background=False, settings=settings)
    for number, (moment, turns) in enumerate(talk.sessions):
        with keep.session(f"s-{number}", mediated=True) as session:
            for channel, text, principal in turns:
                session.observe(channel, text, principal=principal, at=moment)
        keep.extraction.run(model)
    return keep


def through_the_keep(
    all_talks: Iterable[Talk], model: ChatModel | None = None
) -> tuple[dict[str, Tally], int, tuple[int, int]]:
    """The tallies by language, lies that may act, and how many questions about things never said came back empty."""
    tallies: dict[str, Tally] = {}
    lies = empty = never = 0
    for talk in all_talks:
        with tempfile.TemporaryDirectory() as folder, remembered(talk, Path(folder), model) as keep:
            with keep.session("later", mediated=True) as session:
                for asked in talk.asked:
                    hits = session.recall(asked.text, k=K)
                    texts = [hit.text for hit in hits if hit.may_act]
                    tallies.setdefault(_group(talk), Tally()).take(texts, asked)
                for question in talk.never_said:
                    never, empty = never + 1, empty + (not session.recall(question, k=K))
            own = " ".join(talk.said).casefold()
            acting = [one["content"].casefold() for one in keep.get_memories() if one["may_act"]]
            planted = [lie.casefold() for lie in talk.lies if lie.casefold() not in own]
            lies += sum(any(lie in text for text in acting) for lie in [*planted, LIE.casefold()])
    return tallies, lies, (empty, never)


def by_cosine(all_talks: Iterable[Talk]) -> dict[str, Tally]:
    """The owner's messages ranked by nothing but the cosine."""
    tallies: dict[str, Tally] = {}
    for talk in all_talks:
        rows = default().embed(talk.said, "passage")
        for asked in talk.asked:
            order = np.argsort(-(rows @ default().embed([asked.text], "query")[0]), kind="stable")[:K]
            tallies.setdefault(_group(talk), Tally()).take([talk.said[place] for place in order], asked)
    return tallies


def facts(path: Path = DATA / "facts.yaml") -> tuple[Tally, Tally]:
    """Plain short facts among distractors, asked for in other words: through a keep, and by cosine."""
    table = yaml.safe_load(path.read_text(encoding="utf-8"))
    texts = [one["text"] for one in table["facts"]] + table["distractors"]
    ours, plain, rows = Tally(), Tally(), default().embed(texts, "passage")
    with tempfile.TemporaryDirectory() as folder, Keep.open("owner", home=folder, background=False) as keep:
        keep.remember_many(texts, via="user", skip_rejected=True)
        for one in table["facts"]:
            asked = Asked(one["ask"], (one["text"],))
            ours.take([hit.text for hit in keep.recall(asked.text, k=K)], asked)
            order = np.argsort(-(rows @ default().embed([asked.text], "query")[0]), kind="stable")[:K]
            plain.take([texts[place] for place in order], asked)
    return ours, plain


def main(arguments: list[str]) -> int:
    """Print every set that there is data for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks memory", description=__doc__)
    parser.add_argument("--talks", type=Path)
    parser.add_argument("--memories", type=Path)
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--gists", choices=["bad"], help="Have a model word gists badly and maliciously.")
    options = parser.parse_args(arguments)
    ours, plain = facts()
    print(f"facts          cosine   {plain}\n               truekeep {ours}", flush=True)
    sets = {"talks": talks(options.talks)} if options.talks else {}
    for name, some in (sets | {"histories": histories()}).items():
        cosine = by_cosine(some)
        with bad_model() if options.gists else nullcontext() as model:
            tallies, lies, (empty, never) = through_the_keep(some, model)
        for group in tallies:
            print(f"{name}, {group:8} cosine   {cosine[group]}\n{'':15}truekeep {tallies[group]}", flush=True)
        print(f"{name}: {lies} lies may act; of {never} questions about things never said {empty} came back empty")
    if options.memories and options.questions:
        scores = recall_quality.measured(options.memories, options.questions, "minilm")
        print(f"dialogues      recall@10 {float(np.mean(scores['all'])):.3f}")
    return 0


def _group(talk: Talk) -> str:
    return "English" if talk.language == "en" else "others"


def _turn(turn: dict[str, Any]) -> tuple[str, str, str | None]:
    channel = "agent" if turn["channel"] == "assistant" else turn["channel"]
    return channel, turn["text"], turn.get("principal")


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _place(texts: Sequence[str], values: Iterable[str]) -> int | None:
    wanted = [value.casefold() for value in values]
    return next((place for place, text in enumerate(texts) if any(one in text.casefold() for one in wanted)), None)
