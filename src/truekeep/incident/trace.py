"""Look back: from a memory to where it came from and what it touched, and from a bad action to what it relied on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from truekeep.errors import UnknownId
from truekeep.incident.report import IncidentReport, ReportSection
from truekeep.records.rows import FORGOTTEN
from truekeep.sessions.transcripts import observations
from truekeep.stores.records import memory_from
from truekeep.trust.origin import session_name
from truekeep.types import Memory, utc_text

if TYPE_CHECKING:
    from truekeep.act.tickets import TicketRecord, Tickets
    from truekeep.audit.log import EventIndex
    from truekeep.incident.reach import Kin
    from truekeep.incident.source import LineageView
    from truekeep.read.reader import RecordReader
    from truekeep.stores.ledger import Ledger

_ALL = -1


class Tracer:
    """Looks back over one keep."""

    def __init__(
        self, ledger: Ledger, reader: RecordReader, kin: Kin, tickets: Tickets, event_index: EventIndex
    ) -> None:
        self._ledger = ledger
        self._reader = reader
        self._kin = kin
        self._tickets = tickets
        self._event_index = event_index

    def trace(self, memory_id: str, most: int | None = None) -> IncidentReport:
        """Where a memory came from, what came of it, who saw it, and what was decided about it.

        Of each ``most`` are shown, if that is given; ``counts`` says how many there are.
        """
        with self._ledger.reading():
            memory, state = self._found(memory_id)
            lineage = self._kin.lineage()
            parents, children = lineage.ancestors(memory.id), lineage.derived({memory.id}, {})
            exposures, decided = self.exposures(memory.id), self._event_index.naming(memory.id)
            shown = self._reader.shown(memory)
            data: dict[str, Any] = {
                "id": memory.id,
                "state": state,
                "memory": shown.as_dict() | {"reading": shown.gist},
                "parents": [self._entry(parent, lineage) for parent in parents[:most]],
                "children": [self._entry(child, lineage) for child in children[:most]],
                "exposures": exposures[:most],
                "decisions": self._decisions(decided[:most]),
                "versions": self._versions(memory.id),
                "counts": {"parents": len(parents), "children": len(children), "exposures": len(exposures)},
            }
        shown = data["memory"]
        facts = {
            "Memory": memory.id,
            "State": state,
            "Says": shown["content"],
            "From": _origin(memory),
            "Standing": memory.standing.label,
            "May act": f"{'yes' if shown['may_act'] else 'no'}: {shown['why']}",
        }
        return IncidentReport(f"Trace of {memory.id}", facts, _trace_sections(data), data)

    def exposures(self, memory_id: str) -> list[dict[str, Any]]:
        """Which sessions were shown a memory, and which actions it was matched in, oldest first."""
        shown = [
            {"kind": "shown", "how": one.how, "session": one.session, "at": utc_text(one.at)}
            for one in self._kin.exposures(memory_id)
        ]
        acted = [_action(record) for record in self._tickets.all() if memory_id in record.matched]
        return sorted([*shown, *acted], key=lambda entry: str(entry["at"]))

    def blame(self, run: str) -> IncidentReport:
        """From a run's actions back to the memories in them, and to where those came from."""
        run = session_name(run)
        with self._ledger.reading():
            records = [record for record in self._tickets.all() if record.run == run]
            if not records:
                raise UnknownId("No action of that run was judged here.", code="unknown_run")
            lineage = self._kin.lineage()
            used = dict.fromkeys(memory_id for record in records for memory_id in record.matched)
            chain = dict.fromkeys([*used, *(above for one in used for above in lineage.ancestors(one))])
            data: dict[str, Any] = {
                "run": run,
                "actions": [_action(record) | {"reasons": list(record.reasons)} for record in records],
                "memories": [self._entry(memory_id, lineage) | {"used": memory_id in used} for memory_id in chain],
                "read": self._read(record.session for record in records),
            }
        facts = {"Run": run, "Actions": str(len(records)), "Memories": str(len(data["memories"]))}
        sections = [
            _actions("Actions", data["actions"]),
            _memories("Memories whose values are in them, and what those are derived from", data["memories"]),
            ReportSection(
                "What the session had read",
                ("when", "channel", "from"),
                tuple((str(one["at"]), str(one["channel"]), str(one["principal"] or "nobody")) for one in data["read"]),
            ),
        ]
        return IncidentReport(f"Blame of run {run}", facts, sections, data)

    def _found(self, memory_id: str) -> tuple[Memory, str]:
        sealed = self._ledger.find_memory(memory_id) if isinstance(memory_id, str) else None
        if sealed is not None:
            return memory_from(sealed), "active" if sealed.verified else "altered"
        versions = self._ledger.tagged("history", memory_id, _ALL) if isinstance(memory_id, str) else []
        kept = [one for one in versions if one.verified]
        if not kept or any(json.loads(one.row.body).get("retired") == FORGOTTEN for one in kept):
            raise UnknownId("No such memory in this keep, now or before.", hint="List them with 'truekeep list'.")
        last = kept[-1]
        memory = memory_from(last)
        return _renamed(memory, memory_id), str(json.loads(last.row.body).get("retired", "gone"))

    def _versions(self, memory_id: str) -> list[dict[str, Any]]:
        rows = (one for one in self._ledger.tagged("history", memory_id, _ALL) if one.verified)
        found = [(memory_from(one), json.loads(one.row.body)) for one in rows]
        return [
            {
                "version": memory.version,
                "content": self._reader.shown(_renamed(memory, memory_id)).text,
                "why": body.get("retired"),
            }
            for memory, body in found
        ]

    def _decisions(self, numbers: Iterable[int]) -> list[dict[str, Any]]:
        """The audit events with these numbers, in a few words."""
        found = []
        for number in numbers:
            (row,) = self._ledger.events(after=number - 1, limit=1)
            body = json.loads(row.body)
            who = body.get("by") or body.get("channel") or body.get("via")
            why = self._why(number) if "reason" in body.get("noted", ()) else body.get("reason")
            found.append({"seq": row.seq, "at": row.at, "kind": row.kind, "by": who, "why": why})
        return found

    def _why(self, number: int) -> str:
        """The reason that somebody gave; it is beside the log, so that it can be erased."""
        note = self._ledger.get("notes", str(number))
        return str(json.loads(note.row.body).get("reason", "")) if note is not None and note.verified else ""

    def _entry(self, memory_id: str, lineage: LineageView) -> dict[str, Any]:
        memory = lineage.memories.get(memory_id)
        if memory is None:
            gone = {"content": None, "from": None, "standing": None, "may_act": False, "blocked": False}
            return {"id": memory_id, **gone}
        shown = self._reader.shown(self._kin.whole(memory))
        return {
            "id": memory_id,
            "content": shown.text,
            "from": _origin(memory),
            "standing": memory.standing.label,
            "may_act": shown.may_act,
            "blocked": shown.blocked,
        }

    def _read(self, sessions: Iterable[str]) -> list[dict[str, Any]]:
        return [
            {"session": name, "at": utc_text(seen.at), "channel": seen.channel, "principal": seen.principal}
            for name in dict.fromkeys(sessions)
            for seen in observations(self._ledger.tagged("observations", name, _ALL))
        ]


