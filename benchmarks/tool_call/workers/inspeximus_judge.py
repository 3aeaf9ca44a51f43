"""inspeximus in its strict configuration: a memory supports a call if it is corroborated, as its recall would say.

What the owner said carries credit with a warrant; results carry their source and nothing more.
"""

from __future__ import annotations

from attributing import Attributing  # type: ignore[import-not-found]
from inspeximus import Inspeximus  # type: ignore[import-not-found]
from judging_loop import serve  # type: ignore[import-not-found]

_OUTCOMES = "outcomes"


class Store(Attributing):  # type: ignore[misc]
    """One store in memory."""

    def began(self) -> None:
        self._memory = Inspeximus(None, embed=None, supersession="authority")
        self._memory.strict_corroboration = True
        self._memory.credit_requires_warrant = True
        self._memory.warrant_authorities = {_OUTCOMES}
        self._memory.strict_provenance = True
        self._ids: list[str] = []

    def kept(self, text: str, *, honest: bool) -> None:
        source = {"doc": "owner", "authority": 1.0} if honest else {"doc": "result", "authority": 0.2}
        self._ids.append(self._memory.remember(text[:8_000] or "-", source=source))
        if honest:
            self._memory.credit([self._ids[-1]], "good", warrant=_OUTCOMES)

    def may_act(self, place: int) -> bool:
        by_id = {record["id"]: record for record in self._memory.items}
        record = by_id.get(self._ids[place])
        return record is not None and bool(self._memory._corroborated(record, by_id))


serve(Store())
