"""verel: a memory supports a call if it is verified. The owner's message was approved, results are candidates."""

from __future__ import annotations

from attributing import Attributing  # type: ignore[import-not-found]
from judging_loop import serve  # type: ignore[import-not-found]
from verel.memory import (  # type: ignore[import-not-found]
    LocalMemory,
    MemoryKind,
    MemoryRecord,
    Trust,
    approve,
)


class Brain(Attributing):  # type: ignore[misc]
    """One scope of one store in memory."""

    def began(self) -> None:
        self._memory = LocalMemory(":memory:", embedder=None)
        self._verified: list[bool] = []

    def kept(self, text: str, *, honest: bool) -> None:
        name, source = f"m{len(self._verified)}", "owner" if honest else "result"
        record = MemoryRecord(
            id=name, subj_pred_key=name, kind=MemoryKind.FACT, text=text, source=source, provenance=[source]
        )
        written = self._memory.write(record)
        if honest:
            approve(self._memory, written.id, reviewed_by="operator")
        row = self._memory._db.execute("SELECT trust FROM memory WHERE id=?", (written.id,)).fetchone()
        self._verified.append(row is not None and row[0] == Trust.VERIFIED.value)

    def may_act(self, place: int) -> bool:
        return self._verified[place]


serve(Brain())
