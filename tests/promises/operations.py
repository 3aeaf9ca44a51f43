"""The strategies for the operations of the shared life: everything a host, an owner, a reviewer or a system does.

Each operation is a value that says what to do, and lives in the room it belongs to: ``writing``, ``talking``,
``distilling``, ``quoting``, ``looking``, ``deciding``, ``acting``. To add one, write a class with ``run`` and name it
in ``OPERATIONS``. Numbers choose among what is there, so that every sequence makes sense.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from tests.promises import distilling
from tests.promises.acting import Answering, Ask, CarryOut, Confirm, CreditRun, Permit, Plan, Redeem
from tests.promises.agreement import Operation
from tests.promises.deciding import (
    Approve,
    DecideSeveral,
    Enrol,
    Erase,
    Lift,
    Maintain,
    Mute,
    Pass,
    Reconsider,
    Reject,
    Revoke,
    Rewind,
    Undo,
    Wait,
)
from tests.promises.distilling import Distil
from tests.promises.elsewhere import Elsewhere
from tests.promises.leaking import WAYS, Leak
from tests.promises.looking import Freeze, ListAll, LookAround, LookAt, Recall
from tests.promises.merging import Consolidate
from tests.promises.quoting import TWISTS, USES, Misquote
from tests.promises.screening import Rule
from tests.promises.side import GUARD, HANDLE, KEEP, LOAD, SESSION, WORKING
from tests.promises.talking import Begin, Jot, LetGo, Observe, Return, Segment
from tests.promises.vocabulary import (
    CALLS,
    FORGED,
    HEARSAY_CHANNELS,
    HONEST,
    ODD,
    REQUESTS,
    SAYINGS,
    SENDERS,
    SITES,
    STRANGERS,
    forwarded,
)
from tests.promises.world import DESK, SESSIONS, SYSTEMS
from tests.promises.writing import Agree, BringBack, Delete, ForgetAndBringBack, Pin, Remember, RememberMany, Update

PEOPLE = ("owner", "other")
SOURCES = (
    (("channel", "crm"),),
    (("principal", "billing"),),
    (("channel", "web"),),
    (("principal", "evil.example"),),
    (("channel", "agent"),),
    (("session", "s-1"),),
)
"""What an operator might take back."""

numbers = st.integers(0, 20)
sessions = st.sampled_from(SESSIONS)
anywhere = st.sampled_from((*SESSIONS, None))
texts = st.sampled_from((*SAYINGS, *SAYINGS, *ODD))
people = st.sampled_from(PEOPLE)
systems = st.sampled_from((*SYSTEMS, DESK))
ways = st.sampled_from((KEEP, SESSION, HANDLE))
doors = st.sampled_from((KEEP, HANDLE))
kinds = st.sampled_from(("semantic", "episodic"))
parents = st.lists(numbers, max_size=2).map(tuple)
read_channels = st.sampled_from(HEARSAY_CHANNELS)
sayings = st.sampled_from(SAYINGS)


def _quoting(session: str, text: str, other: str | None) -> Remember:
    """The agent quotes a person for a memory: with the very words, or with words about something else."""
    return Remember("agent", text, HANDLE, session, quote=other or text)


def principals(channel: str) -> st.SearchStrategy[str | None]:
    """Who may stand behind a channel."""
    named = SITES if channel == "web" else SENDERS if channel == "email" else STRANGERS
    return st.sampled_from((None, *named))


def hearsay_writes(texts: st.SearchStrategy[str]) -> st.SearchStrategy[Remember]:
    """What was merely read, with whatever labels somebody put on it."""
    return read_channels.flatmap(
        lambda channel: st.builds(
            Remember,
            st.just(channel),
            texts,
            ways,
            anywhere,
            principals(channel),
            parents,
            st.none(),
            kinds,
            st.sampled_from(FORGED),
        )
    )


def one_of(*strategies: st.SearchStrategy[Any]) -> st.SearchStrategy[Operation]:
    """One of several operations."""
    return st.one_of(*strategies)


OPERATIONS: Mapping[str, st.SearchStrategy[Operation]] = {
    "owner_says": st.builds(
        Remember, people, texts, ways, anywhere, parents=parents, days=st.sampled_from((None, None, 2))
    ),
    "system_says": st.builds(Remember, systems, texts, ways, parents=parents, kind=kinds),
    "systems_agree": st.builds(Agree, st.sampled_from(HONEST), st.tuples(numbers, numbers)),
    "is_read": one_of(
        hearsay_writes(texts),
        st.builds(Remember, st.sampled_from((*SYSTEMS, "owner")), texts, principal=st.sampled_from(STRANGERS)),
    ),
    "agent_writes": st.builds(Remember, st.just("agent"), texts, ways, anywhere, parents=parents),
    "agent_quotes": st.builds(_quoting, sessions, sayings, st.sampled_from((None, *SAYINGS))),
    "agent_misquotes": st.builds(Misquote, sessions, st.sampled_from(TWISTS), st.sampled_from(USES), numbers),
    "batch": st.builds(
        RememberMany,
        st.sampled_from(("owner", "crm", "web", "import")),
        st.lists(texts, min_size=1, max_size=3).map(tuple),
        st.booleans(),
        st.sampled_from((KEEP, HANDLE, LOAD)),
    ),
    "change": one_of(
        st.builds(
            Update, numbers, st.sampled_from((*PEOPLE, "crm", "billing", "agent", "web")), texts, anywhere, doors
        ),
        st.builds(Delete, numbers, st.sampled_from((*PEOPLE, "agent", "crm", "web")), doors),
        st.builds(BringBack, numbers, st.sampled_from((*PEOPLE, "agent"))),
    ),
    "elsewhere": st.builds(
        Elsewhere, st.sampled_from((*PEOPLE, "crm", "billing", "web")), texts, numbers, st.sampled_from((False, True))
    ),
    "begin": st.builds(Begin, sessions, st.sampled_from((True, True, False))),
    "person_says": st.builds(
        Observe,
        sessions,
        st.just("owner"),
        st.one_of(st.sampled_from((*REQUESTS, *SAYINGS)), sayings.map(forwarded)),
        way=st.sampled_from((KEEP, SESSION, HANDLE, WORKING)),
    ),
    "session_reads": one_of(
        st.builds(Observe, sessions, st.sampled_from((*SYSTEMS, *HEARSAY_CHANNELS, "agent")), sayings, way=ways),
        st.builds(
            Jot, sessions, st.sampled_from((*SYSTEMS, "owner", "web", "agent")), texts, st.sampled_from((None, 1))
        ),
        st.builds(LetGo, anywhere),
        st.builds(Return, sessions, sayings, st.sampled_from((KEEP, SESSION))),
        st.builds(Segment, sessions, st.sampled_from((KEEP, SESSION))),
    ),
    "distil": st.builds(
        Distil,
        sessions,
        st.sampled_from((*REQUESTS, *SAYINGS)),
        st.lists(st.tuples(sayings, sayings) | sayings.map(lambda text: (text, text)), max_size=3).map(tuple),
        st.sampled_from(("discrete", "discrete", "summary", distilling.CUSTOM)),
        st.sampled_from(distilling.WAYS),
    ),
    "look": one_of(
        st.builds(Recall, anywhere, st.sampled_from(("Northwind account", "Eva")), st.sampled_from((1, 5)), way=ways),
        st.builds(Recall, anywhere, sayings, influence_only=st.just(True)),
        st.builds(ListAll, anywhere, ways),
        st.builds(LookAt, anywhere, numbers, doors),
        st.builds(Freeze, sessions, st.booleans(), ways),
        st.builds(LookAround, numbers, sessions),
    ),
    "review": one_of(
        st.builds(
            Approve,
            numbers,
            st.sampled_from(((), (), (("inform_only", True),), (("purpose", "pay"),))),
            st.sampled_from((None, 3)),
        ),
        st.builds(Reject, numbers),
        st.builds(DecideSeveral, st.tuples(numbers, numbers)),
        st.builds(Reconsider, numbers, st.booleans()),
        st.builds(Wait, st.booleans()),
        st.builds(Lift, sayings),
    ),
    "ask": st.builds(
        Ask, sessions, st.lists(st.sampled_from(REQUESTS), max_size=2).map(tuple), st.sampled_from(CALLS), ways
    ),
    "act": one_of(
        st.builds(Confirm, numbers, st.booleans(), doors),
        st.builds(Redeem, numbers, st.sampled_from((KEEP, SESSION, HANDLE, GUARD))),
        st.builds(CreditRun, numbers, st.booleans()),
        st.builds(Plan, sessions, st.sampled_from(HONEST), st.sampled_from((KEEP, SESSION))),
        st.builds(Answering, sessions, st.sampled_from(("1180-22", "6666-66")), st.sampled_from((KEEP, SESSION))),
        st.builds(Permit, st.sampled_from(("Northwind", "Acme")), st.booleans()),
    ),
    "leak": st.builds(Leak, sessions, numbers, st.integers(0, WAYS - 1)),
    "carry_out": st.builds(CarryOut, sessions, numbers, st.sampled_from((True, True, False, None))),
    "take_back": one_of(
        st.builds(Revoke, st.sampled_from(SOURCES), st.sampled_from((None, None, 30)), st.booleans()),
        st.builds(Rewind, st.sampled_from((0.05, 0.2, 60, 60 * 24))),
        st.builds(Undo, numbers),
        st.builds(Consolidate, st.sampled_from((False, False, True))),
        st.builds(ForgetAndBringBack, sayings),
        st.builds(Pin, numbers, st.sampled_from((*PEOPLE, "agent", "web")), st.booleans()),
        st.builds(Erase, numbers),
        st.builds(Erase, numbers, st.sampled_from(("Acme", "Eva", "Northwind"))),
    ),
    "upkeep": one_of(
        st.builds(Pass, st.sampled_from((1, 30, 60 * 24, 60 * 24 * 12))),
        st.builds(Maintain, st.booleans()),
        st.builds(Enrol, st.booleans()),
        st.builds(Mute, st.sampled_from(SITES), st.booleans()),
        st.builds(Rule, st.booleans()),
    ),
}
"""Every operation of the shared life, in groups of about equal weight."""
