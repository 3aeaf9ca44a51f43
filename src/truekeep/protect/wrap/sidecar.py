"""The sidecar: the one thing behind every wrapped store. It knows no framework.

Writing: what is to be written goes into the keep (*pending*), then through the gate, then to the store, and is settled
last. What the gate holds does not reach the store until a person approves it; what it rejects never does. Killed at any
step, ``reconcile`` finishes what was begun, and the gate is asked under a name, so that nothing is remembered twice.

Reading: an entry has the origin of what was written through us if it is that to the letter, else it is hearsay.

In **shadow** mode the store gets what it is given and gives what it has; what would have been held, blocked or marked
is counted. A sidecar that fails is logged and stands in nobody's way. In **enforce** mode it fails closed.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from truekeep.errors import InvalidRequest, NotAllowed, TruekeepError
from truekeep.protect.wrap.values import MEMBER, is_plain_name, mark_of, presented, unmarked, words_of
from truekeep.read.entries import EntryRow, PendingWrite, Place, settled
from truekeep.trust import fence
from truekeep.types import Decision, Verdict

if TYPE_CHECKING:
    from truekeep.handles import Handle
    from truekeep.keep import Keep
    from truekeep.read.reader import Shown

SHADOW, ENFORCE = "shadow", "enforce"
UNREACHABLE = "sidecar_unreachable"
_HEARSAY = "import"
_NO_WORDS = "(no words)"
_NAME_CAP = 200
"""A longer name of a store fills the report and its pages."""
_log = logging.getLogger("truekeep.protect")


@dataclass(frozen=True, slots=True)
class GivenEntry:
    """An entry on its way into the store, or on its way out of it."""

    namespace: tuple[str, ...]
    key: str
    value: Any
    extra: Any = None
    before: Any = None
    """What the store had, where part of the entry stays as it was: that part need not be the writer's words."""


@dataclass(frozen=True, slots=True)
class SeenEntry:
    """An entry as a program may use it."""

    value: Any
    may_act: bool
    blocked: bool
    mark: dict[str, Any]


@dataclass(slots=True)
class PlannedWrite:
    """A write between the gate and the store."""

    rows: list[EntryRow]
    allowed: list[GivenEntry]
    """What the store may be given now."""
    memories: dict[Place, str | None]


