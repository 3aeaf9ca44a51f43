"""The assembly: the parts of a keep are put together, room by room, each of what is in the rooms before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from truekeep.act.boundary import Boundary
from truekeep.act.call_desk import CallDesk
from truekeep.act.credit import CreditBook
from truekeep.audit.log import Audit, EventIndex
from truekeep.claims.contradictions import ClaimKeys, Contradictions
from truekeep.claims.evidence import Evidence
from truekeep.claims.lineage import Lineage
from truekeep.claims.may_act_now import MayActNow, Transitions
from truekeep.config import Settings
from truekeep.consolidation.groups import Groups
from truekeep.consolidation.merging import Consolidator
from truekeep.extract.conversation_view import ConversationView
from truekeep.extract.job_rows import SealedJobs
from truekeep.extract.learning import Learner
from truekeep.extract.library import PromptLibrary
from truekeep.extract.planning import Planner
from truekeep.extract.prompt_rows import SealedPrompts
from truekeep.extract.run import Distiller
from truekeep.extract.schedule import Extractions
from truekeep.extract.working_memory import WorkingSessions
from truekeep.extract.working_rows import SealedWorking
from truekeep.incident.forgetting import Forgetting
from truekeep.incident.kit import IncidentKit
from truekeep.incident.upgrade import Upgrade
from truekeep.ops.erasure import Eraser
from truekeep.quarantine.queue import Queue
from truekeep.quarantine.removal import Removal
from truekeep.quarantine.tombstones import Burial, Tombstones
from truekeep.read.audience import Audience
from truekeep.read.browse import Browser, History
from truekeep.read.entries import ForeignEntries
from truekeep.read.exposures import Exposures
from truekeep.read.reader import RecordReader
from truekeep.read.recall import Recaller, RecallQuery
from truekeep.read.snapshots import Snapshots
from truekeep.records.catalog import Catalog
from truekeep.records.gists import Gists
from truekeep.records.marks import Marks
from truekeep.records.origin_index import OriginIndex
from truekeep.records.rows import MemoryRows, Versions
from truekeep.review.decisions import Review
from truekeep.review.deletion import Deletion
from truekeep.review.memory_desk import MemoryDesk
from truekeep.review.pins import Pins
from truekeep.screens.model_judge import with_judge
from truekeep.screens.panel import Screening
from truekeep.sessions.channels import Channels
from truekeep.sessions.sessions import Sessions
from truekeep.sessions.transcripts import Transcripts
from truekeep.stores.ledger import Ledger
from truekeep.stores.records import memory_from
from truekeep.trust.influence import Reader, Shelf
from truekeep.trust.policy import Policy, preset
from truekeep.write.gate import Gate
from truekeep.write.intake import Intake
from truekeep.write.judge import Judge

_PLANNED = 20
"""Memories that a model sees when it plans."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What every room stands on."""

    keep: str
    """The keep's name."""
    ledger: Ledger
    catalog: Catalog
    panel: Screening
    settings: Settings
    clock: Callable[[], datetime]

    @property
    def policy(self) -> Policy:
        """The preset that the settings name."""
        return preset(self.settings.policy)


@dataclass(frozen=True, slots=True)
class ClaimParts:
    """Who speaks, what was said, and what that proves."""

    channels: Channels
    transcripts: Transcripts
    sessions: Sessions
    claim_keys: ClaimKeys
    lineage: Lineage
    contradictions: Contradictions
    evidence: Evidence
    may_act_now: MayActNow


@dataclass(frozen=True, slots=True)
class WayOut:
    """Every read of memories."""

    reader: RecordReader
    versions: Versions
    history: History
    exposures: Exposures
    audience: Audience
    recaller: Recaller
    snapshots: Snapshots
    origin_index: OriginIndex
    marks: Marks
    browser: Browser
    entries: ForeignEntries


@dataclass(frozen=True, slots=True)
class WayIn:
    """Every write of memories, and every removal."""

    intake: Intake
    judge: Judge
    gate: Gate
    transitions: Transitions
    queue: Queue
    removal: Removal
    burial: Burial
    forgetting: Deletion
    pins: Pins
    memory_desk: MemoryDesk


