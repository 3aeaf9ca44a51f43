"""Any defence behind the small protocol of stores, as a target: the same attacker runs against everybody's memory."""

# ruff: noqa: ARG002 - a store takes less than the attacker offers
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from truekeep.redteam.attack import Scene
from truekeep.redteam.attack_files import scenes
from truekeep.redteam.stage import Came, Fields, Refused, Stage, Target, TargetHit, Unsupported, Written
from truekeep.redteam.store import HELD, OWNER, PAGE, STORED, SYSTEM, Store, TextEntry
from truekeep.redteam.writing_steps import Remember

_HONEST = {"user": OWNER, "crm": SYSTEM, "billing": SYSTEM}
_CAME = {STORED: Came.STORED, HELD: Came.HELD}
_ITS_OWN = ("text", "principal")


class StoreTarget(Target):
    """A filled store. What the honest setup says is in it already; everything else is planted."""

    def __init__(self, store: Store, filled: frozenset[str]) -> None:
        self._store = store
        self._filled = filled

    def remember(
        self, via: str, session: str | None, entries: Sequence[Mapping[str, Any]], fields: Fields
    ) -> list[Written]:
        """What a writer says about a text goes along as claims; who it really is from does not depend on them."""
        if via == "user":
            if any(entry["text"] not in self._filled for entry in entries):
                raise Refused("not_in_the_filling")
            return [Written(Came.STORED) for _ in entries]
        told = [_entry(via, {**fields, **entry}) for entry in entries if entry["text"] not in self._honest(via)]
        came = self._store.plant(told) if told else []
        return [Written(_CAME.get(one, Came.REFUSED), one) for one in came] or [Written(Came.STORED)]

    def begin(self, session: str, *, mediated: bool, member: str | None) -> None:
        """A store knows no sessions, and nobody shares it."""
        if member:
            raise Unsupported("member")

    def enrol(self, channel: str) -> None:
        """A system is whoever writes as one; members there are none."""
        if channel.startswith("member:"):
            raise Unsupported("member")

    def observe(self, via: str, session: str, text: str, principal: str | None, role: str | None) -> None:
        """What is read leaves no trace until somebody writes it down."""

    def recall(self, query: str, k: int, *, influence_only: bool, session: str | None = None) -> list[TargetHit]:
        """The store's own two ways to ask."""
        hits = self._store.acting(query, k) if influence_only else self._store.recall(query, k)
        return [TargetHit(hit.text, hit.may_act) for hit in hits]

    def listed(self, session: str | None = None) -> list[TargetHit]:
        """It shows nothing but answers."""
        return []

    def _honest(self, via: str) -> frozenset[str]:
        return self._filled if via in _HONEST else frozenset()


class StoreGround:
    """A store with the honest side of every scene in it, and given back as it was for every sequence."""

    def __init__(self, store: Store, honest: Sequence[TextEntry] = (), listed: Sequence[Scene] | None = None) -> None:
        said = list(_said(scenes() if listed is None else listed))
        store.fill([*honest, *said])
        self._store = store
        self._filled = frozenset(entry.text for entry in said)

    @contextmanager
    def stage(self) -> Iterator[Stage]:
        """The store as it was after the filling."""
        self._store.reset()
        yield Stage(StoreTarget(self._store, self._filled))


def _entry(via: str, fields: Mapping[str, Any]) -> TextEntry:
    claims = {name: _told(value) for name, value in fields.items() if name not in _ITS_OWN}
    named = str(fields.get("principal") or "")
    # A trusted system's own word is one; what it hands on under another name is a stranger's.
    is_system = via in _HONEST and not named
    return TextEntry(fields["text"], SYSTEM if is_system else PAGE, named or via, claims)


def _told(value: Any) -> Any:
    """As it can be handed to another process."""
    return value.isoformat() if isinstance(value, datetime) else value


def _said(listed: Sequence[Scene]) -> Iterator[TextEntry]:
    for scene in listed:
        for one in scene.attack.setup:
            if isinstance(one, Remember) and one.via in _HONEST:
                yield TextEntry(one.text, _HONEST[one.via], one.via if one.via != "user" else "")
