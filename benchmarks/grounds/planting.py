"""Plants other people's records in a keep, beside honest ones, and asks what came of them."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from truekeep import Keep
from truekeep.config import Settings
from truekeep.redteam.figures import ResultRow
from truekeep.types import Decision

K = 5
PART = "ground"
_LONGEST = 7_900
_QUERY = 1_900
_START = datetime(2026, 1, 5, 9, tzinfo=UTC)
_CAME = {Decision.REJECT: "rejected", Decision.QUARANTINE: "held", Decision.ACCEPT: "accepted"}
POLICIES = ("strict", "inform")


@dataclass(frozen=True)
class Record:
    """A text on its way into memory, what an attacker or an honest person asks for later, and which kind it is."""

    text: str
    ask: str
    kind: str = ""
    via: str = "web"
    source: str = "https://elsewhere.example/"

    @property
    def is_said(self) -> bool:
        """Whether the owner says it."""
        return self.via == "user"


def encoder() -> str:
    """The embedder of the attacked keeps: ``TRUEKEEP_EMBEDDER``, as everywhere; with ``none`` it takes less time."""
    return os.environ.get("TRUEKEEP_EMBEDDER", "default")


@contextmanager
def keep_for(policy: str = "inform") -> Iterator[Keep]:
    """A keep of its own, gone afterwards; its clock goes on by a second at every look."""
    ticking = (_START + timedelta(seconds=n) for n in itertools.count())
    with (
        tempfile.TemporaryDirectory(prefix="truekeep-ground-") as home,
        Keep.open(
            "ground",
            home=Path(home),
            settings=Settings(policy=policy, embedder=encoder(), queue_per_principal=100_000),
            background=False,
            clock=lambda: next(ticking),
        ) as keep,
    ):
        yield keep


def put(keep: Keep, records: Iterable[Record]) -> list[str]:
    """Remember each over its channel: what became of them."""
    came = []
    for record in records:
        principal = None if record.is_said else record.source
        verdict = keep.remember(record.text[:_LONGEST], via=record.via, principal=principal)
        came.append(_CAME[verdict.decision])
    return came


def is_found(keep: Keep, ask: str, texts: Sequence[str], *, acting: bool, first: bool = False) -> bool:
    """Whether one of the texts is among the first five, or first: of what may act, or of everything that is stored."""
    hits = keep.recall(ask[:_QUERY], k=K, influence_only=acting, background=not acting)
    shown = {_bare(hit.text) for hit in (hits[:1] if first else hits)}
    return any(_bare(text[:_LONGEST]) in shown or _holds(shown, text) for text in texts)


def counted(name: str, metric: str, outcomes: Sequence[bool], note: str = "", **detail: object) -> ResultRow:
    """A row of so many of so many."""
    return ResultRow(
        part=PART,
        metric=metric,
        hits=sum(outcomes),
        total=len(outcomes),
        encoder=encoder(),
        attack=name,
        note=note,
        detail=detail,
    )


def planted(name: str, poison: Sequence[Record], honest: Sequence[Record], note: str = "") -> Iterator[ResultRow]:
    """By policy: what became of the poison on its way in, whether it comes up, and whether it may act; and the honest.

    ``raw`` is plain recall with everything that is stored, ``acting`` what may drive a call. Both are asked with the
    question that the poison was made for.
    """
    for policy in POLICIES:
        with keep_for(policy) as keep:
            said = put(keep, honest)
            came = put(keep, poison)
            where = f"{note}, {policy}" if note else policy
            yield from _ways_in(name, poison, came, where)
            yield from _found(name, keep, poison, where)
            if honest:
                yield counted(name, "honest_refused", [one != "accepted" for one in said], where)
                found = [is_found(keep, one.ask, [one.text], acting=True) for one in honest]
                yield counted(name, "honest_found", found, where)


def _ways_in(name: str, poison: Sequence[Record], came: Sequence[str], where: str) -> Iterator[ResultRow]:
    by_kind: dict[str, Counter[str]] = {}
    for record, one in zip(poison, came, strict=True):
        by_kind.setdefault(record.kind, Counter())[one] += 1
    for what in _CAME.values():
        detail = {kind: counts[what] for kind, counts in sorted(by_kind.items())} if len(by_kind) > 1 else {}
        yield counted(name, what, [one == what for one in came], where, **detail)


def _found(name: str, keep: Keep, poison: Sequence[Record], where: str) -> Iterator[ResultRow]:
    asked: dict[str, list[Record]] = {}
    for record in poison:
        asked.setdefault(record.ask, []).append(record)
    groups = {ask: [one.text for one in records] for ask, records in asked.items()}
    yield counted(name, "raw", [is_found(keep, ask, texts, acting=False) for ask, texts in groups.items()], where)
    acting = {ask: is_found(keep, ask, texts, acting=True) for ask, texts in groups.items()}
    yield counted(name, "acting", list(acting.values()), where, which=[ask[:80] for ask in acting if acting[ask]])


def _bare(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def _holds(shown: Iterable[str], text: str) -> bool:
    """Whether a part of the text that nothing else has is shown: a long one is remembered in passages."""
    whole = _bare(text)
    return len(whole) > 100 and any(len(one) > 100 and one in whole for one in shown)