@dataclass(frozen=True, slots=True)
class ActParts:
    """The act boundary, and how the actions turned out."""

    boundary: Boundary
    desk: CallDesk
    credits: CreditBook
    planner: Planner


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What people do with what is kept: decide, look back, take back, merge and erase."""

    review: Review
    audit: Audit
    incident: IncidentKit
    forgetting: Forgetting
    upgrade: Upgrade
    consolidator: Consolidator
    eraser: Eraser


@dataclass(frozen=True, slots=True)
class ExtractParts:
    """From conversation to memory."""

    working: WorkingSessions
    prompts: PromptLibrary
    extractions: Extractions


@dataclass(frozen=True, slots=True)
class House:
    """All rooms of one keep."""

    claims: ClaimParts
    way_out: WayOut
    way_in: WayIn
    acting: ActParts
    upkeep: Upkeep
    extraction: ExtractParts


def assembled(ground: Ground) -> House:
    """The parts of one keep, each handed those it works with."""
    claims = _claims(ground)
    way_out = _way_out(ground, claims)
    way_in = _way_in(ground, claims, way_out)
    acting = _acting(ground, claims, way_out, way_in)
    upkeep = _upkeep(ground, claims, way_out, way_in, acting)
    extraction = _extraction(ground, claims, way_in)
    return House(claims, way_out, way_in, acting, upkeep, extraction)


def _claims(ground: Ground) -> ClaimParts:
    ledger, settings, clock = ground.ledger, ground.settings, ground.clock
    channels = Channels(ledger, settings, clock)
    shelf = Shelf(settings.hearsay_shelf_days, settings.enrolled_shelf_days)
    evidence = Evidence(ledger, shelf, clock, channels.is_shared)
    contradictions = Contradictions(ledger)
    transcripts = Transcripts(ledger)
    return ClaimParts(
        channels=channels,
        transcripts=transcripts,
        sessions=Sessions(ledger, transcripts, evidence.note, clock),
        claim_keys=ClaimKeys(ledger),
        lineage=Lineage(ledger),
        contradictions=contradictions,
        evidence=evidence,
        may_act_now=MayActNow(ledger, evidence, contradictions),
    )


def _way_out(ground: Ground, claims: ClaimParts) -> WayOut:
    ledger, panel, settings, clock = ground.ledger, ground.panel, ground.settings, ground.clock
    reader = RecordReader(ledger, claims.evidence, claims.may_act_now, panel, ground.policy, clock)
    versions = Versions(ledger)
    exposures = Exposures(ledger, clock)
    origin_index, marks = OriginIndex(ledger), Marks(ledger)
    audience = Audience(claims.channels, claims.sessions, exposures)
    return WayOut(
        reader=reader,
        versions=versions,
        history=History(ledger, reader, versions),
        exposures=exposures,
        audience=audience,
        recaller=Recaller(ledger, ground.catalog, Gists(ledger, ground.catalog), versions, reader, settings),
        snapshots=Snapshots(ledger, reader, panel, exposures, settings, clock, marks),
        origin_index=origin_index,
        marks=marks,
        browser=Browser(ledger, origin_index, reader, clock),
        entries=ForeignEntries(ledger, reader, audience, clock),
    )


def _way_in(ground: Ground, claims: ClaimParts, way_out: WayOut) -> WayIn:
    ledger, catalog, settings, clock = ground.ledger, ground.catalog, ground.settings, ground.clock
    channels, claim_keys, evidence, contradictions = (
        claims.channels,
        claims.claim_keys,
        claims.evidence,
        claims.contradictions,
    )
    reader = way_out.reader
    rows = MemoryRows(ledger, catalog, contradictions, claims.lineage)
    transitions = Transitions(ledger, claims.may_act_now, contradictions, clock)
    queue = Queue(ledger, settings, clock)
    removal = Removal(ledger, catalog, rows, contradictions, transitions, queue, clock)
    burial = Burial(ledger, removal, Tombstones(ledger, clock), claims.lineage, evidence)
    panel = with_judge(ground.panel, settings)
    judge = Judge(catalog, claim_keys, burial, channels.mutes, panel, ground.policy, clock)
    gate = Gate(ledger, catalog, rows, claim_keys, evidence, transitions, queue, burial, judge, clock)
    return WayIn(
        intake=Intake(settings, channels, claims.sessions, lambda parent: memory_from(reader.found(parent))),
        judge=judge,
        gate=gate,
        transitions=transitions,
        queue=queue,
        removal=removal,
        burial=burial,
        forgetting=Deletion(ledger, channels, reader, way_out.versions, gate, removal, burial),
        pins=Pins(ledger, channels, reader, way_out.marks, clock),
        memory_desk=MemoryDesk(ledger, catalog, channels, reader, rows, transitions, clock),
    )


def _acting(ground: Ground, claims: ClaimParts, way_out: WayOut, way_in: WayIn) -> ActParts:
    ledger, settings, clock = ground.ledger, ground.settings, ground.clock
    boundary = Boundary(ledger, claims.channels, claims.sessions, way_out.reader, settings, clock)
    credits = CreditBook(ledger, boundary.tickets, way_in.transitions, way_in.queue, settings, clock)

    def recalls(query: str, whom: Reader) -> list[str]:
        asked = RecallQuery(text=query, k=_PLANNED, now=clock(), influence_only=True, whom=whom)
        return [hit.text for hit in way_out.recaller.answer(asked)] if query.strip() else []

    return ActParts(
        boundary=boundary,
        desk=CallDesk(ledger, claims.channels, claims.sessions, boundary.tickets, clock),
        credits=credits,
        planner=Planner(claims.sessions, boundary, recalls),
    )


def _upkeep(ground: Ground, claims: ClaimParts, way_out: WayOut, way_in: WayIn, acting: ActParts) -> Upkeep:
    ledger, settings, clock = ground.ledger, ground.settings, ground.clock
    reader, removal, tickets = way_out.reader, way_in.removal, acting.boundary.tickets
    event_index = EventIndex(ledger)
    groups = Groups(ledger, reader, way_in.judge, claims.claim_keys, settings)
    everybody = way_out.audience.everybody
    forgetting = Forgetting(
        ledger,
        claims.channels,
        claims.sessions,
        removal,
        way_in.burial,
        way_in.queue,
        way_in.gate,
        claims.claim_keys,
        clock,
        undo_days=settings.forget_undo_days,
        passage_chars=settings.passage_chars,
    )
    claims.sessions.on_owner_message(forgetting.heard)
    return Upkeep(
        review=Review(ledger, way_in.gate, removal, way_in.burial, reader, clock, settings.text_cap),
        audit=Audit(ledger, event_index),
        incident=IncidentKit(ledger, removal, reader, way_out.origin_index, event_index, tickets, clock),
        forgetting=forgetting,
        upgrade=Upgrade(
            ledger,
            ground.catalog,
            claims.sessions,
            way_in.judge,
            removal,
            way_in.queue,
            clock,
            settings.passage_chars,
        ),
        consolidator=Consolidator(ledger, ground.catalog, removal, groups, claims.may_act_now, everybody, clock),
        eraser=Eraser(ground.keep, ledger, claims.contradictions, ground.settings.channels, clock),
    )


def _extraction(ground: Ground, claims: ClaimParts, way_in: WayIn) -> ExtractParts:
    ledger, settings, clock = ground.ledger, ground.settings, ground.clock
    channels, sessions, gate, intake = claims.channels, claims.sessions, way_in.gate, way_in.intake
    jobs, rows = SealedJobs(ledger), SealedWorking(ledger)
    prompts = PromptLibrary(SealedPrompts(ledger), clock)
    distiller = Distiller(
        ledger, jobs, ConversationView(sessions, rows), Learner(intake, settings), gate, prompts, clock
    )
    extractions = Extractions(ledger, jobs, distiller, channels.get, settings, clock, ground.catalog.embed_more)
    sessions.on_owner_message(extractions.heard)
    return ExtractParts(
        working=WorkingSessions(ledger, rows, jobs, sessions, channels, gate, intake.observe, settings, clock),
        prompts=prompts,
        extractions=extractions,
    )
