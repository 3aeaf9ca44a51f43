"""One of the two keeps: every public way to do something to it, and its symbolic record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from tests.promises.record import Outcome, PromiseBroken, Record, Written, answered, attempt, hearsay_marks
from tests.promises.vocabulary import meaning
from tests.promises.world import CLEARING
from truekeep import Keep
from truekeep.errors import StoreError
from truekeep.extract.conversation import Message
from truekeep.handles import Handle, Session
from truekeep.stores.base import Row
from truekeep.stores.records import memory_from
from truekeep.types import Memory, Standing, Verdict

KEEP, SESSION, HANDLE, WORKING, GUARD, LOAD = "keep", "session", "handle", "working", "guard", "load"
"""The doors: the host's own, a session's, a bound handle's, working memory, a guarded tool and a long load."""

stores = [""]
"""Where the keeps of the machines are: the last entry, nothing for files."""


@dataclass
class Side(Record):
    """A keep and its record."""

    home: Path = field(kw_only=True)
    relics: dict[tuple[str, int], Row] = field(default_factory=dict)
    """Every stored row as an intruder last saw it."""
    is_strict: bool = False
    """Whether the operator's own rule is in force."""
    kept_at: int = 0
    """The newest event when the files were last copied."""
    _cleared: int = 0

    def __post_init__(self) -> None:
        self.settings = replace(self.world.settings(), store=stores[-1])
        self.keep = self.open()

    @property
    def is_in_database(self) -> bool:
        """Whether the keep is in a database, and not in a file."""
        return bool(self.settings.store)

    @property
    def name_of_keep(self) -> str:
        """What the keep is called where it is stored."""
        return f"k{self.home.parent.name}-{self.home.name}" if self.is_in_database else "k"

    def open(self) -> Keep:
        """The keep, opened once more."""
        return Keep.open(self.name_of_keep, home=self.home, settings=self.settings, clock=self.clock, background=False)

    def reopen(self) -> None:
        """Everything has to survive a restart."""
        self.keep.close()
        self.keep = self.open()

    def can_be_reopened(self) -> bool:
        """Open the keep anew, unless that is refused because of what was done to its bytes."""
        self.keep.close()
        try:
            self.keep = self.open()
        except StoreError:
            return False
        return True

    def memories(self) -> dict[str, Memory]:
        """Every memory in the store, expired or not."""
        found = map(memory_from, self.keep._ledger.all("memories"))
        return {memory.id: memory for memory in found}

    def within(
        self, way: str, session: str | None, via: str = "agent", run: str | None = None
    ) -> Session | Handle | None:
        """What stands for a session at a door, where the door is not the keep's own."""
        if way == SESSION and session is not None:
            return self.keep.session(session)
        if way == HANDLE and session is not None:
            return self.keep.session(session).bind(via, run=run)
        return self.keep.bind(via) if way == HANDLE else None

    # Writing

    def remember(
        self, text: str, via: str, *, way: str = KEEP, session: str | None = None, extra: bool = False, **fields: Any
    ) -> Outcome:
        """Put a text through the gate, over the keep, a session or a handle."""
        outcome = attempt(lambda: self._writer(way, via, session)(text, **fields))
        return self.took(outcome, text, via, session, fields, extra=extra)

    def _writer(self, way: str, via: str, session: str | None) -> Callable[..., Verdict]:
        door = self.within(way, session, via)
        if isinstance(door, Handle):
            return door.remember
        if door is not None:
            return lambda text, **fields: door.remember(text, via=via, **fields)
        return lambda text, **fields: self.keep.remember(text, via=via, session=session, **fields)

    def remember_many(
        self, texts: Iterable[str], via: str, *, way: str = KEEP, extra: bool = False, **options: Any
    ) -> list[Outcome]:
        """Put a batch through the gate."""
        listed = list(texts)
        if way == LOAD:
            batch = attempt(lambda: [one for part in self.keep.remember_batches([(via, listed, None)]) for one in part])
        elif way == HANDLE:
            batch = attempt(lambda: self.keep.bind(via).remember_many(listed, **options))
        else:
            batch = attempt(lambda: self.keep.remember_many(listed, via=via, **options))
        if not batch.ok:
            return [batch]
        outcomes = [answered(verdict) for verdict in batch.value]
        pairs = zip(listed, outcomes, strict=True)
        return [self.took(outcome, text, via, None, {}, extra=extra) for text, outcome in pairs]

    def update(
        self,
        memory_id: str,
        text: str,
        via: str,
        *,
        way: str = KEEP,
        session: str | None = None,
        extra: bool = False,
        **fields: Any,
    ) -> Outcome:
        """Offer new content for a memory."""
        if way == HANDLE:
            outcome = attempt(lambda: self.keep.bind(via, session=session).update_memory(memory_id, text, **fields))
        else:
            outcome = attempt(lambda: self.keep.update_memory(memory_id, text, via=via, session=session, **fields))
        return self.took(outcome, text, via, session, fields, extra=extra)

    def forget(self, memory_id: str, via: str, *, way: str = KEEP) -> Outcome:
        """Delete; what is only proposed mentions the text as hearsay."""
        if way == HANDLE:
            outcome = attempt(lambda: self.keep.bind(via).delete_memory(memory_id))
        else:
            outcome = attempt(lambda: self.keep.delete_memory(memory_id, via=via))
        return self.forgot(outcome, memory_id, via)

    def forgot(self, outcome: Outcome, memory_id: str, via: str) -> Outcome:
        """Write down what came of a wish to delete."""
        if outcome.code == "deletion_proposed":
            self.mention(self.memories()[memory_id].text, self.keep.review.show(str(outcome.item_id)).memory.standing)
        return replace(outcome, is_doubtful=via == "agent")

    def bring_back(self, memory_id: str, via: str) -> Outcome:
        """Make a memory the newest word again; it stands as it stood."""
        outcome = attempt(lambda: self._brought_back(memory_id, via))
        return outcome.value if isinstance(outcome.value, Outcome) else outcome

    def _brought_back(self, memory_id: str, via: str) -> Outcome:
        chosen = self.versions[memory_id, self.keep._way_out.versions.version(memory_id).version]
        outcome = attempt(lambda: self.keep.restore(memory_id, via=via))
        if (stored := self.stored(outcome)) is not None:
            self.note(stored, chosen)
        return outcome

    def took(
        self,
        outcome: Outcome,
        text: str,
        via: str,
        session: str | None,
        fields: Mapping[str, Any],
        *,
        extra: bool,
        most: Standing | None = None,
    ) -> Outcome:
        """Write down what the gate made of a text, and insist that it stands no higher than it may."""
        if not outcome.ok or outcome.code == "batch_refused":
            return outcome
        parents, stored = tuple(fields.get("parents", ())), self.stored(outcome)
        quote = fields.get("quote")
        if stored is not None and quote and self.is_passage(session, quote, stored.text):
            # What was quoted is kept as the person said it; the agent's wording of it is not.
            text, most = stored.text, Standing.OWNER
        if most is None:
            most = self.most(text, via, session, fields.get("principal"), parents, quote)
        if stored is not None and stored.standing > most:
            raise PromiseBroken(f"P3: {text!r} over {via} stands as {stored.standing.label}, at most {most.label}")
        if stored is not None or most is Standing.HEARSAY:
            self.mention(text, stored.standing if stored else most)
        if outcome.memory_id is not None and stored is not None:
            who = stored.origin.principal
            self.note(stored, Written(text, meaning(text), via, who, most, parents, None, extra))
        return replace(outcome, is_doubtful=most is Standing.HEARSAY or via == "agent")

    def is_passage(self, session: str | None, quote: str, text: str) -> bool:
        """Whether a text is what the person behind the session said around a quote."""
        return quote in text and any(text in one for one in self.said.get(session or "", ()))

    def stored(self, outcome: Outcome) -> Memory | None:
        """The memory that an outcome is about, in the store or in the queue."""
        if outcome.memory_id is not None:
            sealed = self.keep._ledger.get("memories", outcome.memory_id)
            return memory_from(sealed) if sealed else None
        return self.keep.review.show(outcome.item_id).memory if outcome.item_id is not None else None

    # Sessions

    def begin(self, session: str, *, mediated: bool) -> Outcome:
        """Declare what the host knows of a session."""
        member = self.world.members.get(session)
        outcome = attempt(lambda: self.keep.session(session, mediated=mediated, member=member))
        if mediated:
            self.mediated.add(session)
        return outcome

    def observe(self, session: str, via: str, text: str, *, way: str = KEEP, **fields: Any) -> Outcome:
        """Report what a session took in."""
        outcome = attempt(lambda: self._observing(way, session, via)(text, **fields))
        if not outcome.ok:
            return outcome
        most = self.most(text, via, None, fields.get("principal"), (), None) if via != "agent" else Standing.HEARSAY
        if most is Standing.OWNER:
            self.heard_person(session, via, text)
        elif most is Standing.HEARSAY:
            self.heard.add(session)
        if most is not Standing.OWNER and via != "agent":
            self.read[session].add(text)  # who repeats what the agent said speaks for themselves
        for told, standing in self.keep._sessions.observations(session)[-1].told():
            self.mention(told, standing)
        return outcome

    def _observing(self, way: str, session: str, via: str) -> Callable[..., Any]:
        if way == HANDLE:
            return self.keep.bind(via, session=session).observe
        if way == SESSION:
            return lambda text, **fields: self.keep.session(session).observe(via, text, **fields)
        if way == WORKING:
            at = self.clock()
            return lambda text, **fields: self.keep.working.append(
                session, Message(f"m-{at.timestamp()}", via, text, at, role=fields.get("role") or "")
            )
        return lambda text, **fields: self.keep.observe(session, via, text, **fields)

    def took_result(self, session: str, text: str, *, way: str = KEEP) -> Outcome:
        """Report the result of a tool that nobody declared: it is somebody else's text."""
        door = self.keep.session(session) if way == SESSION else None
        report = door.observe_result if door else partial(self.keep.observe_result, session)
        outcome = attempt(lambda: report("crawl", text))
        self.heard.add(session)
        self.read[session].add(text)
        self.mention(text, Standing.HEARSAY)
        return outcome

    def start_afresh(self, session: str, *, way: str = KEEP) -> Outcome:
        """The host drops a session's context."""
        door = self.keep.session(session) if way == SESSION else None
        outcome = attempt(door.segment if door else partial(self.keep.segment, session))
        if outcome.ok:
            self.heard.discard(session)
        return outcome

    def freeze(self, session: str, *, refresh: bool, way: str = KEEP) -> Outcome:
        """Take the session's snapshot, which shows no hearsay."""
        door = self.within(way, session)
        taken = door.snapshot if door is not None else lambda **options: self.keep.snapshot(session, **options)
        outcome = attempt(lambda: taken(refresh=refresh))
        if not outcome.ok:
            return outcome
        text = outcome.value.text
        if outcome.value.shows_hearsay:
            raise PromiseBroken("P3: a snapshot shows hearsay")
        if not refresh and text != self.frozen.get(session, text):
            raise PromiseBroken(f"P6: the snapshot of {session} changed without a refresh")
        if session not in self.frozen or refresh:
            self._lists_what_is_there(text)
        self.frozen[session] = text
        return outcome

    def _lists_what_is_there(self, snapshot: str) -> None:
        """A snapshot that is made now tells of nothing that the keep no longer holds."""
        held = [memory.text for memory in self.memories().values()]
        for told in {known.text for known in self.versions.values()}.difference(held):
            if told in snapshot and not any(told in one for one in held):
                raise PromiseBroken(f"P6: a new snapshot lists {told!r}, which is gone")

    # People

    def clear(self, text: str) -> None:
        """Clear what was first met as hearsay: the owner says it, in a shared keep a reviewer approves it."""
        if not self.world.is_shared:
            self.observe(CLEARING, "user", text)
            return
        self.keep.review.lift(text, by="eva", reason="looked at it")
        self._cleared += 1
        held = self.remember(text, "file", principal=f"clearing-{self._cleared}")
        if held.item_id is not None:
            self.approve(held.item_id, inform_only=True)

    def approve(self, item_id: str, **limits: Any) -> Outcome:
        """Let an item in."""
        memory = self.keep.review.show(item_id).memory
        outcome = attempt(lambda: self.keep.review.approve(item_id, by="eva", reason="looked at it", **limits))
        if outcome.ok and outcome.code == "approved" and (stored := self.stored(outcome)) is not None:
            origin, fact = memory.origin, meaning(memory.text)
            known = Written(memory.text, fact, origin.channel, origin.principal, memory.standing, origin.parents)
            self.note(stored, replace(known, approval=stored.approval))
            self.mention(memory.text, Standing.OWNER, reviewed=True)
        return outcome

    def erase(self, ids: Sequence[str], subject: str | None) -> Outcome:
        """Erase for good. Which rows name a subject is the product's reading; what stays keeps its marks."""
        by: dict[str, Any] = {"by": "eva", "reason": "it was asked for"}
        outcome = attempt(lambda: self.keep.erase(ids, subject=subject, **by))
        ledger, stay = self.keep._ledger, {mark for one in self.memories().values() for mark in hearsay_marks(one.text)}
        for mark in self.firsts.keys() - stay:
            if ledger.get("marks", ledger.digest("mark", mark)) is None:
                del self.firsts[mark]
        return outcome
