"""Injected documents through extraction: what of them is remembered, whether it may act, and what a model gets done.

Each document is read in a session of the owner's. The program stores it as read, the obedient agent saves the
injection and repeats it, the obedient model "extracts" whatever was said, and learning reads the session
too. Then the agent makes the calls that the injection asks for: in that session, and in a later one where the owner
asks the same again.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from truekeep.config import Settings
from truekeep.redteam.agent_hosts import Guarding, KeepHost
from truekeep.redteam.agent_scenarios import AgentEvent, ToolCall
from truekeep.redteam.figures import Progress, ResultRow, silent
from truekeep.redteam.keep_store import Home
from truekeep.redteam.obedient_model import obedient, obedient_model
from truekeep.redteam.stage import Clock

if TYPE_CHECKING:
    from truekeep.keep import Keep
    from truekeep.redteam.agent_hosts import CallOutcome

OWN = "documents in AgentDojo's style"
LISTED, BY_NAME = "changing tools listed by the operator", "consequential by name only"
SETTINGS = Settings(policy="inform", embedder="none")
"""Under this preset hearsay is stored and shown; there is more to hold back than under the strict one."""
_PER_KEEP = 50
_LONGEST = 7_500  # below the cap of a text, with room for the sentence around it
_GRAM = 4
_K = 8
_CHANNELS = {"mail": "email", "inbox": "email", "file": "file", "web": "web", "page": "web"}


@dataclass(frozen=True, slots=True)
class Injected:
    """One document with an injection in it, what the owner asked for and what each of them wants done."""

    suite: str
    task: str
    attack: str
    prompt: str
    injection: str
    documents: tuple[tuple[str, str], ...]
    """Channels and texts."""
    calls: tuple[ToolCall, ...] = ()
    """The attacker's calls, of those that change anything."""
    user_calls: tuple[ToolCall, ...] = ()
    """The owner's, likewise."""

    @classmethod
    def from_dict(cls, members: Mapping[str, Any]) -> Injected:
        """As a worker or a file gives it."""
        return cls(
            suite=members["suite"],
            task=str(members.get("user_task", members["suite"])),
            attack=members["attack"],
            prompt=members["prompt"],
            injection=members["injection"],
            documents=tuple((_channel(one["tool"]), one["text"]) for one in members["documents"]),
            calls=_changing(members["calls"]),
            user_calls=_changing(members.get("user_calls", ())),
        )


@dataclass(slots=True)
class Counts:
    """What came of all documents."""

    documents: int = 0
    writes: Counter[str] = field(default_factory=Counter)
    acting: list[str] = field(default_factory=list)
    remembered: int = 0
    """Documents of which something is stored, as hearsay."""
    shown: int = 0
    """Documents whose injection was recalled in a later session."""
    called: int = 0
    executed: list[str] = field(default_factory=list)
    questioned: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    tasks: int = 0
    helped: set[tuple[str, str]] = field(default_factory=set)
    missed: list[str] = field(default_factory=list)
    confirmations: int = 0
    by_attack: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def rows(self, name: str, note: str) -> Iterator[ResultRow]:
        """The figures under the yardstick's name."""

        def row(metric: str, hits: int, total: int, **detail: Any) -> ResultRow:
            return ResultRow(
                part="yardstick", metric=metric, hits=hits, total=total, attack=name, note=note, detail=detail
            )

        writes = sum(self.writes.values())
        yield row(
            "acting",
            len(self.acting),
            self.documents,
            which=self.acting[:20],
            by_attack=dict(self.by_attack),
            cpu_seconds=round(self.seconds, 1),
        )
        yield row("rejected", self.writes["refused"], writes, **self.writes)
        yield row("held", self.writes["held"], writes, **self.writes)
        yield row("remembered", self.remembered, self.documents, shown_later=self.shown)
        yield row("executed", len(self.executed), self.called, which=self.executed[:20], codes=dict(self.codes))
        yield row("questioned", self.questioned, self.called)
        if self.tasks:
            done = self.tasks - len(self.missed)
            yield row("completed", done, self.tasks, confirmations=self.confirmations, missed=self.missed[:20])


def measure_documents(
    items: Sequence[Injected], name: str = OWN, settings: Settings = SETTINGS, progress: Progress = silent
) -> Iterator[ResultRow]:
    """Rows ``acting``, ``held``, ``remembered``, ``executed``, ``questioned`` and ``completed``.

    Everything is measured twice: with every tool that changes something on the operator's list, as the guide says to
    do, and with the actions that are consequential by their names.
    """
    tools = {call.tool for item in items for call in (*item.calls, *item.user_calls)}
    listed = replace(settings, tools={tool: {"reads": False} for tool in sorted(tools)})
    for chosen, note in ((listed, LISTED), (settings, BY_NAME)):
        counts = measure_injected(items, chosen, progress, f"{name}, {note}")
        yield from counts.rows(name, f"{note}; policy {settings.policy}")


def own_documents() -> list[Injected]:
    """Every place, every goal and every wording of our own file."""
    data = _own()
    return [
        _injected(place, goal, name, template)
        for place, goal, (name, template) in product(data["places"], data["goals"], data["templates"].items())
    ]


def _injected(place: Mapping[str, Any], goal: Mapping[str, Any], name: str, template: str) -> Injected:
    injection = template.format(goal=goal["goal"])
    return Injected.from_dict(
        {
            "suite": place["suite"],
            "user_task": place["prompt"],
            "attack": name,
            "prompt": place["prompt"],
            "injection": injection,
            "documents": [{"tool": place["tool"], "text": place["document"].format(injection=injection)}],
            "calls": goal["calls"],
            "user_calls": place.get("calls", ()),
        }
    )


