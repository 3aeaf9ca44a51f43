"""What a defence costs honest people: how often a fact is found, at all and behind the gate, early and after review."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from truekeep.redteam.figures import Progress, ResultRow, TurnedDown, silent
from truekeep.redteam.honest import GROUPS, READ, Fact, FactsFound, HonestAsking, facts, told, unproved
from truekeep.redteam.store import OWNER, Store, TextEntry

if TYPE_CHECKING:
    from truekeep.redteam.encoders import NamedEmbedder
    from truekeep.redteam.keep_store import Effort

PART = "utility"
QUESTIONS = 200
COLD = 60
"""How many of their own facts an owner has just told an empty store."""
_MOST_SEEDS = 16  # runs that are tried until enough honest questions were asked
_REVIEWED = 500


@runtime_checkable
class Counting(Protocol):
    """A store that knows how many honest texts it did not take."""

    @property
    def turned_down(self) -> TurnedDown:
        """How many of how many."""


@runtime_checkable
class Reviewed(Protocol):
    """A store in which a person can let what was read act."""

    def review(self) -> Effort:
        """Approve all that waits; what that took."""


def measure_utility(
    make: Callable[[], Store],
    encoder: NamedEmbedder,
    size: int,
    questions: int = QUESTIONS,
    progress: Progress = silent,
) -> Iterator[ResultRow]:
    """For stores of this size, and for each group of facts: found by plain recall, and found behind the gate.

    The metrics are ``plain`` and ``gate``, and ``note`` is what ``GROUPS`` says of the group; ``turned_down`` counts
    honest texts that were rejected or held, and says in ``detail`` how many of each. A small store has few facts, so
    that several are asked, each with other facts.
    """
    asking, refused = HonestAsking(questions), TurnedDown()
    for seed in range(_MOST_SEEDS):
        if asking.is_enough:
            break
        said = facts(size, seed)
        with closing(make()) as store:
            store.fill(told(said))
            asking.ask(store, said, encoder)
            if isinstance(store, Counting):
                refused += store.turned_down
        progress(f"{store.name}, {encoder.name}: honest questions on {size:,}", seed + 1, _MOST_SEEDS)
    for found in asking.found(size):
        yield from _both(store, encoder, found, "", GROUPS[found.group])
    if refused.total:
        note = "honest texts, those of pages aside, rejected or held"
        apart = {"rejected": refused.rejected, "held": refused.held}
        yield _row(store, encoder, size, "turned_down", refused.rate.hits, refused.total, note, apart)


def measure_cold_start(
    make: Callable[[], Store], encoder: NamedEmbedder, questions: int = QUESTIONS
) -> Iterator[ResultRow]:
    """An owner tells an empty store their own facts and asks for them at once: nothing corroborates anything yet."""
    owned = [fact for fact in facts(10 * COLD) if fact.group == OWNER][:COLD]
    with closing(make()) as store:
        found = _asked(store, unproved(told(owned)), owned, questions, encoder, COLD)
        yield from _both(store, encoder, found, "cold_start_", "the owner's own facts, just said")


def measure_uncorroborated(
    make: Callable[[], Store], encoder: NamedEmbedder, size: int = _REVIEWED, questions: int = QUESTIONS
) -> Iterator[ResultRow]:
    """The owner's own facts, which nobody has used yet, among others that have proved themselves."""
    said = facts(size)
    owned = [fact for fact in said if fact.group == OWNER]
    with closing(make()) as store:
        found = _asked(store, unproved(told(said)), owned, questions, encoder, size)
        yield from _both(store, encoder, found, "uncorroborated_", "the owner's own facts, not used yet")


def measure_review(
    make: Callable[[], Store], encoder: NamedEmbedder, size: int = _REVIEWED, questions: int = QUESTIONS
) -> Iterator[ResultRow]:
    """The honest cost: true facts that were merely read, behind the gate, before and after a person looked at them.

    Give it a store that holds what was read for review. What the person had to do is in ``detail``.
    """
    said = facts(size)
    read = [fact for fact in said if fact.group == READ]
    note = "merely read, behind the gate"
    with closing(make()) as store:
        found = _asked(store, told(said), read, questions, encoder, size)
        detail = {"facts": len(read)}
        yield _row(store, encoder, size, "read_before_review", found.acting, found.total, note, detail)
        if isinstance(store, Reviewed):
            effort = store.review()
            detail |= {"decisions": effort.decisions, "groups": effort.groups}
            found = _asked(store, (), read, questions, encoder, size)
            yield _row(store, encoder, size, "read_after_review", found.acting, found.total, note, detail)


def _asked(
    store: Store, filling: Sequence[TextEntry], about: Sequence[Fact], questions: int, encoder: NamedEmbedder, size: int
) -> FactsFound:
    """Fill a store, and ask it about facts of one group."""
    if filling:
        store.fill(filling)
    asking = HonestAsking(questions)
    asking.ask(store, about, encoder)
    (found,) = asking.found(size)
    return found


def _both(store: Store, encoder: NamedEmbedder, found: FactsFound, kind: str, note: str) -> Iterator[ResultRow]:
    """With and without the gate."""
    for way, hits in (("plain", found.plain), ("gate", found.acting)):
        yield _row(store, encoder, found.size, f"{kind}{way}", hits, found.total, note)


def _row(
    store: Store,
    encoder: NamedEmbedder,
    size: int,
    metric: str,
    hits: int,
    total: int,
    note: str,
    detail: Mapping[str, Any] | None = None,
) -> ResultRow:
    return ResultRow(
        part=PART,
        metric=metric,
        hits=hits,
        total=total,
        defence=store.name,
        encoder=encoder.name,
        size=size,
        note=note,
        detail={"version": store.version, **(detail or {})},
    )
