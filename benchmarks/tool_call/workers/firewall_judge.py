"""memory-firewall: ``check_action`` for the memories that hold a call's values.

The owner's message is attested as its README says a host may: confirmed by a person, for action, for a year.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from attributing import Attributing  # type: ignore[import-not-found]
from judging_loop import serve  # type: ignore[import-not-found]
from memory_firewall import GatedMemoryStore, InMemoryBackend  # type: ignore[import-not-found]

_USE = "external_action_support"


class Walled(Attributing):  # type: ignore[misc]
    """A judge for every memory: a store copies all its records at every write."""

    def began(self) -> None:
        self._judges: list[GatedMemoryStore | None] = []

    def kept(self, text: str, *, honest: bool) -> None:
        judge, now = GatedMemoryStore(backend=InMemoryBackend()), datetime.now(UTC)
        stamp = "%Y-%m-%dT%H:%M:%SZ"
        given: dict[str, object] = {
            "source_reference": "owner" if honest else "result",
            "retrieved_at": now.strftime(stamp),
        }
        if honest:
            until = (now + timedelta(days=365)).strftime(stamp)
            given |= {"source_type": "human_confirmed", "first_party_confirmation": True}
            given |= {"content_attested": True, "expires_at": until}
        else:
            given |= {"source_type": "third_party_source"}
        stored = judge.remember(text[:8_000] or "-", memory_id="memory", intended_use=_USE, **given)["stored"]
        self._judges.append(judge if stored else None)

    def may_act(self, place: int) -> bool:
        judge = self._judges[place]
        return judge is not None and bool(judge.check_action("memory", intended_use=_USE)["action_allowed"])


serve(Walled())