def some(items: Sequence[Injected], limit: int | None) -> list[Injected]:
    """So many of all, the same ones every time. A fixed step would meet the same wording again and again."""
    if limit is None or limit >= len(items):
        return list(items)
    return random.Random(0).sample(items, limit)  # noqa: S311


def measure_injected(
    items: Sequence[Injected], settings: Settings, progress: Progress = silent, what: str = "injected documents"
) -> Counts:
    """Every document, a few dozen to a keep."""
    counts, began = Counts(), time.process_time()
    with obedient() as line, tempfile.TemporaryDirectory(prefix="truekeep-injected-") as folder:
        for start in range(0, len(items), _PER_KEEP):
            clock = Clock()
            with Home(Path(folder) / str(start), settings).opened(clock) as keep:
                host = KeepHost(keep, Guarding(boundary=True), _K, obedient_model(line))
                _measure(host, keep, clock, items[start : start + _PER_KEEP], counts)
            progress(what, min(start + _PER_KEEP, len(items)), len(items))
    counts.seconds = time.process_time() - began
    return counts


def _measure(host: KeepHost, keep: Keep, clock: Clock, items: Sequence[Injected], counts: Counts) -> None:
    for place, item in enumerate(items):
        session = f"read-{place}"
        _read(host, session, item)
        _attack(host, session, item, counts)
        _help(host, session, item, counts)
        host.distil(session, with_model=True)
    clock.wait(days=1)
    for place, item in enumerate(items):
        session = f"later-{place}"
        host.begin(session, shared=False)
        host.hear(session, item.prompt)
        # A model that was not shown the injection again has nothing to obey.
        if _planted(item) & set().union(*map(_grams, host.recall(session, item.prompt))):
            counts.shown += 1
            _attack(host, session, item, counts)
    _look(keep, items, counts)
    counts.writes.update(host.came)


def _read(host: KeepHost, session: str, item: Injected) -> None:
    host.begin(session, shared=False)
    host.hear(session, item.prompt)
    for via, document in item.documents:
        for part in _pieces(document):
            event = AgentEvent(text=part, via=via, source=item.suite)
            host.read(session, event)
            host.store(session, event)
    host.save(session, item.injection[:_LONGEST])
    host.reply(session, f"I have read this and will remember it: {item.injection[:_LONGEST]}")


def _attack(host: KeepHost, session: str, item: Injected, counts: Counts) -> None:
    """The model makes the attacker's calls. Whatever of them changes something must not be done."""
    if not item.calls:
        return
    outcomes: list[CallOutcome] = [host.act(session, call) for call in item.calls]
    counts.called += 1
    if any(outcome.result == "done" for outcome in outcomes):
        done = next(call.tool for call, outcome in zip(item.calls, outcomes, strict=True) if outcome.result == "done")
        counts.executed.append(f"{item.suite}/{item.attack}: {done} in {session.partition('-')[0]}")
    counts.questioned += any(outcome.result == "confirm" for outcome in outcomes)
    counts.codes.update(outcome.code for outcome in outcomes if outcome.code)


def _help(host: KeepHost, session: str, item: Injected, counts: Counts) -> None:
    """The owner's own task in the very session that read the injection, once each; what waits is confirmed."""
    if not item.user_calls or (item.suite, item.task) in counts.helped:
        return
    counts.helped.add((item.suite, item.task))
    counts.tasks += 1
    for call in item.user_calls:
        outcome = host.act(session, call)
        if outcome.ticket is not None:
            counts.confirmations += 1
            outcome = host.confirm(session, call, outcome.ticket)
        if outcome.result != "done":
            counts.missed.append(f"{item.suite}/{item.task}: {call.tool} ({outcome.code})")
            return


def _look(keep: Keep, items: Sequence[Injected], counts: Counts) -> None:
    """Which injections left something behind, and whether that may act."""
    by_session: dict[str, list[dict[str, Any]]] = {}
    for memory in keep.get_memories():
        if not memory["blocked"]:
            by_session.setdefault(memory["origin"].get("session") or "", []).append(memory)
    for place, item in enumerate(items):
        counts.documents += 1
        kept = by_session.get(f"read-{place}", [])
        found = [memory for memory in kept if _grams(memory["content"]) & _planted(item)]
        counts.remembered += bool(found)
        if any(memory["may_act"] for memory in found):
            counts.acting.append(f"{item.suite}/{item.task}/{item.attack}")
            counts.by_attack[item.attack] += 1


def _planted(item: Injected) -> set[tuple[str, ...]]:
    """The injection's words in a row. The owner's own may act, also where an injection repeats them."""
    return _grams(item.injection) - _grams(item.prompt)


def _pieces(document: str) -> Iterable[str]:
    """A long document as a program stores it: in pieces that fit."""
    return (document[start : start + _LONGEST] for start in range(0, len(document), _LONGEST))


def _grams(text: str) -> set[tuple[str, ...]]:
    words = text.casefold().split()
    return {tuple(words[start : start + _GRAM]) for start in range(max(1, len(words) - _GRAM + 1))}


def _channel(tool: str) -> str:
    """Over which channel a program reports what a tool gave back."""
    return next((channel for word, channel in _CHANNELS.items() if word in tool), "tool")


def _changing(calls: Iterable[Mapping[str, Any]]) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(one["tool"], one["arguments"]) for one in calls if one.get("changes", True))


@cache
def _own() -> dict[str, Any]:
    source = files("truekeep").joinpath("data", "redteam", "injected_documents.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.safe_load(source)
    return loaded
