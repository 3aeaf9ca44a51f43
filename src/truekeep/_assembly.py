"""The assembly: the parts of a keep are put together, room by room, each of what is in the rooms before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from truekeep.archive import Archive
from truekeep.audience import Audience
from truekeep.audit import Audit
from truekeep.boundary import Boundary
from truekeep.browsing import Browser
from truekeep.burial import Burial
from truekeep.catalog import Catalog
from truekeep.channels import Channels
from truekeep.chronicle import Chronicle
from truekeep.config import Settings
from truekeep.consolidation import Consolidator
from truekeep.consolidation.groups import Groups
from truekeep.credit import CreditBook
from truekeep.custody import Custody
from truekeep.distil import Distiller
from truekeep.erasure import Eraser
from truekeep.exposures import Exposures
from truekeep.extract.job_rows import SealedJobs
from truekeep.extract.library import PromptLibrary
from truekeep.extract.prompt_rows import SealedPrompts
from truekeep.extract.working_rows import SealedWorking
from truekeep.extraction import Extractions
from truekeep.forgetting import Forgetting
from truekeep.gate import Gate
from truekeep.history import History
from truekeep.holding import Holding
from truekeep.incident import IncidentKit
from truekeep.influence import InfluencePolicy, Shelf
from truekeep.intake import Intake
from truekeep.judging import Judge
from truekeep.lineage import Lineage
from truekeep.memory_rows import MemoryRows
from truekeep.policy import Policy, preset
from truekeep.proofs import Proofs
from truekeep.provenance import Provenance
from truekeep.reading import Reader
from truekeep.recall import Recaller
from truekeep.register import Register
from truekeep.review import Review
from truekeep.rivals import Rivals
from truekeep.screens.judged import with_judge
from truekeep.screens.panel import Screening
from truekeep.sessions import Sessions
from truekeep.settlement import Settlement
from truekeep.snapshots import Snapshots
from truekeep.statements import Statements
from truekeep.stores.ledger import Ledger
from truekeep.stores.records import memory_from
from truekeep.succession import Succession
from truekeep.talks import Talks
from truekeep.tombstones import Tombstones
from truekeep.transcripts import Transcripts
from truekeep.working import Working


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
class Evidence:
    """Who speaks, what was said, and what that proves."""

    channels: Channels
    transcripts: Transcripts
    sessions: Sessions
    statements: Statements
    lineage: Lineage
    rivals: Rivals
    proofs: Proofs
    succession: Succession


@dataclass(frozen=True, slots=True)
class WayOut:
    """Every read of memories."""

    reader: Reader
    archive: Archive
    history: History
    exposures: Exposures
    audience: Audience
    recaller: Recaller
    snapshots: Snapshots
    register: Register
    browser: Browser


@dataclass(frozen=True, slots=True)
class WayIn:
    """Every write of memories, and every removal."""

    intake: Intake
    judge: Judge
    gate: Gate
    settlement: Settlement
    holding: Holding
    custody: Custody
    burial: Burial
    forgetting: Forgetting


@dataclass(frozen=True, slots=True)
class Acting:
    """The act boundary, and how the actions turned out."""

    boundary: Boundary
    credits: CreditBook


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What people do with what is kept: decide, look back, take back, merge and erase."""

    review: Review
    audit: Audit
    incident: IncidentKit
    consolidator: Consolidator
    eraser: Eraser


@dataclass(frozen=True, slots=True)
class Extraction:
    """From conversation to memory."""

    working: Working
    prompts: PromptLibrary
    extractions: Extractions


@dataclass(frozen=True, slots=True)
class House:
    """All rooms of one keep."""

    evidence: Evidence
    way_out: WayOut
    way_in: WayIn
    acting: Acting
    upkeep: Upkeep
    extraction: Extraction


def assembled(ground: Ground) -> House:
    """The parts of one keep, each handed those it works with."""
    evidence = _evidence(ground)
    way_out = _way_out(ground, evidence)
    way_in = _way_in(ground, evidence, way_out)
    acting = _acting(ground, evidence, way_out, way_in)
    upkeep = _upkeep(ground, evidence, way_out, way_in, acting)
    extraction = _extraction(ground, evidence, way_in)
    return House(evidence, way_out, way_in, acting, upkeep, extraction)


def _evidence(ground: Ground) -> Evidence:
    ledger, settings, clock = ground.ledger, ground.settings, ground.clock
    channels = Channels(ledger, settings, clock)
    shelf = Shelf(settings.hearsay_shelf_days, settings.enrolled_shelf_days)
    proofs = Proofs(ledger, shelf, clock, channels.is_shared)
    rivals = Rivals(ledger)
    rule = InfluencePolicy(settings.hearsay_may_act_by_credit)
    transcripts = Transcripts(ledger)
    return Evidence(
        channels=channels,
        transcripts=transcripts,
        sessions=Sessions(ledger, transcripts, proofs.note, clock),
        statements=Statements(ledger),
        lineage=Lineage(ledger),
        rivals=rivals,
        proofs=proofs,
        succession=Succession(ledger, proofs, rivals, rule),
    )


