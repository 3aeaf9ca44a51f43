"""The core of truekeep as a specification: finite, written without the code, short enough to be read in one sitting.

It says who stands where (``derived``), who may act (``acts``), what is answered to a call (``answered``), what becomes
of a ticket (``Ticket``) and of a lease (``Lease``). ``docs/model.md`` is this file in prose.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from itertools import product

# --- standing: a lattice of three, and everything derived stands lowest ---------------------------------------------

HEARSAY, ENROLLED, OWNER = 0, 1, 2


def derived(channel: int, *, is_agent: bool, is_clean: bool, is_relayed: bool, parents: Iterable[int]) -> int:
    """Where a text stands: as its channel, never above its parents; the agent's words are a note, or hearsay."""
    own = (min(channel, ENROLLED) if is_clean else HEARSAY) if is_agent else channel
    return min([HEARSAY if is_relayed else own, *parents])


# --- who may act ------------------------------------------------------------------------------------------------------


class Approved(Enum):
    """A person's decision about a memory, with its limits."""

    NO = "no"
    YES = "yes"
    TO_INFORM = "to inform"
    FOR_THIS = "for this purpose"
    FOR_ANOTHER = "for another purpose"
    RUN_OUT = "run out"


@dataclass(frozen=True, slots=True)
class Facts:
    """All that decides."""

    standing: int
    is_readers_own: bool
    is_agents: bool
    is_fit: bool
    approved: Approved
    repeats_hearsay: bool
    witnesses: int
    has_good_credit: bool


def all_facts() -> Iterator[Facts]:
    """Every combination."""
    flags = (False, True)
    for values in product(range(3), flags, flags, flags, Approved, flags, range(3), flags):
        yield Facts(*values)


def acts(facts: Facts) -> bool:
    """Whether a memory may drive an action for a reader."""
    if not facts.is_fit:
        return False
    if facts.approved is not Approved.NO:
        return facts.approved in (Approved.YES, Approved.FOR_THIS)
    if facts.standing == OWNER and facts.is_readers_own:
        return True
    is_proved = (facts.witnesses >= 2 and not facts.repeats_hearsay) or facts.has_good_credit
    return facts.standing > HEARSAY and not facts.is_agents and is_proved


# --- the answer to a call with one target -----------------------------------------------------------------------------


class Answered(IntEnum):
    """From the most permissive to the strictest."""

    ALLOW = 0
    CONFIRM = 1
    DENY = 2


class Place(Enum):
    """The best place in which a call's target stands, foreign texts of the session apart."""

    REQUEST = "the owner's request"
    PARTY = "a memory about the party that the request names"
    RECORD = "the one record that bears the owner's whole name for it"
    PLAN = "a plan made while clean"
    GRANT = "a grant of the owner's"
    MENTION = "a question of the owner's"
    NOTE = "a note of the agent's"
    REMEMBERED = "remembered hearsay"
    OTHER_ACT = "a request of the owner's for another act"
    OTHER_PLAN = "nowhere, and a plan intended the same call with another target"
    NOWHERE = "nowhere"


PROVED_BY_ASKING = (Place.REQUEST, Place.PARTY, Place.RECORD)


@dataclass(frozen=True, slots=True)
class Situation:
    """One call with one target, as far as it matters."""

    is_tainted: bool
    is_reading: bool
    is_asked: bool
    place: Place
    is_in_foreign: bool
    """A foreign text of the session has the target too."""
    is_pointed: bool
    """The owner pointed at that text."""
    operator_asks: bool


def situations() -> Iterator[Situation]:
    """Every combination that there can be."""
    flags = (False, True)
    for tainted, reading, asked, place, foreign, pointed, operator in product(
        flags, flags, flags, Place, flags, flags, flags
    ):
        made = Situation(tainted, reading, asked, place, foreign, pointed, operator)
        if is_possible(made):
            yield made


def is_possible(made: Situation) -> bool:
    """What foreign text has taints; what the owner pointed at is foreign text; a request asks, a question does not."""
    if (made.is_in_foreign and not made.is_tainted) or (made.is_pointed and not made.is_in_foreign):
        return False
    if made.place is Place.RECORD and not made.is_tainted:
        return False  # a record's name is other people's words, and came with a result
    if made.place in (Place.REQUEST, Place.MENTION, Place.OTHER_ACT):
        return made.is_asked == (made.place is not Place.MENTION)
    return True