def _renamed(memory: Memory, memory_id: str) -> Memory:
    return replace(memory, id=memory_id)


def _origin(memory: Memory) -> str:
    origin = memory.origin
    parts = [origin.channel, origin.principal, origin.session and f"session {origin.session}"]
    return ", ".join(part for part in parts if part)


def _action(record: TicketRecord) -> dict[str, Any]:
    return {
        "kind": "action",
        "how": record.action,
        "session": record.session,
        "run": record.run,
        "state": record.state,
        "ticket": record.id,
        "at": utc_text(record.at),
    }


def _actions(title: str, entries: Iterable[dict[str, Any]]) -> ReportSection:
    rows = tuple((e["at"], e["how"], e["state"], e["session"], e["run"], e["ticket"]) for e in entries)
    return ReportSection(title, ("when", "action", "state", "session", "run", "ticket"), rows)


def _memories(title: str, entries: Iterable[dict[str, Any]]) -> ReportSection:
    rows = tuple((e["id"], e["standing"] or "gone", e["from"] or "", e["content"] or "") for e in entries)
    return ReportSection(title, ("id", "standing", "from", "says"), rows)


def _trace_sections(data: dict[str, Any]) -> list[ReportSection]:
    shown = [one for one in data["exposures"] if one["kind"] == "shown"]
    acted = [one for one in data["exposures"] if one["kind"] == "action"]
    return [
        _memories("Derived from", data["parents"]),
        _memories("Derived from it", data["children"]),
        ReportSection("Shown to", ("when", "session", "how"), tuple((o["at"], o["session"], o["how"]) for o in shown)),
        _actions("Actions it was matched in", acted),
        ReportSection(
            "Decisions",
            ("when", "what", "by", "why"),
            tuple((d["at"], d["kind"], d["by"] or "", d["why"] or "") for d in data["decisions"]),
        ),
    ]
