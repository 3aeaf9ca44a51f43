"""memory-firewall in front of a plain vector store: its own search is by substring, its judgement is what counts.

Every memory is judged by a ``GatedMemoryStore`` (one for each, because a store copies all its records at every write,
and records are judged apart from each other). What its review blocks or quarantines on retrieval does not come up;
what ``check_action`` allows for ``external_action_support``, the scope that its agent-facing tool asks for, may act.

The trusted host attaches provenance as its README says. What has proved itself was confirmed by a person, and its exact
content is attested for action until a year from now; nothing less may act there, a system's own statement included.
The rest comes with its true source and no attestation. A planted text comes over the agent-facing way, which takes
nothing but the claim and its intended use.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

from guarded_shelf import GuardedShelf  # type: ignore[import-not-found]
from memory_firewall import GatedMemoryStore, InMemoryBackend  # type: ignore[import-not-found]
from worker_loop import OWNER, REFUSED, STORED, SYSTEM, Entry, Vectors, serve  # type: ignore[import-not-found]

_ID, _USE = "memory", "external_action_support"
_SOURCES = {OWNER: "human_stated", SYSTEM: "direct_evidence"}
_WITHHELD = frozenset({"block", "quarantine"})


class Walled(GuardedShelf):  # type: ignore[misc]
    """A judge for every memory."""

    version = version("memory-firewall")
    has_gate = True

    def __init__(self, vectors: Vectors, _home: Path, _options: Mapping[str, Any]) -> None:
        super().__init__(vectors)
        self._judges: list[GatedMemoryStore] = []
        self._shown: dict[int, bool] = {}
        self._acts: dict[int, bool] = {}

    def judged(self, entry: Entry, *, honest: bool) -> tuple[str, str]:
        """Reviewed and stored with its label; the store refuses only what it cannot hold."""
        judge = GatedMemoryStore(backend=InMemoryBackend())
        provenance = _vouched(entry) if honest else {}
        if not judge.remember(entry.text, memory_id=_ID, intended_use=_USE, **provenance)["stored"]:
            return REFUSED, ""
        self._judges.append(judge)
        return STORED, entry.text

    def is_shown(self, place: int) -> bool:
        """What its review on retrieval says; it depends on nothing but the record and the day."""
        if place not in self._shown:
            outcome = self._judges[place].recall(memory_id=_ID)[0]["retrieval_outcome"]
            self._shown[place] = outcome not in _WITHHELD
        return self._shown[place]

    def may_act(self, place: int) -> bool:
        """What its check of an action says."""
        if place not in self._acts:
            self._acts[place] = bool(self._judges[place].check_action(_ID, intended_use=_USE)["action_allowed"])
        return self._acts[place]

    def forget(self, length: int) -> None:
        """Drop the judges of what was planted."""
        del self._judges[length:]
        for known in (self._shown, self._acts):
            for place in [place for place in known if place >= length]:
                del known[place]


def _vouched(entry: Entry) -> dict[str, Any]:
    now = datetime.now(UTC)
    given = {"source_reference": entry.source or OWNER, "retrieved_at": _stamp(now - timedelta(minutes=1))}
    if entry.credited:
        confirmed = {"source_type": "human_confirmed", "first_party_confirmation": entry.by == OWNER}
        return given | confirmed | {"content_attested": True, "expires_at": _stamp(now + timedelta(days=365))}
    return given | {"source_type": _SOURCES.get(entry.by, "third_party_source")}


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


if __name__ == "__main__":
    serve(Walled)
