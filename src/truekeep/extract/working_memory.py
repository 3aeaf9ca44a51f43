"""Working memory of one keep: what its sessions hold, put, got, listed and deleted.

A session's messages are the keep's observations, so what was read in it is known by channel and taints what the
agent writes; beside them stand structured data, context, a life span and a token budget in a sealed row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from truekeep.errors import InvalidRequest, NotAllowed, UnknownChannel
from truekeep.extract.conversation import Message
from truekeep.extract.jobs import DONE
from truekeep.extract.working import Summarise, Window, WorkingMemory, own_words, window
from truekeep.trust.candidate import checked_json, checked_text
from truekeep.trust.origin import person_name, require, session_name, standing_of
from truekeep.types import Candidate, Decision, Origin, Standing

if TYPE_CHECKING:
    from truekeep.config import Settings
    from truekeep.extract.job_rows import SealedJobs
    from truekeep.extract.working_rows import SealedWorking
    from truekeep.sessions.channels import Channels
    from truekeep.sessions.sessions import Sessions
    from truekeep.sessions.transcripts import Observation
    from truekeep.stores.ledger import Ledger
    from truekeep.write.gate import Gate

_ALL = -1
SERVED = "truekeep"
"""Where a session's data hold what the service itself notes; no caller of the service names it."""
Observe = Callable[..., None]


