"""Forgetting: what the owner wants forgotten is gone at once from every read, and can be undone for a while.

The owner's own words decide, over the owner's memories alone, whatever else a session has read. What is clearly meant
is done; of what is not, the owner is shown what may be meant. An agent only proposes. What is forgotten leaves the
memories, their index, snapshots, questions in review and the transcript that proves calls; it lies sealed beside the
incident until ``forget_undo_days`` are over, and is blanked then. A correction ends the older word instead: it stays as
history, and the newer one is remembered as the owner said it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from truekeep.audit.log import FORGETTING
from truekeep.claims.corrected import MESSAGE, OLDER
from truekeep.errors import InvalidRequest, UnknownId
from truekeep.incident import records
from truekeep.incident.meant import Meant, Utterance
from truekeep.incident.records import CORRECT, FORGET, Forgotten, ForgottenMatch, Incident
from truekeep.records.rows import CHANGED, FORGOTTEN
from truekeep.search.about import adds, says_only, tells_more
from truekeep.stores.records import item_from, memory_from, new_id
from truekeep.text.topics import telling
from truekeep.text.words import said_sentences
from truekeep.trust.origin import own_principal, require, standing_of
from truekeep.trust.policy import Ruling
from truekeep.trust.wishes import OwnerWish, WishKind, asked_to_forget, read_wishes
from truekeep.types import Candidate, Channel, Decision, Effects, Memory, Origin
from truekeep.write.secrets import PLACEHOLDER

if TYPE_CHECKING:
    from truekeep.claims.contradictions import ClaimKeys
    from truekeep.quarantine.queue import Queue
    from truekeep.quarantine.removal import Removal
    from truekeep.quarantine.tombstones import Burial
    from truekeep.sessions.channels import Channels
    from truekeep.sessions.sessions import Sessions
    from truekeep.sessions.transcripts import Observation
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger, Sealed
    from truekeep.write.gate import Gate

BLANK = "[forgotten]"
"""What stands in a transcript in the place of a message that was forgotten as a whole."""
_UNSURE = Ruling(Decision.QUARANTINE, "forget_unsure", "You asked to forget something; this may be meant.")
_ALL = -1
_LEAST_AROUND = 8
"""Characters around a secret by which the sentence is known in which it was told."""
_MOST_PROPOSED = 20
"""Deletions that one wish of an agent's may propose: a person has to look at each."""


