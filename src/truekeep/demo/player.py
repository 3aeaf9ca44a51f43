"""Plays a script into a home through the public API, at the story's own time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from truekeep import disk
from truekeep.act.boundary import ActionAnswer, Ticket
from truekeep.config import Paths, Settings
from truekeep.demo.script import Script, StoryStep, demo_file, read_script
from truekeep.handles import Session
from truekeep.keep import Keep
from truekeep.rules.registry import read_registry, write_registry
from truekeep.types import Verdict

_OUTCOMES = "outcomes"


@dataclass(slots=True)
class StoryPlayed:
    """What came of playing: where the story is, and where the keep decided otherwise than it is told."""

    keep: str
    steps: int
    surprises: list[str] = field(default_factory=list)


class StoryClock:
    """The time in the story."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """The moment of the step that is being played."""
        return self.now


def play(
    home: str | Path,
    *,
    script: Script | None = None,
    now: datetime | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> StoryPlayed:
    """Fill a home with the story, so that its last day ends by ``now``; ``progress`` hears how many steps are done."""
    chosen = script or read_script()
    begins = chosen.begins((now or datetime.now(UTC)).astimezone(UTC))
    with ExitStack() as stack:
        player = _Player(home, chosen.keep, begins, stack)
        for done, step in enumerate(chosen.steps, 1):
            player.do(step)
            if progress is not None:
                progress(done, len(chosen.steps))
    return StoryPlayed(chosen.keep, len(chosen.steps), player.surprises)


class _Player:
    """Does one step after the other. What steps name is remembered by name."""

    def __init__(self, home: str | Path, name: str, begins: datetime, stack: ExitStack) -> None:
        self._home = home
        self._name = name
        self._begins = begins
        self._stack = stack
        self._clock = StoryClock(begins)
        self._settings = Settings.load(Paths.resolve(home).config)
        self._named: dict[str, str] = {}
        self._sessions: dict[str, Session] = {}
        self.surprises: list[str] = []
        self._keep = self._opened("strict")
        self._verbs: dict[str, Callable[[Any, dict[str, Any]], object]] = {
            "policy": self._policy,
            "rule": self._rule,
            "enrol": lambda name, how: self._keep.channels.enrol(name, **how),
            "remember": self._remember,
            "change": self._change,
            "forget": self._forget,
            "session": self._session,
            "observe": self._observe,
            "recall": lambda query, how: self._sessions[how["in"]].recall(query),
            "snapshot": lambda name, _: self._sessions[name].snapshot(),
            "act": self._act,
            "credit": lambda run, how: self._keep.credit(run, how["outcome"], via=_OUTCOMES),
            "approve": self._approve,
            "reject": lambda name, how: self._keep.review.reject(self._item(name), **how),
            "revoke": self._revoke,
            "undo": lambda name, how: self._keep.undo(self._named[name], **how),
            "end": lambda name, _: self._sessions.pop(name).__exit__(None, None, None),
        }

    def do(self, step: StoryStep) -> None:
        """Play one step at its moment."""
        self._clock.now = self._begins + step.after
        self._verbs[step.verb](step.what, dict(step.details))

    def _opened(self, policy: str) -> Keep:
        chosen = replace(self._settings, policy=policy)
        keep = Keep.open(self._name, home=self._home, settings=chosen, clock=self._clock, background=False)
        return self._stack.enter_context(keep)

    def _policy(self, policy: str, _: dict[str, Any]) -> None:
        self._keep.close()
        self._keep = self._opened(policy)
        self._sessions.clear()

    def _rule(self, name: str, _: dict[str, Any]) -> None:
        config = Paths.resolve(self._home).config
        path = config / "rules" / name
        disk.make_directory(path.parent)
        disk.replace(path, demo_file(name).encode())
        write_registry(config, read_registry(config).with_source(path, "alert"))

    def _remember(self, text: str, how: dict[str, Any]) -> None:
        expected, name = how.pop("verdict", "accept"), how.pop("is", None)
        parents = [self._named[parent] for parent in how.pop("parents", ())]
        if (days := how.pop("lasts_days", None)) is not None:
            how["expires_at"] = self._clock() + timedelta(days=days)
        if (session := how.pop("in", None)) is not None:
            how["session"] = session
        self._note(self._keep.remember(text, parents=parents, **how), expected, name, text)

    def _change(self, name: str, how: dict[str, Any]) -> None:
        expected = how.pop("verdict", "accept")
        text = how.pop("to")
        self._note(self._keep.update_memory(self._named[name], text, **how), expected, None, text)

    def _forget(self, name: str, how: dict[str, Any]) -> None:
        expected = how.pop("verdict", "accept")
        self._note(self._keep.delete_memory(self._named[name], **how), expected, None, name)

    def _session(self, name: str, how: dict[str, Any]) -> None:
        self._sessions[name] = self._keep.session(name, **how)

    def _observe(self, text: str, how: dict[str, Any]) -> None:
        self._sessions[how.pop("in")].observe(how.pop("via"), text, **how)

    def _act(self, action: str, how: dict[str, Any]) -> None:
        session = self._sessions[how["in"]]
        answer = session.check_action(action, how["with"], run=how["run"])
        if answer.decision.value != how["answer"]:
            self.surprises.append(f"{action} was answered {answer.decision.value} ({answer.code})")
        if answer.ticket is not None:
            self._settle(answer, answer.ticket, action, how)

    def _settle(self, answer: ActionAnswer, ticket: Ticket, action: str, how: dict[str, Any]) -> None:
        if answer:
            ticket.redeem(action, how["with"])
        elif how["then"] == "decline":
            self._keep.actions.decline(ticket, via="user")
        else:
            self._keep.actions.confirm(ticket, via="user")
            ticket.redeem(action, how["with"])

    def _approve(self, name: str, how: dict[str, Any]) -> None:
        if (days := how.pop("lasts_days", None)) is not None:
            how["until"] = self._clock() + timedelta(days=days)
        how["inform_only"] = how.pop("informs", False)
        verdict = self._keep.review.approve(self._item(name), **how)
        self._named[name] = str(verdict.memory_id)

    def _item(self, name: str) -> str:
        """The item of that name, or the one that asks about the memory of that name."""
        named = self._named[name]
        asking = (item.id for item in self._keep.review.list() if item.memory.id == named)
        return named if named.startswith("rev_") else next(asking)

    def _revoke(self, source: dict[str, Any], how: dict[str, Any]) -> None:
        name = how.pop("is")
        self._named[name] = self._keep.revoke(**source, **how)["incident"]

    def _note(self, verdict: Verdict, expected: str, name: str | None, what: str) -> None:
        if verdict.decision.value != expected:
            self.surprises.append(f"{verdict.decision.value} ({verdict.code}), not {expected}: {what[:80]}")
        found = verdict.memory_id or verdict.item_id
        if name is not None and found is not None:
            self._named[name] = found
