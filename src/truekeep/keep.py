"""The front door: a ``Keep`` ties the way in, the way out, review and audit of one owner's memory together."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from truekeep._assembly import Ground, assembled
from truekeep.act.calls import checked_name
from truekeep.config import Paths, Settings
from truekeep.embed import Embedder, by_name, check_name
from truekeep.errors import InvalidRequest, StoreTampered
from truekeep.extract.planning import PLAN_SCHEMA, planned_calls
from truekeep.handles import Handle, Session
from truekeep.incident.source import Source
from truekeep.read.browse import Listing, Sought
from truekeep.read.export import exported
from truekeep.read.recall import Filters, Recall, RecallQuery, only_informs
from truekeep.records.catalog import Catalog
from truekeep.stores.files import open_ledger
from truekeep.stores.records import memory_from
from truekeep.text.view import WATCH
from truekeep.trust.candidate import checked_flag, checked_limit, checked_moment, checked_reason, checked_text
from truekeep.trust.origin import keep_name, own_member, own_principal, person_name, require, session_name
from truekeep.trust.policy import preset
from truekeep.trust.wishes import may_wish
from truekeep.types import MEMBER, Decision, Memory, Snapshot, Standing, Verdict, utc_text
from truekeep.write.bulk import Portion, load

if TYPE_CHECKING:
    from truekeep.act.boundary import ActionAnswer
    from truekeep.extract.llm import ChatModel
    from truekeep.extract.run import Distilled
    from truekeep.incident.records import Forgotten, Incident
    from truekeep.incident.report import IncidentReport
    from truekeep.ops.erasure import Receipt
    from truekeep.screens.panel import Screening
    from truekeep.stores.ledger import Ledger
    from truekeep.trust.flow.evidence import PlanEntry
    from truekeep.trust.flow.reply import CheckedReply
    from truekeep.trust.flow.tools import Tool
    from truekeep.types import Progress
    from truekeep.write.intake import Fields

OPERATOR, NOT_GIVEN = "operator", "not given"
"""Who took something back, and why, where the host program does not say."""


now: Callable[[], datetime] = partial(datetime.now, UTC)
"""The current moment."""


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
        self.channels = house.claims.channels
        self.requests = house.way_in.gate.requests
        self.actions = house.acting.boundary
        self.grants = house.acting.boundary.grants
        self.calls = house.acting.desk
        self.review = house.upkeep.review
        self.memories = house.way_in.memory_desk
        self.audit = house.upkeep.audit
        self._has_recalled = False
        self.entries = house.way_out.entries
        self.working = house.extraction.working
        self.prompts = house.extraction.prompts
        self.extraction = house.extraction.extractions
        self._paths: Paths | None = None
        self._ledger = ledger
        self._catalog = catalog
        self._clock = clock
        self._sessions = house.claims.sessions
        self._way_in = house.way_in
        self._way_out = house.way_out
        self._credits = house.acting.credits
        self._planner = house.acting.planner
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
        background: bool = True,
    ) -> Self:
        """Open the keep of that name, or create it with a fresh key; the whole store is verified first.

        What the owner said is learned by a thread of the keep's own after a quiet spell; without ``background`` the
        host does that (``keep.extraction.run()``).
        """
        from truekeep.screens.standard import LivePanel  # noqa: PLC0415 - the rule engine is heavy

        checked = keep_name(name)
        paths = Paths.resolve(home)
        chosen = settings or Settings.load(paths.config)
        chosen = chosen.with_policy(policy) if policy is not None else chosen
        preset(chosen.policy)
        if embedder is None:
            check_name(chosen.embedder)
        ledger = open_ledger(paths, checked, clock, chosen)
        try:
            catalog = Catalog(ledger, embedder or partial(by_name, chosen.embedder))
            keep = cls(checked, ledger, catalog, LivePanel(paths), chosen, ledger.clock)
            with suppress(StoreTampered):
                # A store that was tampered with is left as it is; every read of it says why it is refused.
                keep._upkeep.upgrade.run()
                catalog.renew()
                keep.blank_forgotten()
        except BaseException:
            ledger.close()
            raise
        keep._paths = paths
        if background:
            keep.extraction.learn_in_background()
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
        can be resumed where it stopped. ``request`` names the batch: what was stored under that name before, over the
        same channel and with the same entries, by whichever process, is answered as it was and not stored again.
        """
        candidates = self._way_in.intake.candidates(entries, via=via, **shared)
        skips = checked_flag("skip_rejected", skip_rejected)
        name = self.requests.name(request, via, candidates, skips=skips) if request is not None else None
        return self._way_in.gate.admit_all(candidates, skip_rejected=skips, mark=mark, request=name)

    def remember_batches(
        self, batches: Iterable[tuple[str, Iterable[str | Mapping[str, Any]], str | None]]
    ) -> Generator[list[Verdict], None, None]:
        """Load much: batches of channel, entries and mark, one transaction each; the rejected are left out.

        Gives the verdicts of each batch once it is stored; the next one is being embedded meanwhile.
        """
        portions = (Portion(self._way_in.intake.candidates(entries, via=via), mark) for via, entries, mark in batches)
        return load(portions, self._way_in.gate, self._catalog)

    def move_in(
        self, batches: Iterable[tuple[Iterable[tuple[str, Mapping[str, Any]]], str | None]], *, source: str
    ) -> Generator[list[Verdict], None, None]:
        """Take in another memory: batches of entries, each with its key there, and a mark; one transaction each.

        All of it is hearsay of that source and waits for its owner until somebody decides, without the caps, expiry
        and shelf life of what others send. An entry whose key came in before is left as it is.
        """
        portions = (Portion(self._way_in.intake.moved(entries, source=source), mark) for entries, mark in batches)
        informs = preset(self.settings.policy).table[Standing.HEARSAY]["clean"] == Decision.ACCEPT
        return load(portions, self._way_in.gate, self._catalog, embeds=informs)

    def update_memory(self, memory_id: str, text: str, *, via: str, **fields: Unpack[Fields]) -> Verdict:
        """Give a memory new content; whatever is not accepted leaves the old entry as it was."""
        candidate = self._way_in.intake.candidate(text, via=via, **fields)
        return self._way_in.gate.admit_change(memory_from(self._way_out.reader.found(memory_id)), candidate, via=via)

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

    def forget(self, what: str | Sequence[str], *, via: str, dry_run: bool = False) -> Forgotten:
        """Forget what the owner said about something, in plain words ("what I said about the gym"), or some ids.

        What is clearly meant is gone at once and can be undone for ``forget_undo_days``; otherwise the answer shows
        what may be meant. Saying it again is remembering it again. What an agent wants forgotten waits for the owner.
        ``dry_run`` only says what would be forgotten.
        """
        if isinstance(what, str):
            checked_text(what, self.settings.query_cap)
            self.extraction.catch_up()
        told = self._upkeep.forgetting.forget(what, via=via, dry_run=checked_flag("dry_run", dry_run))
        return replace(told, take_back=partial(self.unforget, told.id, via=via)) if told.id else told

    def unforget(self, incident: str, *, via: str) -> None:
        """Bring back what was forgotten, or the older word that a correction ended; only who may delete does."""
        self._upkeep.forgetting.undo(incident, via=via)

    def pin(self, memory_id: str, *, via: str) -> Verdict:
        """Put a memory first in every prompt from the next snapshot on; only who may confirm does."""
        return self._way_in.pins.set(memory_id, via=via, pinned=True)

    def unpin(self, memory_id: str, *, via: str) -> Verdict:
        """Take a memory's pin away again."""
        return self._way_in.pins.set(memory_id, via=via, pinned=False)

    def proposed_pins(self, most: int = 20) -> list[dict[str, Any]]:
        """The owner's words that seem to say what must not be missed: allergies, names, how to be addressed."""
        return self._way_in.pins.proposed(checked_limit(most) or 20)

    def consolidate(
        self,
        *,
        dry_run: bool = False,
        by: str = OPERATOR,
        reason: str = NOT_GIVEN,
        progress: Progress | None = None,
    ) -> IncidentReport:
        """Merge memories that say the same into one each; ``dry_run`` only says which, ``undo`` takes it back.

        Nobody acts who did not, and nobody who did stops: only equals are merged, and who acts is checked each time.
        """
        is_dry = checked_flag("dry_run", dry_run)
        return self._upkeep.consolidator.run(by=by, reason=reason, dry_run=is_dry, progress=progress)

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
        background: bool | None = None,
        max_chars: int | None = None,
    ) -> Recall:
        """The memories that answer a query; with ``influence_only`` just those that may drive an action.

        ``background`` adds what only informs, marked: the default outside a session, where the host reads; inside one
        it taints. ``max_chars`` is a budget for the texts: whole passages only, or the part of a long one that answers.

        ``as_of`` asks how things stood at another moment: what held then as far as is known now, with what was replaced
        or changed since. Whether a hit may act is always said for now, so what is history never acts.
        """
        settings = self.settings
        if not isinstance(query, str) or len(query) > settings.query_cap:
            raise InvalidRequest(f"The query must be a string of at most {settings.query_cap:,} characters.")
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= settings.k_cap:
            raise InvalidRequest(f"k must be a whole number from 1 to {settings.k_cap:,}.", code="invalid_k")
        moment = checked_moment("as_of", as_of)

        def answer() -> Recall:
            return self._way_out.recaller.answer(
                RecallQuery(
                    text=query,
                    k=k,
                    now=self._clock(),
                    influence_only=checked_flag("influence_only", influence_only),
                    min_score=settings.min_score if min_score is None else min_score,
                    half_life_days=settings.half_life_days if half_life_days is None else half_life_days,
                    as_of=moment,
                    filters=filters or Filters(),
                    explain=checked_flag("explain", explain),
                    whom=self._way_out.audience.of(session),
                    background=session is None if background is None else checked_flag("background", background),
                    max_chars=checked_limit(max_chars),
                )
            )

        with WATCH.get()("recall"):
            # The first answer looks at tables that nobody has asked for yet, which one look at rows does not bring.
            hits = self._ledger.supposing(answer) if self._has_recalled else answer()
            self._has_recalled = True
        self._way_out.audience.saw(session, [hit.memory for hit in hits if not hit.blocked], "recall")
        if session is not None and any(only_informs(hit) for hit in hits):
            self._sessions.taint(session_name(session))
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
        return self._way_out.origin_index.sources(most)

    def get_memory(
        self, memory_id: str, *, session: str | None = None, reveal_via: str | None = None
    ) -> dict[str, Any]:
        """One memory as a dictionary. A secret that was kept is in it only for a channel that may confirm, outside of
        sessions, and that it was shown is in the log.
        """
        sealed = self._way_out.reader.found(memory_id)
        access = self._way_out.exposures.access(memory_id)
        found = self._way_out.reader.shown(memory_from(sealed), whom=self._way_out.audience.of(session))
        self._way_out.audience.saw(session, [] if found.blocked else [found.memory], "get")
        shown = found.as_dict()
        if reveal_via is not None and not found.blocked:
            shown["content"] = self._revealed(found.memory, reveal_via, session)
        return shown | {"accessed": access.times, "accessed_at": utc_text(access.last) if access.last else None}

    def _revealed(self, memory: Memory, via: str, session: str | None) -> str:
        channel = self.channels.get(via)
        require(channel, "confirm")
        if session is not None:
            raise InvalidRequest("A secret is shown to people, and not to a session.", code="reveal_in_session")
        with self._ledger.writing() as entry:
            entry.event("memory.revealed", memory=memory.id, by=channel.name)
        return memory.text

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """The versions of one memory, oldest first, the present one last; what was deleted has only earlier ones."""
        return self._way_out.history.of(memory_id)

    def snapshot(self, session: str, *, refresh: bool = False) -> Snapshot:
        """The frozen, fenced text for that session's prompt."""
        name = session_name(session)
        whom, is_new = self._way_out.audience.of(session), checked_flag("refresh", refresh)
        snapshot = self._way_out.snapshots.of(name, whom, refresh=is_new)
        if snapshot.shows_hearsay:
            self._sessions.taint(session)
        return snapshot

    # Acting

    def check_action(
        self, session: str, name: str, arguments: Mapping[str, Any], *, run: str | None = None
    ) -> ActionAnswer:
        """May the agent make this call? Allow, confirm or deny, by where each value in it came from."""
        return self.actions.check(session_name(session), name, arguments, run=run)

    def credit(self, run: str, outcome: str, *, via: str) -> dict[str, Any]:
        """Say how a run ended. It counts for the memories whose values are in the run's redeemed tickets."""
        return self._credits.record(run, outcome, self.channels.get(via))

    # Looking back and taking back

    def trace(self, memory_id: str, *, most: int | None = None) -> IncidentReport:
        """Where a memory came from, what came of it, who saw it, and what was decided about it.

        Of each ``most`` are told, if that is given, and all counted.
        """
        checked_limit(most)
        return self._upkeep.incident.trace(memory_id, most)

    def exposures(self, memory_id: str) -> list[dict[str, Any]]:
        """Which sessions were shown a memory, and which actions it was matched in."""
        return self._upkeep.incident.exposures(memory_id)

    def blame(self, run: str) -> IncidentReport:
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
    ) -> IncidentReport:
        """Take back what came from a source and all that was derived from it; ``dry_run`` only says what that does."""
        source = Source.checked(principal, channel, session, prompt, since)
        return self._upkeep.incident.revoke(source, by=by, reason=reason, dry_run=checked_flag("dry_run", dry_run))

    def rewind(
        self,
        to: datetime | int,
        *,
        dry_run: bool = False,
        by: str = OPERATOR,
        reason: str = NOT_GIVEN,
        progress: Progress | None = None,
    ) -> IncidentReport:
        """Put the memories back to what they were at a moment or after an audit event; ``dry_run`` only says how."""
        is_dry = checked_flag("dry_run", dry_run)
        return self._upkeep.incident.rewind(to, by=by, reason=reason, dry_run=is_dry, progress=progress)

    def undo(self, incident: str, *, by: str = OPERATOR, reason: str = NOT_GIVEN) -> Incident:
        """Take a revocation, a rewind or a consolidation back, or bring back what the owner had forgotten."""
        if self._upkeep.forgetting.knows(incident):
            return self._upkeep.forgetting.take_back(incident, by=person_name(by), reason=checked_reason(reason))
        return self._upkeep.incident.undo(incident, by=by, reason=reason)

    def account(self, incident: str) -> IncidentReport:
        """An incident told again, as a report: what it took out or put back, who had seen it and what was done."""
        return self._upkeep.incident.account(incident)

    def incidents(self) -> list[Incident]:
        """Every revocation, rewind and consolidation, and what the owner had forgotten, oldest first."""
        return self._upkeep.incident.listed()

    # Handles

    def session(
        self,
        name: str,
        *,
        mediated: bool = False,
        member: str | None = None,
        parent: str | None = None,
        learn: bool = True,
        tools: Iterable[Tool] = (),
    ) -> Session:
        """A session of the host program. ``mediated`` declares that it reports everything the agent takes in.

        ``parent`` names the session whose context it goes on with (resumed, summed up, forked, spawned): it is clean
        only if that one was. ``tools`` declares what its agent can call; unknown tools have effects. ``learn=False``
        keeps nothing of what is said in it. In a shared keep ``member`` says for whom it acts.
        """
        checked_flag("mediated", mediated)
        if member is not None:
            member = own_principal(self.channels.get(f"{MEMBER}{member}"))
        if parent is not None and session_name(parent) == name:
            raise InvalidRequest("A session cannot go on from itself.", code="invalid_parent")
        self._sessions.begin(
            session_name(name), mediated=mediated, member=member, parent=parent, learn=learn, tools=tuple(tools)
        )
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
        attached: Iterable[str] = (),
        by_agent: bool = False,
    ) -> None:
        """Report what a session took in. Only the owner's channel makes owner messages; ``role`` is for display.

        ``attached`` is what the host knows to be somebody else's in or beside a message of the owner's. What is
        reported ``by_agent`` counts as foreign, also over the agent's own channel.
        """
        if may_wish(text) and self.channels.get(channel).standing is Standing.OWNER:
            self.extraction.ended(session)  # what was said until now can be meant
        self._way_in.intake.observe(
            session,
            channel,
            text,
            principal=principal,
            message=message,
            role=role,
            at=at,
            is_dated=is_dated,
            attached=attached,
            by_agent=by_agent,
        )
        self.actions.take_in(session_name(session))

    def observe_result(self, session: str, tool: str, result: Any, *, principal: str | None = None) -> None:
        """Report a tool's result, text or JSON; an empty one is fine. What of it taints follows from the tool's
        declaration, and a result whose call was never reported is as foreign as any other.
        """
        declared = self.actions.tool(session_name(session), checked_name(tool))
        self._way_in.intake.observe_result(session, tool, declared, result, principal=principal)
        with self._ledger.reading():  # one view of the store for all that is looked up
            self.actions.take_in(session_name(session))

    def is_clean(self, session: str) -> bool:
        """Whether nothing foreign is in a session's context, as far as anybody can know."""
        return self._sessions.state(session_name(session)).is_clean

    def segment(self, session: str) -> None:
        """Start a fresh context in a session whose host has dropped the old one."""
        self._sessions.segment(session_name(session))

    def plan(self, session: str, model: ChatModel) -> Sequence[PlanEntry]:
        """Have a model list the calls it intends for the owner's last message, from a view with nothing foreign."""
        reply = model.complete(self.plan_prompt(session), PLAN_SCHEMA, planned_calls)
        return self.take_plan(session, reply.text)

    def plan_prompt(self, session: str) -> list[dict[str, str]]:
        """What to ask a model for a plan with, for a host that calls its model itself; it holds nothing foreign."""
        return self._planner.asked(session_name(session), self._way_out.audience.of(session))

    def take_plan(self, session: str, reply: str) -> Sequence[PlanEntry]:
        """Check what a model answered to ``plan_prompt``, and keep what is sound of it. Raises ``ModelError``."""
        return self._planner.intend(session_name(session), reply)

    def check_reply(self, session: str, text: str) -> CheckedReply:
        """The agent's answer to the owner, without links and images that would carry private values away."""
        name = session_name(session)
        return self.actions.reply(name, checked_text(text, self.settings.observe_cap))

    def extract(
        self,
        session: str,
        strategy: str = "discrete",
        *,
        via: str = "agent",
        prompt: str | None = None,
        max_summary_length: int | None = None,
        model: ChatModel | None = None,
    ) -> Distilled:
        """Learn from a session now: the owner's words go through the gate once, and a strategy words gists of them.

        ``via`` is the channel that asks (``agent`` if it is left out), ``model`` a ``ChatModel``, without which there
        are no gists, ``prompt`` an approved prompt's name for the strategy ``custom`` and ``max_summary_length`` an
        option of ``summary``.
        """
        return self.extraction.now(
            session, strategy, via=via, prompt=prompt, max_summary_length=max_summary_length, model=model
        )

    def bind(self, channel: str, *, session: str | None = None, run: str | None = None) -> Handle:
        """A handle that can do only what that channel may; this is what agent code is given.

        ``run`` names what its calls are part of, for whoever credits or blames it later. A member's handle acts for
        that member: a session of somebody else's is refused.
        """
        known, chosen = self.channels.get(channel), session_name(session) if session is not None else None
        if chosen is not None and (member := own_member(known)) is not None:
            self._sessions.require_member(chosen, member)
        return Handle(self, known, chosen, session_name(run) if run is not None else None)

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
        """Erase memories, or everything that names a subject, for good; the receipt names what is left."""
        from truekeep.ops.beside import Surroundings  # noqa: PLC0415 - seldom needed

        is_dry = checked_flag("dry_run", dry_run)
        around = Surroundings(self._paths, self.name, self.settings) if self._paths is not None else None
        return self._upkeep.eraser.erase(subject=subject, ids=ids, by=by, reason=reason, dry_run=is_dry, around=around)

    def blank_forgotten(self) -> int:
        """Blank what was forgotten so long ago that it can no longer be undone; how many wishes that were."""
        due = self._upkeep.forgetting.due()
        ids = self._upkeep.forgetting.drop(due) if due else []
        if ids:
            self.erase(ids, by=OPERATOR, reason="forgotten")
        return len(due)

    def destroy(self, *, confirm: str) -> None:
        """Shred the keep: its key first, then its files. ``confirm`` must be the keep's name."""
        from truekeep.ops.recovery import destroy, require_confirmed  # noqa: PLC0415 - seldom needed

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