class Forgetting:
    """Forgets and corrects in one keep, and undoes it."""

    def __init__(
        self,
        ledger: Ledger,
        channels: Channels,
        sessions: Sessions,
        removal: Removal,
        burial: Burial,
        queue: Queue,
        gate: Gate,
        claim_keys: ClaimKeys,
        clock: Callable[[], datetime],
        *,
        undo_days: float,
        passage_chars: int,
    ) -> None:
        self._ledger = ledger
        self._channels = channels
        self._sessions = sessions
        self._removal = removal
        self._burial = burial
        self._queue = queue
        self._gate = gate
        self._claim_keys = claim_keys
        self._clock = clock
        self._undo_days = undo_days
        self._meant = Meant(ledger, passage_chars, clock)

    # Asking

    def forget(self, what: str | Sequence[str], *, via: str, dry_run: bool = False) -> Forgotten:
        """Forget what some words are about, or the memories of some ids; an agent only proposes it."""
        channel = self._channels.get(via)
        proposes = not channel.may("delete")
        require(channel, "propose" if proposes else "delete")
        principal = None if proposes else own_principal(channel)
        wish = asked_to_forget(what) if isinstance(what, str) else None
        if wish is not None:
            clear, unsure = self._meant.by(wish, self._meant.memories(principal))
        else:
            clear, unsure = self._meant.memories(principal, what), []
            if len(clear) < len(set(what)):
                raise UnknownId("Not all of these are memories of the owner's.", hint="keep.get_memories() lists them.")
        if dry_run and clear:
            return Forgotten("would_forget", "This is what would be forgotten.", _matches(clear, wish))
        if dry_run or (not clear and not proposes):
            return _shown(unsure)
        if proposes:
            return self._proposed([*clear, *unsure], channel)
        with self._ledger.writing() as entry:
            incident = self._take_out(entry, wish, clear, by=channel.name)
        return Forgotten("forgotten", "Forgotten; it can be undone.", _matches(clear, wish), incident.id)

    def heard(self, entry: Entry, seen: Observation) -> None:
        """Do what the owner's own message asks of the memory, in the transaction that records it."""
        if not self._channels.get(seen.channel).may("delete"):
            return
        for wish in read_wishes(seen.own):
            meant = self._carry_out(entry, wish, seen)
            if meant is not None and wish.kind is not WishKind.CORRECT and not _says_more(wish, meant):
                self._leave_out(entry, seen.id, wish.said)

    def _carry_out(self, entry: Entry, wish: OwnerWish, seen: Observation) -> list[Utterance] | None:
        """What was clearly meant; none if the wish was none: nothing was done, and nothing may be meant."""
        said_before = (one for one in self._sessions.owned(seen.session, seen.principal) if one.id != seen.id)
        before = [one for one in said_before if one.own.strip()]
        targets = self._meant.targets(seen.principal, before)
        if wish.kind is WishKind.LAST:
            said = _ahead(seen, wish)
            targets = [*targets, *said]
            clear = said or (self._meant.last(before[-1], targets) if before else [])
            unsure: list[Utterance] = []
            if wish.is_reported:
                clear, unsure = [], clear
        else:
            clear, unsure = self._meant.by(wish, targets)
        if clear and wish.kind is WishKind.CORRECT:
            self._end(entry, wish, clear, seen)
        elif clear:
            self._take_out(entry, wish, clear, by=seen.channel, session=seen.session)
        elif wish.kind is not WishKind.CORRECT:
            self._ask(entry, unsure)
        return clear if clear or unsure or wish.is_plain else None

    # Doing

    def _take_out(
        self, entry: Entry, wish: OwnerWish | None, targets: Sequence[Utterance], *, by: str, session: str | None = None
    ) -> Incident:
        parts = [(one, one.part(wish) if wish is not None else one.text) for one in targets]
        removed, pieces = [], []
        stones: list[str] = []
        fallen: list[str] = []
        told = self._told(parts, session)
        about = {target.memory for target in targets} | {target.item for target in targets}
        asked = [one for one in self._ledger.all("queue") if _is_about(one, about)]
        rows = [*(("observations", one) for one in told), *(("queue", one) for one in asked)]
        sealed = tuple((table, one.row.id, one.row.tag, one.row.body) for table, one in rows)
        for target, part in parts:
            row = self._ledger.get("memories", target.memory) if target.memory else None
            if row is None or not row.verified:
                continue
            memory = memory_from(row)
            left = _without(memory.text, part)
            kept = [self._piece(memory, left)] if left else []
            pieces += [(one.id, one.version) for one in self._removal.divide(entry, row, kept, FORGOTTEN)]
            removed.append((memory.id, memory.version))
            if not self._channels.is_shared():
                effects = self._burial.bury(entry, replace(memory, text=part), by=by, reason="forgotten")
                stones += effects.stones
                fallen += effects.fallen
        self._hide(entry, {memory_id for memory_id, _ in removed}, told, asked, {part for _, part in parts})
        incident = Incident(
            id=new_id("inc"),
            kind=FORGET,
            by=by,
            reason="forgotten",
            at=self._clock(),
            what={"session": session} if session else {},
            removed=tuple(removed),
            restored=tuple(pieces),
            items=tuple(fallen),
            stones=tuple(stones),
            sealed=sealed,
        )
        records.put(entry, incident)
        entry.event(FORGETTING, incident=incident.id, by=by, memories=[one for one, _ in removed])
        return incident

    def _end(self, entry: Entry, wish: OwnerWish, targets: Sequence[Utterance], seen: Observation) -> None:
        """The older word held until now: it stays as history, or as what is older if it says more than that."""
        removed, pieces, older = [], [], []
        for target in targets:
            row = self._ledger.get("memories", target.memory) if target.memory else None
            part = target.part(wish)
            if row is None or not row.verified or not _says_only(part, wish):
                older.append(target.message or target.memory or "")
                continue
            memory = memory_from(row)
            left = _without(memory.text, part)
            now = self._clock()
            ended = replace(self._piece(memory, part), valid_until=now, expires_at=now)
            kept = [ended, *([self._piece(memory, left)] if left else ())]
            pieces += [(one.id, one.version) for one in self._removal.divide(entry, row, kept, CHANGED)]
            removed.append((memory.id, memory.version))
        incident = Incident(
            new_id("inc"),
            CORRECT,
            seen.channel,
            "corrected",
            self._clock(),
            {"session": seen.session} | ({MESSAGE: seen.id, OLDER: " ".join(older)} if older else {}),
            tuple(removed),
            tuple(pieces),
        )
        records.put(entry, incident)
        told = [*(one for one, _ in removed), *older]
        entry.event("memory.corrected", incident=incident.id, by=seen.channel, memories=told)

    def _piece(self, memory: Memory, text: str) -> Memory:
        """A part of a memory, as a memory of its own: screened anew when it is read, without a gist."""
        made = replace(
            memory,
            id=new_id("mem"),
            text=text,
            version=1,
            seq=0,
            screened="",
            gist=None,
            valid_from=None,
            valid_until=None,
        )
        return self._claim_keys.bound(made)

    def _ask(self, entry: Entry, targets: Iterable[Utterance]) -> None:
        """Show the owner what may be meant, memory by memory; once at a time."""
        for target in targets:
            sealed, tag = self._ledger.get("memories", target.memory or ""), f"forget:{target.memory}"
            if sealed is not None and sealed.verified and not self._ledger.count("queue", tag):
                memory = memory_from(sealed)
                made = replace(memory, id=new_id("mem"))
                self._queue.put(entry, made, _UNSURE, kind="deletion", tag=tag, target=memory.id)

    def _proposed(self, targets: Sequence[Utterance], channel: Channel) -> Forgotten:
        found = [
            sealed for one in targets[:_MOST_PROPOSED] if (sealed := self._ledger.get("memories", one.memory or ""))
        ]
        items = []
        for memory in map(memory_from, found):
            proposal = Candidate(memory.text, standing_of(channel), Origin(channel.name, parents=(memory.id,)))
            items.append(self._gate.propose_deletion(memory, proposal).item_id)
        held = tuple(one for one in items if one is not None)
        if not held:
            return _shown([])
        shown = targets if channel.may("read") else []
        return Forgotten("deletion_proposed", "It waits for the owner.", _matches(shown), items=held)

    # Hiding

    def _told(self, parts: Sequence[tuple[Utterance, str]], session: str | None) -> list[Sealed]:
        """The owner's messages in which it was said: in its own session, in this one, and wherever it was repeated."""
        found: dict[str, Sealed] = {}
        for target, part in parts:
            memory = self._ledger.get("memories", target.memory or "")
            origin = memory_from(memory) if memory is not None else None
            seen = self._ledger.get("observations", target.message or "")
            if origin is not None and origin.said > 1:
                rows = self._ledger.all("observations")
            else:
                sessions = {session, seen.row.tag if seen is not None else None} - {None}
                rows = [row for name in sessions for row in self._ledger.tagged("observations", str(name), _ALL)]
            wanted = _any_of(part)
            for row in rows:
                own = _sentences(str(json.loads(row.row.body).get("own", ""))) if row.verified else []
                if any(wanted.fullmatch(one.strip()) for one in own):
                    found[row.row.id] = row
        return list(found.values())

    def _hide(
        self, entry: Entry, ids: set[str], told: Iterable[Sealed], asked: Iterable[Sealed], parts: Iterable[str]
    ) -> None:
        """Take it out of transcripts, questions and snapshots."""
        forgotten = "\n".join(parts)
        for sealed in told:
            body = json.loads(sealed.row.body)
            entry.replace("observations", sealed.row, _blanked(body, forgotten), sealed.row.tag)
        for sealed in asked:
            entry.remove("queue", sealed.row)
        for sealed in self._ledger.all("snapshots"):
            if any(one in sealed.row.body for one in ids):
                entry.remove("snapshots", sealed.row)

    def _leave_out(self, entry: Entry, message: str, said: str) -> None:
        """A wish is no fact: nothing is learned from its sentence."""
        sealed = self._ledger.get("observations", message)
        if sealed is not None and sealed.verified:
            body: dict[str, Any] = json.loads(sealed.row.body)
            own = _without(str(body.get("own", "")), said)
            entry.replace("observations", sealed.row, body | {"own": own}, sealed.row.tag)

    # Undoing and ending

    def knows(self, incident_id: str) -> bool:
        """Whether an incident is of this kind."""
        found = records.find(self._ledger, incident_id)
        return found is not None and found[1].kind in (FORGET, CORRECT)

    def undo(self, incident_id: str, *, via: str) -> Incident:
        """Put back what was forgotten or ended, over a channel that may delete."""
        channel = self._channels.get(via)
        require(channel, "delete")
        if not self.knows(incident_id):
            raise UnknownId("Nothing of that id was forgotten.", hint="keep.incidents() lists what was.")
        return self.take_back(incident_id, by=channel.name, reason="undone")

    def take_back(self, incident_id: str, *, by: str, reason: str) -> Incident:
        """Put back what was forgotten or ended, whoever decided so."""
        with self._ledger.writing() as entry:
            found = records.find(self._ledger, incident_id)
            if found is None:
                raise UnknownId("No such incident.", hint="List them with 'truekeep incidents'.")
            row, incident = found
            if incident.undone_by is not None:
                raise InvalidRequest("This was undone already.", code="already_undone")
            if incident.kind == FORGET and not self._is_undoable(incident):
                raise InvalidRequest("It was blanked: its time to be undone is over.", code="undo_too_late")
            self._removal.put_back(entry, incident.removed, [one for one, _ in incident.restored], incident.id)
            for table, row_id, tag, body in incident.sealed:
                if table != "observations" or self._ledger.get(table, row_id) is not None:
                    entry.set(table, row_id, json.loads(body), tag)
            effects = Effects(stones=incident.stones, fallen=incident.items)
            self._burial.take_back(entry, effects, by=by, reason=reason)
            undone = replace(incident, undone_by=by, sealed=())
            records.replace(entry, row, undone)
            entry.event("incident.undone", incident=incident.id, by=by, reason=reason)
        return undone

    def _is_undoable(self, incident: Incident) -> bool:
        return bool(incident.removed or incident.sealed) and not self._is_due(incident)

    def _is_due(self, incident: Incident) -> bool:
        return self._clock() - incident.at >= timedelta(days=self._undo_days)

    def due(self) -> list[Incident]:
        """What was forgotten so long ago that it is to be blanked."""
        if not self._ledger.count("incidents", FORGET):
            return []
        told = records.listed(self._ledger, FORGET)
        return [one for one in told if one.undone_by is None and self._is_due(one) and (one.removed or one.sealed)]

    def drop(self, incidents: Iterable[Incident]) -> list[str]:
        """Blank what lies sealed beside incidents; gives the memories whose last words are to be erased."""
        chosen = list(incidents)
        with self._ledger.writing() as entry:
            for incident in chosen:
                found = records.find(self._ledger, incident.id)
                if found is not None:
                    records.replace(entry, found[0], replace(incident, removed=(), sealed=()))
            entry.event("forgotten.blanked", incidents=[one.id for one in chosen])
        return [memory for one in chosen for memory, _ in one.removed]