class WorkingSessions:
    """The sessions' working memory."""

    def __init__(
        self,
        ledger: Ledger,
        rows: SealedWorking,
        jobs: SealedJobs,
        sessions: Sessions,
        channels: Channels,
        gate: Gate,
        observe: Observe,
        settings: Settings,
        clock: Callable[[], datetime],
    ) -> None:
        self._ledger = ledger
        self._rows = rows
        self._jobs = jobs
        self._sessions = sessions
        self._channels = channels
        self._gate = gate
        self._observe = observe
        self._settings = settings
        self._clock = clock

    def put(
        self,
        session: str,
        *,
        via: str,
        data: Mapping[str, Any] | None = None,
        context: str | None = None,
        speaker: str | None = None,
        ttl: timedelta | None = None,
        token_budget: int | None = None,
    ) -> WorkingMemory:
        """Set what is given and leave the rest as it is. Data and context are screened like anything that is written.

        ``speaker`` is what the owner is called; it counts in the proof of quotes, so only the owner's channel sets it.
        A life span and a budget decide what is left of a session, so they take the owner's channel or one that may
        delete. Whoever stands below may only add to data and context.
        """
        channel, name = self._channels.get(via), session_name(session)
        require(channel, "write")
        if speaker is not None and channel.standing is not Standing.OWNER:
            raise NotAllowed("Only the owner's channel says what the owner is called.", code="speaker_not_owners")
        may_change = channel.standing is Standing.OWNER or channel.may("delete")
        if not may_change and (ttl is not None or token_budget is not None):
            raise NotAllowed(
                "A session's life span and budget are the owner's to set.",
                code="session_not_own",
                hint="Leave them out, or use a channel that may delete.",
            )
        changed = {
            "data": checked_json("data", data, self._settings.working_cap) if data is not None else None,
            "context": checked_text(context, self._settings.working_cap) if context is not None else None,
            "speaker": person_name(speaker) if speaker is not None else None,
            "ttl": ttl,
            "token_budget": token_budget,
        }
        standing = standing_of(channel, clean_mediated_session=self._sessions.state(name).is_clean)
        writes = data is not None or context is not None
        if writes:
            self._require_clean(Candidate(context or "", standing, Origin(via, session=name), metadata=data or {}))
        with self._ledger.writing() as entry:
            now = self._clock()
            before = self._rows.get(name) or WorkingMemory(name, now, now)
            given: dict[str, Any] = {field: value for field, value in changed.items() if value is not None}
            if not may_change:
                given |= _added(before, given)
            after = replace(before, **given, via=self._writer(before, given, via), updated_at=now)
            self._rows.put(entry, after)
            if writes and standing is Standing.HEARSAY:
                self._sessions.took_in(entry, name, f"Data was put into it over the channel '{via}'.")
            entry.event("working.put", session=name, channel=via, fields=sorted(given))
        return self._whole(after)

    def append(self, session: str, *messages: Message) -> WorkingMemory:
        """Add messages, each over its channel. One that is there already by id, channel and text is not added again."""
        name = session_name(session)
        memory = self._renewed(name)
        known = {(seen.message, seen.channel, seen.text) for seen in self._sessions.observations(name)}
        for message in messages:
            if (message.id, message.channel, message.text) not in known:
                self._observe(
                    name,
                    message.channel,
                    message.text,
                    principal=message.principal,
                    message=message.id,
                    role=message.role or None,
                    at=message.at,
                    is_dated=message.is_dated,
                )
                known.add((message.id, message.channel, message.text))
        return self._whole(memory)

    def get(self, session: str) -> WorkingMemory | None:
        """The session with all its messages; nothing if it was never heard of or its time is over."""
        name = session_name(session)
        found = self._rows.get(name)
        if found is None:
            seen = self._sessions.observations(name)
            found = WorkingMemory(name, seen[0].at, seen[0].at) if seen else None
        whole = self._whole(found) if found is not None else None
        return None if whole is None or whole.is_expired(self._clock()) else whole

    def window(self, session: str, summarise: Summarise | None = None) -> Window:
        """What of the session fits its token budget; by default the overflow is summed up by the owner's own words."""
        found = self.get(session)
        if found is None:
            return Window(())
        seen = self._sessions.observations(found.session)
        said = {one.id: one.own for one in seen if one.standing is Standing.OWNER}
        return window(found, summarise or own_words(said))

    def list(self) -> list[str]:
        """The names of the sessions that were put or appended to, in the order in which they began."""
        return [memory.session for memory in self._rows.all() if not self._is_over(memory)]

    def delete(self, session: str) -> bool:
        """Let a session go with everything that was said and read in it; whether there was anything."""
        return self._erase(session_name(session), "working.deleted")

    def sweep(self) -> int:
        """Let go of the sessions whose time is over and from which nothing waits to be extracted; how many."""
        unfinished = self._unfinished()
        over = [memory.session for memory in self._rows.all() if self._is_over(memory)]
        return sum(self._erase(name, "working.expired") for name in over if name not in unfinished)

    def _renewed(self, name: str) -> WorkingMemory:
        """The session, alive from now on; one whose time was over begins anew."""
        if self._is_over(self._rows.get(name)) and name not in self._unfinished():
            self._erase(name, "working.expired")
        with self._ledger.writing() as entry:
            now = self._clock()
            memory = replace(self._rows.get(name) or WorkingMemory(name, now, now), updated_at=now)
            self._rows.put(entry, memory)
            entry.event("working.put", session=name, fields=[])
        return memory

    def _is_over(self, memory: WorkingMemory | None) -> bool:
        if memory is None or memory.ttl is None or not memory.is_expired(self._clock()):
            return False
        return self._whole(memory).is_expired(self._clock())

    def _unfinished(self) -> set[str]:
        return {job.task.session for job in self._jobs.all() if job.state != DONE}

    def _erase(self, name: str, event: str) -> bool:
        with self._ledger.writing() as entry:
            rows = [sealed.row for sealed in self._ledger.tagged("observations", name, _ALL)]
            for row in rows:
                entry.remove("observations", row)
            if rows:
                self._sessions.let_go(entry, name)
            known = self._rows.remove(entry, name)
            if rows or known:
                entry.event(event, session=name, messages=len(rows))
        return bool(rows) or known

    def _whole(self, memory: WorkingMemory) -> WorkingMemory:
        seen = self._sessions.observations(memory.session)
        newest = max((one.at for one in seen), default=memory.updated_at)
        messages = tuple(_message(one) for one in seen)
        return replace(memory, messages=messages, updated_at=max(memory.updated_at, newest))

    def _writer(self, before: WorkingMemory, given: Mapping[str, Any], via: str) -> str:
        """The channel that a session's data and context count as: the lowest of those that anything in them is from."""
        replaced = {name for name in ("data", "context") if name in given}
        if not replaced:
            return before.via
        kept = any(getattr(before, name) for name in {"data", "context"} - replaced)
        merged = "data" in replaced and bool(before.data) and self._channels.get(via).standing is not Standing.OWNER
        if not before.via or not (kept or merged):
            return via
        return min((before.via, via), key=self._standing)

    def _standing(self, name: str) -> Standing:
        """How high a channel stands; one that is gone by now, or has no standing of its own, counts as hearsay."""
        try:
            return self._channels.get(name).standing or Standing.HEARSAY
        except UnknownChannel:
            return Standing.HEARSAY

    def _require_clean(self, candidate: Candidate) -> None:
        verdict = self._gate.weigh(candidate)
        if verdict.decision is Decision.REJECT:
            raise InvalidRequest(verdict.reason, code="working_refused", hint="Leave it out, or say it another way.")


def _added(before: WorkingMemory, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a session holds once somebody has added to it who may change nothing in it."""
    data, context = {**before.data, **given.get("data", {})}, given.get("context", before.context)
    theirs = {name: value for name, value in before.data.items() if name != SERVED}
    is_changed = any(data[name] != value for name, value in theirs.items())
    if is_changed or before.context not in ("", context):
        raise NotAllowed(
            "What is in a session already is the owner's to change.",
            code="session_not_own",
            hint="Add under new names.",
        )
    return {"data": data | theirs} if "data" in given else {}  # true is 1 in a comparison, and not in JSON


def _message(seen: Observation) -> Message:
    return Message(
        id=seen.id,
        channel=seen.channel,
        text=seen.text,
        at=seen.at,
        role=seen.role or "",
        principal=seen.principal,
        is_dated=seen.is_dated,
        alias=seen.message or "",
    )