def _way_out(ground: Ground, evidence: Evidence) -> WayOut:
    ledger, panel, settings, clock = ground.ledger, ground.panel, ground.settings, ground.clock
    reader = Reader(ledger, evidence.proofs, evidence.succession, panel, ground.policy, clock)
    archive = Archive(ledger)
    exposures = Exposures(ledger, clock)
    register = Register(ledger)
    return WayOut(
        reader=reader,
        archive=archive,
        history=History(ledger, reader, archive),
        exposures=exposures,
        audience=Audience(evidence.channels, evidence.sessions, exposures),
        recaller=Recaller(ledger, ground.catalog, archive, reader, settings),
        snapshots=Snapshots(ledger, reader, panel, exposures, settings, clock),
        register=register,
        browser=Browser(ledger, register, reader, clock),
    )


def _way_in(ground: Ground, evidence: Evidence, way_out: WayOut) -> WayIn:
    ledger, catalog, settings, clock = ground.ledger, ground.catalog, ground.settings, ground.clock
    channels, statements, proofs, rivals = evidence.channels, evidence.statements, evidence.proofs, evidence.rivals
    reader = way_out.reader
    rows = MemoryRows(ledger, catalog, rivals, evidence.lineage)
    settlement = Settlement(ledger, evidence.succession, rivals, clock)
    holding = Holding(ledger, settings, clock)
    custody = Custody(ledger, catalog, rows, rivals, settlement, holding, clock)
    burial = Burial(ledger, custody, Tombstones(ledger, clock), evidence.lineage, proofs)
    panel = with_judge(ground.panel, settings)
    judge = Judge(catalog, statements, burial, channels.mutes, panel, ground.policy, clock)
    gate = Gate(ledger, catalog, rows, statements, proofs, settlement, holding, burial, judge, clock)
    return WayIn(
        intake=Intake(settings, channels, evidence.sessions, lambda parent: memory_from(reader.found(parent))),
        judge=judge,
        gate=gate,
        settlement=settlement,
        holding=holding,
        custody=custody,
        burial=burial,
        forgetting=Forgetting(ledger, channels, reader, way_out.archive, gate, custody, burial),
    )


def _acting(ground: Ground, evidence: Evidence, way_out: WayOut, way_in: WayIn) -> Acting:
    ledger, settings, clock = ground.ledger, ground.settings, ground.clock
    sessions, transcripts = evidence.sessions, evidence.transcripts
    boundary = Boundary(ledger, evidence.channels, sessions, transcripts, way_out.reader, settings, clock)
    proofs, settlement, holding = evidence.proofs, way_in.settlement, way_in.holding
    return Acting(
        boundary=boundary,
        credits=CreditBook(ledger, boundary.tickets, proofs, settlement, holding, settings, clock),
    )


def _upkeep(ground: Ground, evidence: Evidence, way_out: WayOut, way_in: WayIn, acting: Acting) -> Upkeep:
    ledger, settings, clock = ground.ledger, ground.settings, ground.clock
    reader, custody, tickets = way_out.reader, way_in.custody, acting.boundary.tickets
    chronicle = Chronicle(ledger)
    groups = Groups(ledger, reader, way_in.judge, evidence.statements, tickets, settings)
    everybody = way_out.audience.everybody
    return Upkeep(
        review=Review(ledger, way_in.gate, custody, way_in.burial, reader, clock, settings.text_cap),
        audit=Audit(ledger, chronicle),
        incident=IncidentKit(ledger, custody, reader, way_out.register, chronicle, tickets, clock),
        consolidator=Consolidator(ledger, ground.catalog, custody, groups, evidence.succession, everybody, clock),
        eraser=Eraser(ground.keep, ledger, evidence.rivals, clock),
    )


def _extraction(ground: Ground, evidence: Evidence, way_in: WayIn) -> Extraction:
    ledger, settings, clock = ground.ledger, ground.settings, ground.clock
    channels, sessions, gate, intake = evidence.channels, evidence.sessions, way_in.gate, way_in.intake
    jobs, rows = SealedJobs(ledger), SealedWorking(ledger)
    prompts = PromptLibrary(SealedPrompts(ledger), clock)
    distiller = Distiller(ledger, jobs, Talks(sessions, rows), Provenance(intake), gate, prompts, clock)
    extractions = Extractions(ledger, jobs, distiller, channels.get, settings, clock)
    sessions.on_owner_message(extractions.heard)
    return Extraction(
        working=Working(ledger, rows, jobs, sessions, channels, gate, intake.observe, settings, clock),
        prompts=prompts,
        extractions=extractions,
    )