def answered(made: Situation) -> Answered:
    """The table of ``trust/flow/decide.py`` for one target."""
    if made.operator_asks:
        return Answered.CONFIRM
    if not made.is_tainted:
        doubted = made.place in (Place.MENTION, Place.NOTE, Place.REMEMBERED) and not made.is_reading
        return Answered.CONFIRM if doubted else Answered.ALLOW
    if made.is_reading:
        return Answered.ALLOW
    if made.place is Place.PLAN or (made.place in PROVED_BY_ASKING and made.is_asked):
        return Answered.ALLOW
    if made.place is Place.GRANT and not made.is_in_foreign:
        return Answered.ALLOW
    is_heard = made.place is Place.REMEMBERED or made.is_in_foreign
    is_only_pointed = made.is_pointed and made.place is not Place.REMEMBERED
    return Answered.DENY if is_heard and not is_only_pointed and not made.is_asked else Answered.CONFIRM


# --- tickets ----------------------------------------------------------------------------------------------------------

STEPS = ("redeem", "redeem another call", "redeem elsewhere", "confirm", "decline", "wait", "withdraw")


@dataclass(frozen=True, slots=True)
class Ticket:
    """A ticket of a call that was allowed, or that waits for the owner."""

    is_waiting: bool
    is_confirmed: bool = False
    is_spent: bool = False
    is_declined: bool = False
    is_expired: bool = False
    is_withdrawn: bool = False

    def step(self, name: str) -> tuple[Ticket, bool]:
        """What becomes of it, and whether the step succeeded."""
        if name == "wait":
            return replace(self, is_expired=True), True
        if name == "withdraw":
            return replace(self, is_withdrawn=True), True
        if name in ("confirm", "decline"):
            can = self.is_waiting and not self.is_expired
            decided = replace(self, is_waiting=False, is_confirmed=name == "confirm", is_declined=name == "decline")
            return (decided if can else self), can
        is_open = not (self.is_waiting or self.is_spent or self.is_declined or self.is_expired)
        holds = self.is_confirmed or not self.is_withdrawn
        can = name == "redeem" and is_open and holds
        return (replace(self, is_spent=True) if can else self), can


# --- leases -----------------------------------------------------------------------------------------------------------

WORK = ("take by a", "take by b", "a while", "a lease's time", "finish", "fail", "release")


@dataclass(frozen=True, slots=True)
class Lease:
    """A job that at most one worker has; a worker that dies loses it by time."""

    holder: str = ""
    left: int = 0
    """Steps until the lease runs out; two to begin with."""
    is_done: bool = False
    pause: bool = False
    """It failed, and comes back later."""

    def step(self, name: str) -> tuple[Lease, bool]:
        """What becomes of it, and whether the step was possible."""
        if name.startswith("take"):
            can = not self.is_done and not self.pause and not self.left
            return (replace(self, holder=name[-1], left=2) if can else self), can
        if name == "a while":
            left = max(0, self.left - 1)
            return replace(self, left=left, holder=self.holder if left else "", pause=self.pause), True
        if name == "a lease's time":
            return replace(self, left=0, holder="", pause=False), True
        if not self.left:
            return self, False
        return Lease(is_done=name == "finish", pause=name == "fail"), True


# --- the lease on a keep ----------------------------------------------------------------------------------------------

WRITING = ("a begins", "b begins", "a commits", "b commits", "a is cut off", "b is cut off")


@dataclass(frozen=True, slots=True)
class Writing:
    """A keep that two processes write to: one has it at a time, and goes on from all that was committed."""

    holder: str = ""
    committed: tuple[str, ...] = ()
    """Who wrote each event: its place is its number."""
    epoch: int = 0
    """Counts how often the keep went from one writer to another."""
    last: str = ""

    def step(self, name: str) -> tuple[Writing, bool]:
        """What becomes of it, and whether the step was possible."""
        who, _, what = name.partition(" ")
        if what == "begins":
            can = not self.holder
            return (replace(self, holder=who) if can else self), can
        can = self.holder == who
        if not can:
            return self, False  # it never began, or was cut off: it is fenced, whatever it believes
        if what == "is cut off":
            return replace(self, holder=""), True
        epoch = self.epoch + (self.last != who)
        return Writing("", (*self.committed, who), epoch, who), True


def wrote(path: Iterable[str]) -> tuple[list[bool], tuple[str, ...]]:
    """Which steps of a path are possible, and who wrote the events that come of it."""
    state, done = Writing(), []
    for name in path:
        state, was_possible = state.step(name)
        done.append(was_possible)
    return done, state.committed
