"""The extra hearsay: everything that somebody without a proven word can do, on the laden side alone.

Writes over every channel that merely reads, text that enrolled systems and the owner hand on, the agent's words where
it is not to be believed, observations, changes, wishes to delete, merges, echoes by enrolled systems, and attempts at
what a handle may not do. To add one, write a class with ``run`` and name it in ``HEARSAY``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from tests.promises.agreement import Operation
from tests.promises.attempts import Overstep, TurnDown, WipeOut, Wonder
from tests.promises.neighbours import LookOver, Trespass
from tests.promises.operations import anywhere, hearsay_writes, kinds, numbers, one_of, read_channels, sessions, ways
from tests.promises.talking import Jot
from tests.promises.tampering import Alter, Drop, Replay, RollBack
from tests.promises.twins import Twins
from tests.promises.vocabulary import (
    CALLS,
    HEARSAY_CHANNELS,
    ODD,
    POISON,
    POISONED,
    REQUESTS,
    SAYINGS,
    STRANGERS,
    WISHES,
    Fact,
    wordings,
)
from tests.promises.world import SYSTEMS
from tests.promises.writing import Remember


@dataclass(frozen=True)
class Write:
    """Write what nobody vouches for; ``parents`` may be any memory, proven ones included."""

    what: Remember

    def run(self, twins: Twins) -> None:
        what, side = self.what, twins.laden
        via = twins.world.channel(what.channel)
        if via == "agent" and side.is_clean(what.session):
            return
        known = list(side.memories())
        parents = list(dict.fromkeys(known[number % len(known)] for number in what.parents)) if known else []
        side.remember(
            what.text,
            via,
            way=what.way,
            session=what.session,
            extra=True,
            principal=what.principal,
            parents=parents,
            kind=what.kind,
            metadata=what.metadata,
            topics=["verified"],
        )


@dataclass(frozen=True)
class WriteMany:
    """A flood."""

    channel: str
    texts: tuple[str, ...]
    skip_rejected: bool

    def run(self, twins: Twins) -> None:
        twins.laden.remember_many(self.texts, self.channel, extra=True, skip_rejected=self.skip_rejected)


@dataclass(frozen=True)
class Change:
    """Offer new content for any memory, the owner's too."""

    which: int
    channel: str
    text: str
    principal: str | None = None

    def run(self, twins: Twins) -> None:
        side, known = twins.laden, list(twins.laden.memories())
        if known:
            aim = known[self.which % len(known)]
            before = side.written[aim]
            outcome = side.update(aim, self.text, self.channel, extra=before.is_extra, principal=self.principal)
            if outcome.code == "changed" and before.fact is not None:
                twins.taken_back.add(before.fact)


@dataclass(frozen=True)
class WishGone:
    """Try to have any memory deleted."""

    which: int
    channel: str

    def run(self, twins: Twins) -> None:
        known = list(twins.laden.memories())
        if known:
            twins.laden.forget(known[self.which % len(known)], self.channel)


@dataclass(frozen=True)
class Overhear:
    """A session takes in hearsay; ``role`` says whatever it likes."""

    session: str
    channel: str
    text: str
    principal: str | None
    role: str | None

    def run(self, twins: Twins) -> None:
        twins.laden.observe(self.session, self.channel, self.text, principal=self.principal, role=self.role)


@dataclass(frozen=True)
class Bring:
    """A tool brings hearsay into a session."""

    session: str
    text: str

    def run(self, twins: Twins) -> None:
        twins.laden.took_result(self.session, self.text)


@dataclass(frozen=True)
class Leave:
    """Something that was read is left in a session's working memory."""

    what: Jot

    def run(self, twins: Twins) -> None:
        if not twins.laden.is_clean(self.what.session) or self.what.channel != "agent":
            self.what.on(twins.laden, self.what.channel)
            twins.left.add(self.what.session)


@dataclass(frozen=True)
class Echo:
    """An enrolled system repeats, as its own, what the keep first met as hearsay."""

    channel: str
    fact: Fact
    word: int

    def run(self, twins: Twins) -> None:
        forms = wordings(self.fact)
        text = forms[self.word % len(forms)]
        if twins.laden.repeats_hearsay(text):
            twins.has_echo = True
            twins.laden.remember(text, self.channel, extra=True)


@dataclass(frozen=True)
class Hoax:
    """A page is read, two systems repeat what it says."""

    fact: Fact
    channel: str

    def run(self, twins: Twins) -> None:
        Write(Remember(self.channel, wordings(self.fact)[0])).run(twins)
        for word, via in enumerate(SYSTEMS):
            Echo(via, self.fact, word).run(twins)


def _relayed(what: Remember, principal: str) -> Remember:
    return replace(what, principal=principal)


lies = st.sampled_from((*POISONED, *POISONED, *SAYINGS, *ODD, *WISHES))
untrusted = st.sampled_from((*HEARSAY_CHANNELS, "agent"))

HEARSAY: Mapping[str, st.SearchStrategy[Operation]] = {
    "extra_read": one_of(
        hearsay_writes(lies).map(Write),
        st.builds(WriteMany, read_channels, st.lists(lies, min_size=2, max_size=6).map(tuple), st.booleans()),
    ),
    "extra_relayed": st.builds(
        _relayed,
        st.builds(Remember, st.sampled_from((*SYSTEMS, "owner")), lies, ways, parents=st.just(()), kind=kinds),
        st.sampled_from(STRANGERS),
    ).map(Write),
    "extra_agent": st.builds(
        Remember, st.just("agent"), lies, ways, anywhere, parents=st.lists(numbers, max_size=2).map(tuple)
    ).map(Write),
    "extra_change": one_of(
        st.builds(Change, numbers, untrusted, lies),
        st.builds(Change, numbers, st.sampled_from(SYSTEMS), lies, principal=st.sampled_from(STRANGERS)),
        st.builds(WishGone, numbers, untrusted),
    ),
    "extra_observed": one_of(
        st.builds(
            Overhear,
            sessions,
            untrusted,
            st.one_of(lies, st.sampled_from(REQUESTS)),
            st.none(),
            st.sampled_from((None, "user")),
        ),
        st.builds(Bring, sessions, st.one_of(lies, st.sampled_from(REQUESTS))),
    ),
    "extra_left": st.builds(Jot, sessions, untrusted, lies).map(Leave),
    "extra_relay_observed": st.builds(
        Overhear, sessions, st.sampled_from(SYSTEMS), lies, st.sampled_from(STRANGERS), st.just("user")
    ),
    "extra_echo": one_of(
        st.builds(Echo, st.sampled_from(SYSTEMS), st.sampled_from(POISON), numbers),
        st.builds(Hoax, st.sampled_from(POISON), read_channels),
    ),
    "extra_attempt": one_of(
        st.builds(Overstep, numbers, untrusted),
        st.builds(Wonder, sessions, st.sampled_from(CALLS)),
        st.builds(TurnDown, numbers),
        st.builds(WipeOut, numbers),
    ),
    "extra_trespass": one_of(
        st.builds(Trespass, st.integers(0, 50)), st.builds(Trespass, st.integers(0, 50)), st.builds(LookOver, sessions)
    ),
    "extra_tampered": one_of(
        st.builds(Alter, numbers), st.builds(Replay, numbers), st.builds(Drop, numbers), st.builds(RollBack)
    ),
}
"""Every way in which hearsay comes in, in groups of about equal weight."""
