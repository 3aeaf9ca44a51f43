"""The front door: a ``Keep`` ties the way in, the way out, review and audit of one owner's memory together."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack

from truekeep.assembly import Ground, assembled
from truekeep.boundary import ActionAnswer
from truekeep.browsing import Listing, Sought
from truekeep.candidate import checked_limit, checked_moment
from truekeep.catalog import Catalog
from truekeep.config import Paths, Settings
from truekeep.consolidation import Progress
from truekeep.distil import Distilled
from truekeep.embed import Embedder, by_name
from truekeep.erasure import Receipt
from truekeep.errors import InvalidRequest
from truekeep.export import exported
from truekeep.handles import Handle, Session
from truekeep.incident import Incident, Report, Source
from truekeep.intake import Fields
from truekeep.loading import Portion, load
from truekeep.origin import keep_name, own_principal, session_name
from truekeep.policy import preset
from truekeep.recall import Filters, Query, Recall
from truekeep.screens.panel import Screening
from truekeep.stores.files import open_ledger
from truekeep.stores.ledger import Ledger
from truekeep.stores.records import memory_from
from truekeep.types import MEMBER, Snapshot, Verdict, utc_text

OPERATOR, NOT_GIVEN = "operator", "not given"
"""Who took something back, and why, where the host program does not say."""


def now() -> datetime:
    """The current moment, in UTC."""
    return datetime.now(UTC)


class Keep:
    """One owner's memory. ``via=`` is for the host program itself; hand agent code a ``bind`` handle instead."""

    def __init__(
        self,
        name: str,
        ledger: Ledger,
        catalog: Catalog,
        panel: Screening,
        settings: Settings,
        clock: Callable[[], datetime],
    ) -> None:
        house = assembled(Ground(name, ledger, catalog, panel, settings, clock))
        self.name = name
        self.settings = settings
        self.channels = house.evidence.channels
        self.requests = house.way_in.gate.requests
        self.actions = house.acting.boundary
        self.review = house.upkeep.review
        self.audit = house.upkeep.audit
        self.working = house.extraction.working
        self.prompts = house.extraction.prompts
        self.extraction = house.extraction.extractions
        self._paths: Paths | None = None
        self._ledger = ledger
        self._catalog = catalog
        self._clock = clock
        self._sessions = house.evidence.sessions
        self._way_in = house.way_in
        self._way_out = house.way_out
        self._credits = house.acting.credits
        self._upkeep = house.upkeep

    @classmethod
    def open(
        cls,
        name: str,
        *,
        home: str | Path | None = None,
        policy: str | None = None,
        settings: Settings | None = None,
        embedder: Callable[[], Embedder | None] | None = None,
        clock: Callable[[], datetime] = now,
    ) -> Self:
        """Open the keep of that name, or create it with a fresh key; the whole store is verified first."""
        from truekeep.screens.standard import LivePanel  # noqa: PLC0415 - the rule engine is heavy

        checked = keep_name(name)
        paths = Paths.resolve(home)
        chosen = settings or Settings.load(paths.config)
        chosen = chosen.with_policy(policy) if policy is not None else chosen
        preset(chosen.policy)
        ledger = open_ledger(paths, checked, clock, chosen)
        try:
            catalog = Catalog(ledger, embedder or partial(by_name, chosen.embedder))
            keep = cls(checked, ledger, catalog, LivePanel(paths), chosen, ledger.clock)
        except BaseException:
            ledger.close()
            raise
        keep._paths = paths
        return keep

    # Writing

    def remember(self, text: str, *, via: str, **fields: Unpack[Fields]) -> Verdict:
        """Put a text through the gate. A refusal is an answer: the verdict says what was decided and why."""
        return self._way_in.gate.admit(self._way_in.intake.candidate(text, via=via, **fields))

    def weigh(self, text: str, *, via: str, **fields: Unpack[Fields]) -> Verdict:
        """What would be decided about a text now; nothing is stored, queued or audited."""
        return self._way_in.gate.weigh(self._way_in.intake.candidate(text, via=via, **fields))

    def remember_many(
        self,
        entries: Iterable[str | Mapping[str, Any]],
        *,
        via: str,
        skip_rejected: bool = False,
        mark: str | None = None,
        request: str | None = None,
        **shared: Unpack[Fields],
    ) -> list[Verdict]:
        """Put a batch through the gate in one transaction; one rejection, and nothing of it is stored.

        ``skip_rejected`` stores the rest instead. ``mark`` is audited in the same transaction, so that a long load
        can be resumed where it stopped. ``request`` names the batch: what was stored under that name before, by
        whichever process, is answered as it was and not stored again.
        """
        candidates = self._way_in.intake.candidates(entries, via=via, **shared)
        return self._way_in.gate.admit_all(candidates, skip_rejected=skip_rejected, mark=mark, request=request)

    def remember_batches(
        self, batches: Iterable[tuple[str, Iterable[str | Mapping[str, Any]], str | None]]
    ) -> Generator[list[Verdict], None, None]:
        """Load much: batches of channel, entries and mark, one transaction each; the rejected are left out.

        Gives the verdicts of each batch once it is stored; the next one is being embedded meanwhile.
        """
        portions = (Portion(self._way_in.intake.candidates(entries, via=via), mark) for via, entries, mark in batches)
        return load(portions, self._way_in.gate, self._catalog)

    def update_memory(self, memory_id: str, text: str, *, via: str, **fields: Unpack[Fields]) -> Verdict:
        """Give a memory new content; whatever is not accepted leaves the old entry as it was."""
        candidate = self._way_in.intake.candidate(text, via=via, **fields)
        return self._way_in.gate.admit_change(memory_from(self._way_out.reader.found(memory_id)), candidate)

    def delete_memory(self, memory_id: str, *, via: str, reason: str = "") -> Verdict:
        """Forget a memory. People delete; what an agent wants deleted waits for a person.

        In a shared keep members delete their own words and propose to delete others'.
        """
        return self._way_in.forgetting.delete(memory_id, via=via, reason=reason)

    def restore(self, memory_id: str, *, via: str, version: int | None = None) -> Verdict:
        """Make a memory the newest word again: one that was replaced, an earlier version, or one that was deleted.

        Only people do, today's screens look at it once more, and it stands no higher than it stood.
        """
        return self._way_in.forgetting.restore(memory_id, via=via, version=version)

    def consolidate(
        self,
        *,
        dry_run: bool = False,
        by: str = OPERATOR,
        reason: str = NOT_GIVEN,
        progress: Progress | None = None,
    ) -> Report:
        """Merge memories that say the same into one each; ``dry_run`` only says which, ``undo`` takes it back.

        Nobody acts who did not, and nobody who did stops: only equals are merged, and who acts is checked each time.
        """
        return self._upkeep.consolidator.run(by=by, reason=reason, dry_run=dry_run, progress=progress)

    # Reading

    def recall(
        self,
        query: str,
        *,
        k: int = 5,
        influence_only: bool = False,
        min_score: float | None = None,
        half_life_days: float | None = None,
        as_of: datetime | None = None,
        filters: Filters | None = None,
        explain: bool = False,
        session: str | None = None,
    ) -> Recall:
        """The memories that answer a query; with ``influence_only`` just those that may drive an action.

        ``as_of`` asks how things stood at another moment: what held then as far as is known now, with what was replaced
        or changed since. Whether a hit may act is always said for now, so what is history never acts.
        """
        settings = self.settings
        if not isinstance(query, str) or len(query) > settings.query_cap:
            raise InvalidRequest(f"The query must be a string of at most {settings.query_cap:,} characters.")
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= settings.k_cap:
            raise InvalidRequest(f"k must be a whole number from 1 to {settings.k_cap:,}.", code="invalid_k")
        moment = checked_moment("as_of", as_of)
        hits = self._way_out.recaller.answer(
            Query(
                text=query,
                k=k,
                now=self._clock(),
                influence_only=influence_only,
                min_score=settings.min_score if min_score is None else min_score,
                half_life_days=settings.half_life_days if half_life_days is None else half_life_days,
                as_of=moment,
                filters=filters or Filters(),
                explain=explain,
                whom=self._way_out.audience.of(session),
            )
        )
        self._way_out.audience.saw(session, [hit.memory for hit in hits if not hit.blocked], "recall")
        return hits

    def get_memories(
        self,
        *,
        after: str | None = None,
        limit: int | None = None,
        session: str | None = None,
        as_of: datetime | None = None,
    ) -> list[dict[str, Any]]:
        """Memories as dictionaries, in the order in which they were stored; blocked ones as placeholders.

        ``after`` is the id of the last memory of the page before. ``as_of`` lists what held at another moment, also
        what was replaced or changed since; ``history`` has the versions of one memory.
        """
        start = self._way_out.reader.found(after).row.seq if after is not None else 0
        moment = checked_moment("as_of", as_of)
        checked_limit(limit)
        whom = self._way_out.audience.of(session)
        if moment is None:
            listed = self._way_out.reader.listed(after=start, limit=limit, whom=whom)
        else:
            listed = self._way_out.history.listed(moment, after=start, limit=limit, whom=whom)
        self._way_out.audience.saw(session, [shown.memory for shown in listed if not shown.blocked], "list")
        return [shown.as_dict() for shown in listed]

    def browse(self, sought: Sought | None = None, *, before: int | None = None, limit: int = 50) -> Listing:
        """Memories newest first, for a person: also what is blocked, expired or replaced, if that is sought.

        ``before`` is the one of the listing before this one.
        """
        return self._way_out.browser.listing(sought or Sought(), before=before, limit=limit)

    def sources(self, most: int = 100) -> dict[str, list[tuple[str, int]]]:
        """The principals, channels, sessions and prompts with the most memories, and how many each has."""
        return self._way_out.register.sources(most)

    def get_memory(self, memory_id: str, *, session: str | None = None) -> dict[str, Any]:
        """One memory as a dictionary."""
        sealed = self._way_out.reader.found(memory_id)
        access = self._way_out.exposures.access(memory_id)
        found = self._way_out.reader.shown(memory_from(sealed), whom=self._way_out.audience.of(session))
        self._way_out.audience.saw(session, [] if found.blocked else [found.memory], "get")
        shown = found.as_dict()
        return shown | {"accessed": access.times, "accessed_at": utc_text(access.last) if access.last else None}

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """The versions of one memory, oldest first, the present one last; what was deleted has only earlier ones."""
        return self._way_out.history.of(memory_id)

    def snapshot(self, session: str, *, refresh: bool = False) -> Snapshot:
        """The frozen, fenced text for that session's prompt."""
        name = session_name(session)
        snapshot = self._way_out.snapshots.of(name, self._way_out.audience.of(session), refresh=refresh)
        if snapshot.shows_hearsay:
            self._sessions.taint(session)
        return snapshot

    # Acting

    def check_action(
        self, session: str, name: str, arguments: Mapping[str, Any], *, run: str | None = None
    ) -> ActionAnswer:
        """May the agent make this call? Allow, confirm or deny, by where each value in it came from."""
        return self.actions.check(session_name(session), name, arguments, self._way_out.audience.of(session), run=run)

    def credit(self, run: str, outcome: str, *, via: str) -> dict[str, Any]:
        """Say how a run ended. It counts for the memories whose values are in the run's redeemed tickets."""
        return self._credits.record(run, outcome, self.channels.get(via))

    # Looking back and taking back

    def trace(self, memory_id: str, *, most: int | None = None) -> Report:
        """Where a memory came from, what came of it, who saw it, and what was decided about it.

        Of each ``most`` are told, if that is given, and all counted.
        """
        checked_limit(most)
        return self._upkeep.incident.trace(memory_id, most)

    def exposures(self, memory_id: str) -> list[dict[str, Any]]:
        """Which sessions were shown a memory, and which actions it was matched in."""
        return self._upkeep.incident.exposures(memory_id)

    def blame(self, run: str) -> Report:
        """From a run's actions back to the memories in them, and to where those came from."""
        return self._upkeep.incident.blame(run)

    def reach(
        self,
        *,
        principal: str | None = None,
        channel: str | None = None,
        session: str | None = None,
        prompt: str | None = None,
        since: datetime | None = None,
        most: int = 200,
    ) -> dict[str, Any]:
        """How far a source reaches: what came from it, what was derived from that, who saw it, what was done with it.

        Of the memories ``most`` are shown, and all counted. It is a look; ``revoke`` with ``dry_run`` says what taking
        the source back would change.
        """
        checked_limit(most)
        return self._upkeep.incident.reach(Source.checked(principal, channel, session, prompt, since), most=most)

    def revoke(
        self,
        *,
        principal: str | None = None,
        channel: str | None = None,
        session: str | None = None,
        prompt: str | None = None,
        since: datetime | None = None,
        dry_run: bool = False,
        by: str = OPERATOR,
        reason: str = NOT_GIVEN,
    ) -> Report:
        """Take back what came from a source and all that was derived from it; ``dry_run`` only says what that does."""
        source = Source.checked(principal, channel, session, prompt, since)
        return self._upkeep.incident.revoke(source, by=by, reason=reason, dry_run=dry_run)

    def rewind(
        self, to: datetime | int, *, dry_run: bool = False, by: str = OPERATOR, reason: str = NOT_GIVEN
    ) -> Report:
        """Put the memories back to what they were at a moment or after an audit event; ``dry_run`` only says how."""
        return self._upkeep.incident.rewind(to, by=by, reason=reason, dry_run=dry_run)

    def undo(self, incident: str, *, by: str = OPERATOR, reason: str = NOT_GIVEN) -> Incident:
        """Take a revocation, a rewind or a consolidation back."""
        return self._upkeep.incident.undo(incident, by=by, reason=reason)

    def account(self, incident: str) -> Report:
        """An incident told again, as a report: what it took out or put back, who had seen it and what was done."""
        return self._upkeep.incident.account(incident)

    def incidents(self) -> list[Incident]:
        """Every revocation, rewind and consolidation, oldest first."""
        return self._upkeep.incident.listed()

    # Handles

    def session(self, name: str, *, mediated: bool = False, member: str | None = None) -> Session:
        """A session of the host program. ``mediated`` declares that it reports everything the agent takes in.

        In a shared keep ``member`` says for whom it acts.
        """
        if not isinstance(mediated, bool):
            raise InvalidRequest("Whether a session is mediated is true or false.", code="invalid_mediated")
        if member is not None:
            member = own_principal(self.channels.get(f"{MEMBER}{member}"))
        self._sessions.begin(session_name(name), mediated=mediated, member=member)
        return Session(self, session_name(name))

    def observe(
        self,
        session: str,
        channel: str,
        text: str,
        *,
        principal: str | None = None,
        message: str | None = None,
        role: str | None = None,
        at: datetime | None = None,
        is_dated: bool = True,
    ) -> None:
        """Report what a session took in. Only the owner's channel makes owner messages; ``role`` is for display."""
        self._way_in.intake.observe(
            session, channel, text, principal=principal, message=message, role=role, at=at, is_dated=is_dated
        )

    def extract(self, session: str, strategy: str = "discrete", **options: Any) -> Distilled:
        """Distil a session into memories now: each is proved against its messages and goes through the gate once.

        ``via`` is the channel that asks (``agent`` if it is left out), ``model`` a ``ChatModel`` for more than the
        built-in extractor finds, ``prompt`` an approved prompt's name for the strategy ``custom`` and
        ``max_summary_length`` an option of ``summary``.
        """
        return self.extraction.now(session, strategy, **options)

    def bind(self, channel: str, *, session: str | None = None) -> Handle:
        """A handle that can do only what that channel may; this is what agent code is given."""
        return Handle(self, self.channels.get(channel), session_name(session) if session is not None else None)

    def reindex(self) -> Iterator[tuple[int, int]]:
        """Embed what the embedder in use has not embedded yet, batch by batch; yields how many of how many."""
        return self._catalog.reindex()

    # For good

    def export(self) -> list[str]:
        """All memories as signed JSON lines, screened and sanitised like any other answer."""
        listed = [shown.as_dict() for shown in self._way_out.reader.listed()]
        return exported(self._ledger, self.name, utc_text(self._clock()), listed)

    def erase(
        self, ids: Iterable[str] = (), *, subject: str | None = None, by: str, reason: str, dry_run: bool = False
    ) -> Receipt:
        """Erase memories, or everything that names a subject, for good; the audit log keeps keyed hashes only."""
        return self._upkeep.eraser.erase(subject=subject, ids=ids, by=by, reason=reason, dry_run=dry_run)

    def destroy(self, *, confirm: str) -> None:
        """Shred the keep: its key first, then its files. ``confirm`` must be the keep's name."""
        from truekeep.recovery import destroy, require_confirmed  # noqa: PLC0415 - seldom needed

        require_confirmed(self.name, confirm)
        self.close()
        destroy(self.name, confirm=confirm, paths=self._paths, settings=self.settings)

    def describe(self) -> dict[str, str]:
        """Facts about the store for ``truekeep doctor``."""
        return self._ledger.describe()

    def close(self) -> None:
        """Let go of the store, with whatever works on it in the background; closing twice is fine."""
        self.extraction.stop()
        self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
