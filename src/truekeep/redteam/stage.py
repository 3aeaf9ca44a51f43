"""What is attacked, as attacks see it: a memory with ways in, ways out and, if it has one, a boundary for tool calls.

Attacks and measures know nothing but this. A keep is one target; another store becomes one by overriding what it can
do. What it leaves out raises ``Unsupported``, which is reported beside the result and never counted as a defence.
"""

# ruff: noqa: ARG002 - a target that lacks an operation has no use for its arguments
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Fields = Mapping[str, Any]
"""What a write says about itself: principal, session, kind, topics, metadata and whatever else a caller tries."""


class Refused(Exception):
    """The target turned a step down, with a code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Unsupported(Exception):
    """The target has no such operation."""


class UnsoundAttack(Exception):
    """The attack could not be played as it is meant, so whatever it measures means nothing."""


class Came(StrEnum):
    """What came of a write."""

    STORED = "stored"
    HELD = "held"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Written:
    """The answer to one write."""

    came: Came
    code: str = ""
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory as the target shows it."""

    text: str
    may_act: bool
    why: str = ""
    """What the target says about that, if it does."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to a tool call: a ticket if there is one, and whether a person has to confirm it first."""

    code: str
    ticket: str | None = None
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """How far an approval goes."""

    inform_only: bool = False
    purpose: str | None = None
    until_days: float | None = None


class Target:
    """Override what the target can do. Whoever is named by ``via`` holds that channel and nothing else."""

    credits_per_hour = 0
    """After how many reports of outcomes an hour has to pass; 0 if there is no such limit."""

    def remember(
        self, via: str, session: str | None, entries: Sequence[Mapping[str, Any]], fields: Fields
    ) -> list[Written]:
        """Write texts; each entry has its text and perhaps fields of its own."""
        raise Unsupported("remember")

    def update(self, via: str, session: str | None, memory: str, text: str, fields: Fields) -> Written:
        """Offer new content for a memory."""
        raise Unsupported("update")

    def delete(self, via: str, memory: str) -> Written:
        """Delete a memory."""
        raise Unsupported("delete")

    def restore(self, via: str, memory: str, version: int | None) -> Written:
        """Bring an earlier version of a memory back."""
        raise Unsupported("restore")

    def import_file(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Import a file of JSON lines as people do."""
        raise Unsupported("import")

    def consolidate(self) -> None:
        """Merge what is remembered more than once."""
        raise Unsupported("consolidate")

    def begin(self, session: str, *, mediated: bool, member: str | None) -> None:
        """Declare a session."""
        raise Unsupported("session")

    def observe(self, via: str, session: str, text: str, principal: str | None, role: str | None) -> None:
        """A session takes a text in."""
        raise Unsupported("observe")

    def extract(self, session: str, strategy: str) -> list[Written]:
        """Distil a session into memories."""
        raise Unsupported("extract")

    def recall(self, query: str, k: int, *, influence_only: bool, session: str | None = None) -> list[Hit]:
        """The agent, or without a session the measure, asks for memories."""
        raise Unsupported("recall")

    def listed(self, session: str | None = None) -> list[Hit]:
        """What was stored since the attack began, in order."""
        raise Unsupported("list")

    def snapshot(self, session: str, *, refresh: bool) -> None:
        """The agent's prompt gets the text of a session's memories."""
        raise Unsupported("snapshot")

    def check(self, session: str, action: str, arguments: Mapping[str, Any], run: str | None) -> Answered:
        """The agent asks whether it may make a call."""
        raise Unsupported("check_action")

    def confirm(self, via: str, session: str | None, ticket: str) -> None:
        """Somebody confirms a call that waits."""
        raise Unsupported("confirm")

    def redeem(self, via: str, ticket: str, action: str, arguments: Mapping[str, Any]) -> None:
        """Somebody makes a call with a ticket."""
        raise Unsupported("redeem")

    def credit(self, via: str, run: str, outcome: str) -> None:
        """Somebody says how a run ended."""
        raise Unsupported("credit")

    def enrol(self, channel: str) -> None:
        """The operator lets a system or a member write over a channel of its own."""
        raise Unsupported("enrol")

    def neighbour(self) -> Target:
        """Another memory in the same place, which belongs to somebody else."""
        raise Unsupported("neighbour")

    def edit_at_rest(self, memory: str, changes: Mapping[str, Any]) -> None:
        """Somebody who holds the file changes what is stored of a memory; then the target is opened again.

        The changes go by the names of the stored members, with dots between the names of nested ones.
        """
        raise Unsupported("edit_at_rest")

    def waiting(self, containing: str) -> list[str]:
        """The items that wait for a person and have these words in them."""
        raise Unsupported("review")

    def approve(self, item: str, by: str, limits: Limits) -> Written:
        """A reviewer lets an item in."""
        raise Unsupported("approve")

    def reject(self, item: str, by: str) -> None:
        """A reviewer turns an item down."""
        raise Unsupported("reject")