def _matches(targets: Iterable[Utterance], wish: OwnerWish | None = None) -> tuple[ForgottenMatch, ...]:
    return tuple(
        ForgottenMatch(one.memory or "", one.text if wish is None else one.part(wish), one.at) for one in targets
    )


def _shown(targets: Sequence[Utterance]) -> Forgotten:
    if targets:
        return Forgotten("unsure", "Nothing was forgotten: say which of these is meant.", _matches(targets))
    return Forgotten("nothing_found", "Nothing the owner said is about that.")


def _ahead(seen: Observation, wish: OwnerWish) -> list[Utterance]:
    """What a message says itself before it takes it back; "Ugh, sorry" says nothing."""
    ahead = seen.own.partition(wish.said)[0].strip()
    tells = bool(telling(ahead, wish.language))
    return [Utterance(ahead, seen.at, 0, message=seen.id, principal=seen.principal)] if tells else []


def _says_more(wish: OwnerWish, meant: Sequence[Utterance]) -> bool:
    """Whether the wish's sentence also states something that was not forgotten: "…, the new one is Quay Road 3".

    Where it is not clear what is meant, or a secret is, a value beside it may be what is to be forgotten.
    """
    known = "\n".join((wish.about, *(one.part(wish) for one in meant)))
    has_value = bool(meant) and PLACEHOLDER not in known and adds(wish.beside, known, wish.language)
    return has_value or tells_more(wish.news, known, wish.language)