class Sidecar:
    """What a wrapped store asks before it writes and after it has read."""

    def __init__(
        self,
        keep: Keep,
        *,
        store: str,
        channel: str,
        mode: str = SHADOW,
        session: str | None = None,
        principal: str | None = None,
        influence_only: bool = False,
        kept: frozenset[str] = frozenset(),
    ) -> None:
        if mode not in (SHADOW, ENFORCE):
            raise InvalidRequest("The mode is 'shadow' or 'enforce'.", code="unknown_mode")
        if not isinstance(store, str) or not 0 < len(store.strip()) <= _NAME_CAP:
            raise InvalidRequest("A wrapped store needs a name of its own.", code="invalid_store_name")
        self.store, self.mode, self.session = store, mode, session
        self.influence_only = influence_only
        self._keep = keep
        self._principal = principal
        self._kept = kept
        self._writer: Handle = keep.bind(channel, session=session)
        self._stranger: Handle = keep.bind(_HEARSAY, session=session)
        self._lock = threading.RLock()
        self._counts: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()

    @property
    def enforces(self) -> bool:
        """Whether anything is changed, or all only counted."""
        return self.mode == ENFORCE

    # Writing

    @contextmanager
    def writing(self, given: Iterable[GivenEntry]) -> Iterator[PlannedWrite]:
        """Around a write to the store. Should the store fail, the row stays: nobody knows what the store did."""
        plan = self.begin(given)
        yield plan
        self.settle(plan)

    def begin(self, given: Iterable[GivenEntry]) -> PlannedWrite:
        """Put entries through the gate: what the store may be given. In enforce mode a rejection raises.

        What is given is read in here, so that an entry nobody can read does not stop a store that is only watched.
        """
        try:
            with self._lock, self._reached():
                return self._begun(list(given))
        except TruekeepError as error:
            if self.enforces:
                raise
            self._failed("write", error)
            return PlannedWrite([], [], {})

    def _begun(self, given: Sequence[GivenEntry]) -> PlannedWrite:
        # The last of several writes to one place is the one that stays.
        latest = {self._place(one): one for one in given}
        rows = [self._pending(place, one) for place, one in latest.items()]
        fresh = [row for row in rows if row.pending is not None]
        self._counts["writes"] += len(rows)
        if self.enforces and len(fresh) > 1:
            self._require_none_refused(fresh)
        self._keep.entries.put(fresh) if fresh else None
        verdicts = self.judged(fresh)
        self._note_verdicts(verdicts)
        held = [self._held(row, verdicts) for row in fresh if _is(verdicts, row, Decision.QUARANTINE)]
        out = [row for row in fresh if _is(verdicts, row, Decision.REJECT)]
        if held or out:
            self._keep.entries.put([*held, *_as_before(out)], [row.place for row in out if not row.digest])
        self.flush()
        if out and self.enforces:
            raise _refused(verdicts[out[0].place])
        stopped = {row.place for row in (*held, *out)}
        going = [row for row in fresh if row.place not in stopped]
        memories = {row.place: verdicts[row.place].memory_id if row.place in verdicts else None for row in going}
        if not self.enforces:
            return PlannedWrite(going, list(given), memories)
        return PlannedWrite(
            going, [self._plain(one) for place, one in latest.items() if place not in stopped], memories
        )

    def _require_none_refused(self, rows: Sequence[EntryRow]) -> None:
        """Of a batch with something in it that is rejected nothing is written, and nothing remembered."""
        for row in rows:
            pending = row.pending
            if pending is not None and pending.text:
                verdict = self._keep.weigh(pending.text, via=pending.via, session=self.session)
                if verdict.decision is Decision.REJECT:
                    self._note_verdicts({row.place: verdict})
                    self.flush()
                    raise _refused(verdict)

    def settle(self, plan: PlannedWrite) -> None:
        """The store has what the plan allowed."""
        try:
            with self._lock, self._reached():
                if plan.rows:
                    self._keep.entries.put([settled(row, plan.memories.get(row.place)) for row in plan.rows])
        except TruekeepError as error:
            # The store has it and the row says that it may: reconcile settles it, and nothing is lost.
            self._failed("settle", error)

    def judged(self, rows: Sequence[EntryRow]) -> dict[Place, Verdict]:
        """What the gate says of pending rows; of one that it was asked about before, what it said then."""
        found: dict[Place, Verdict] = {}
        for row in rows:
            pending = row.pending
            if pending is not None and pending.text:
                writer = self._stranger if pending.via == _HEARSAY else self._writer
                (found[row.place],) = writer.remember_many(
                    [pending.text], request=pending.request, skip_rejected=True, principal=self._principal
                )
        return found

    def _pending(self, place: Place, one: GivenEntry) -> EntryRow:
        value, is_read = unmarked(one.value)
        digest, known = self._keep.entries.digest(value), self._keep.entries.get(place)
        row = known or EntryRow(place)
        if row.pending is None and row.digest == digest:
            return row  # written back as it was: it keeps its origin
        via = _HEARSAY if is_read or self._borrows(one, row) else self._writer.channel
        begun = row.pending
        if begun is not None and (begun.digest, begun.via) == (digest, via):
            return replace(row, pending=replace(begun, extra=one.extra))  # the same write again is no second memory
        pending = PendingWrite(digest, value, one.extra, words_of(value), via, self.session, secrets.token_hex(16))
        return replace(row, pending=pending)

    def _borrows(self, one: GivenEntry, row: EntryRow) -> bool:
        """Whether an entry keeps words of the store's that may not act: a change of the rest must not wash them."""
        if one.before is None:
            return False
        shown, is_known = self._keep.entries.shown(row, one.before, words_of(one.before) or _NO_WORDS, self.session)
        return not (is_known and shown.may_act)

    def _held(self, row: EntryRow, verdicts: dict[Place, Verdict]) -> EntryRow:
        pending = row.pending
        return replace(row, pending=replace(pending, item=verdicts[row.place].item_id)) if pending else row

    def _plain(self, one: GivenEntry) -> GivenEntry:
        return replace(one, value=unmarked(one.value)[0])

    @contextmanager
    def removing(self, places: Sequence[tuple[tuple[str, ...], str]]) -> Iterator[None]:
        """Around a deletion in the store. One that the store refuses is forgotten: nobody may make up for it."""
        rows = self.begin_removal(places)
        try:
            yield
        except Exception:
            self.cancel_removal(rows)
            raise
        self.settle_removal(rows)

    def begin_removal(self, places: Sequence[tuple[tuple[str, ...], str]]) -> list[EntryRow]:
        """Note that entries are to go, before the store is told."""
        try:
            with self._lock, self._reached():
                found = [self._keep.entries.get(Place(self.store, *one)) for one in places]
                rows = [replace(row, pending=PendingWrite("")) for row in found if row is not None]
                self._keep.entries.put(rows) if rows else None
                self._counts["deletions"] += len(places)
                return rows
        except TruekeepError as error:
            if self.enforces:
                raise
            self._failed("delete", error)
            return []

    def settle_removal(self, rows: Sequence[EntryRow]) -> None:
        """The store has let go of them."""
        try:
            with self._lock, self._reached():
                self._keep.entries.put((), [row.place for row in rows]) if rows else None
        except TruekeepError as error:
            self._failed("settle", error)

    def cancel_removal(self, rows: Sequence[EntryRow]) -> None:
        """The store refused: the rows are as they were."""
        try:
            with self._lock, self._reached():
                self._keep.entries.put([replace(row, pending=None) for row in rows]) if rows else None
        except TruekeepError as error:
            self._failed("settle", error)

    def is_held(self, namespace: tuple[str, ...], key: str) -> bool:
        """Whether a write to a place waits for a person."""
        row = self._keep.entries.get(Place(self.store, namespace, key))
        return row is not None and row.is_held

    # Reading

    def watch(self, look: Callable[[], object]) -> None:
        """Look at what a store gave, in shadow mode: whatever goes wrong there stands in nobody's way."""
        try:
            with self._reached():
                look()
        except TruekeepError as error:
            self._failed("read", error)

    def read(self, given: Sequence[GivenEntry]) -> list[SeenEntry]:
        """Entries as a program may use them, in their order; in shadow mode as the store gave them."""
        try:
            with self._lock, self._reached():
                return self._read(given)
        except TruekeepError as error:
            self._failed("read", error)
            if not self.enforces:
                return [SeenEntry(one.value, may_act=True, blocked=False, mark={}) for one in given]
            text = fence.placeholder([UNREACHABLE], "")
            mark = {"origin": "unknown", "may_act": False, "blocked": True, "block_reason": [UNREACHABLE]}
            return [SeenEntry({MEMBER: mark, "data": text}, may_act=False, blocked=True, mark=mark) for _ in given]

    def _read(self, given: Sequence[GivenEntry]) -> list[SeenEntry]:
        looked = [self._look(one) for one in given]
        self._counts["reads"] += len(looked)
        for shown, is_known in looked:
            self._count_read(shown, is_known=is_known)
        self.flush(lazily=True)
        if not self.enforces:
            return [
                SeenEntry(one.value, shown.may_act, shown.blocked, {})
                for one, (shown, _) in zip(given, looked, strict=True)
            ]
        used = [(one, pair) for one, pair in zip(given, looked, strict=True) if not self.drops(pair[0].may_act)]
        self._tell([(one, shown) for one, (shown, _) in used])
        return [
            SeenEntry(
                presented(one.value, shown, self._kept), shown.may_act, shown.blocked, mark_of(shown, known=is_known)
            )
            for one, (shown, is_known) in zip(given, looked, strict=True)
        ]

    def names_safely(self, names: Sequence[str]) -> bool:
        """Whether the screens would let the names of an entry be shown."""
        if all(is_plain_name(name) for name in names):
            return True
        return not self.read([GivenEntry(("",), "", " ".join(names))])[0].blocked

    def drops(self, may_act: bool) -> bool:
        """Whether an entry is left out because only what may act is asked for."""
        return self.enforces and self.influence_only and not may_act

    def _look(self, one: GivenEntry) -> tuple[Shown, bool]:
        row = self._keep.entries.get(self._place(one))
        words = words_of(one.value) or _NO_WORDS
        shown, is_known = self._keep.entries.shown(row, one.value, words, self.session)
        return shown, is_known

    def _tell(self, used: Sequence[tuple[GivenEntry, Shown]]) -> None:
        """The session has read it: what may not act is somebody else's words in its context."""
        if self.session is None:
            return
        self._keep.entries.saw(self.session, [shown for _, shown in used if shown.may_act])
        for one, shown in used:
            if not shown.may_act and not shown.blocked:
                text = words_of(one.value)[: self._keep.settings.observe_cap] or _NO_WORDS
                self._keep.observe(self.session, _HEARSAY, text)

    # Counting

    def _count_read(self, shown: Shown, *, is_known: bool) -> None:
        if not is_known:
            self._counts["read_unknown"] += 1
        if shown.blocked:
            self._counts["read_blocked"] += 1
            self._reasons.update(shown.block_reason)
        elif not shown.may_act:
            self._counts["read_marked"] += 1

    def _note_verdicts(self, verdicts: dict[Place, Verdict]) -> None:
        for verdict in verdicts.values():
            if not verdict.accepted:
                name = "write_held" if verdict.decision is Decision.QUARANTINE else "write_rejected"
                self._counts[name] += 1
                self._reasons[verdict.code] += 1
                self._reasons.update({one.rule_id for one in verdict.findings})

    def flush(self, *, lazily: bool = False) -> None:
        """Write the counts down; lazily only if something other than plain reads is among them."""
        plain = {"reads"} if lazily else set()
        if self._counts.keys() - plain or self._counts["reads"] >= _NAME_CAP:
            self._keep.entries.count(self.store, self.mode, self._counts, self._reasons)
            self._counts, self._reasons = Counter(), Counter()

    def _failed(self, what: str, error: TruekeepError) -> None:
        self._counts["sidecar_failures"] += 1
        _log.warning("The sidecar of a protected store failed (%s): %s", what, error.code)

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Whatever goes wrong in the keep is one kind of error: the sidecar could not be asked."""
        try:
            yield
        except TruekeepError:
            raise
        except Exception as error:
            raise NotAllowed(
                "The keep beside the protected store could not be asked.",
                code=UNREACHABLE,
                hint="Run 'truekeep doctor'; nothing was written to the store.",
            ) from error

    def _place(self, one: GivenEntry) -> Place:
        return Place(self.store, tuple(map(str, one.namespace)), str(one.key))

    @property
    def keep(self) -> Keep:
        """The keep beside the store."""
        return self._keep


def _as_before(rows: Sequence[EntryRow]) -> list[EntryRow]:
    """Rows of places that had something before, without what did not come to be."""
    return [replace(row, pending=None) for row in rows if row.digest]


def _is(verdicts: dict[Place, Verdict], row: EntryRow, decision: Decision) -> bool:
    return row.place in verdicts and verdicts[row.place].decision is decision


def _refused(verdict: Verdict) -> NotAllowed:
    return NotAllowed(verdict.reason, code="entry_refused", hint=verdict.hint)