def _says_only(part: str, wish: OwnerWish) -> bool:
    """Whether each sentence of a part says nothing but what a correction corrects."""
    return all(says_only(one, wish.said, wish.language, is_over=wish.is_over) for one in _sentences(part))


def _sentences(text: str) -> list[str]:
    return [text[slice(*span)] for span in said_sentences(text)]


def _without(text: str, part: str) -> str:
    """A text without the sentences of a part of it."""
    gone = _any_of(part)
    return "".join(one for one in _sentences(text) if not gone.fullmatch(one.strip())).strip()


def _any_of(part: str) -> re.Pattern[str]:
    """A pattern for the sentences of a text; where a secret was taken out of it, any words may stand."""
    spelt = []
    for one in _sentences(part):
        is_telling = len(one.replace(PLACEHOLDER, "").strip()) >= _LEAST_AROUND
        any_secret = r"[^\n]{1,200}?" if is_telling else re.escape(PLACEHOLDER)
        spelt.append(re.escape(one.strip()).replace(re.escape(PLACEHOLDER), any_secret))
    return re.compile("|".join(spelt) or "(?!)")


def _blanked(body: dict[str, Any], forgotten: str) -> dict[str, Any]:
    text, own = _without(str(body["text"]), forgotten), _without(str(body.get("own", "")), forgotten)
    return body | {"text": text or BLANK, "own": own}


def _is_about(sealed: Sealed, ids: Iterable[str | None]) -> bool:
    item = item_from(sealed)
    named = {item.id, item.memory.id, item.target} - {None} if item is not None else set()
    return not named.isdisjoint(ids)
