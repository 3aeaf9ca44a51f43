"""Adapters for ``agmi-check``: its at-rest edits, made on a keep by someone who holds the file and its encryption key.

Run one by itself with ``python -m agmi.check --adapter benchmarks.yardsticks.agmi_at_rest:Memories``.

What counts as detected is decided on the read path and nowhere else: the keep is opened and its memories are listed and
recalled as a host would. Either that raises ``StoreTampered``, or what was altered is there only as a blocked entry.
Should a text be served that was never written through the keep, or fewer texts without a word, the edit counts as
accepted.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from agmi.adapters.base import MemoryAdapter, Record

from truekeep import Keep
from truekeep.config import Paths
from truekeep.errors import StoreError
from truekeep.redteam.keep_target import intruder

GENUINE = "The greenhouse in row {} is watered on weekday number {}."
OTHERS = "The boiler in cellar {} is serviced in month number {}."


class Memories(MemoryAdapter):  # type: ignore[misc]  # agmi ships no types
    """A keep's memories. The second context is another session of the same keep, sealed with the same keys."""

    name = "truekeep"
    detection_point = "read"
    supports_replay = True
    supports_metadata = True
    supports_snapshot = True
    second: ClassVar[str] = "alice"

    def setup(self) -> None:
        """An empty keep."""
        self._home = Path(tempfile.mkdtemp(prefix="truekeep-agmi-"))
        self._texts: set[str] = set()
        self._owners: dict[str, str] = {}
        self._keep = self._opened("alice")

    def teardown(self) -> None:
        """Nothing stays behind."""
        self._keep.close()
        shutil.rmtree(self._home)

    def seed(self, n: int) -> None:
        """Memories of the owner."""
        for number in range(n):
            self._remember(self._keep, GENUINE.format(number, number), "mine")

    def append_genuine(self) -> None:
        """One more of them, after everything was closed."""
        with self._opened("alice") as keep:
            self._remember(keep, GENUINE.format("late", 9), "mine")

    def seed_other(self, n: int) -> None:
        """Memories of the second context."""
        with self._opened(self.second) as keep:
            for number in range(n):
                self._remember(keep, OTHERS.format(number, number), "other")

    # What the intruder does

    def read_all_raw(self) -> list[Record]:
        """The rows as they stand in the file."""
        return self._rows("alice", "mine")

    def read_other_raw(self) -> list[Record]:
        """Those of the second context."""
        return self._rows(self.second, "other")

    def write_raw(self, record: Record) -> None:
        """Insert or overwrite a row."""
        fields = {**record.fields, "seq": record.seq}
        marks = ", ".join("?" * len(fields))
        self._edit(f"INSERT OR REPLACE INTO memories({', '.join(fields)}) VALUES ({marks})", *fields.values())  # noqa: S608 - an intruder may

    def delete_raw(self, seq: int) -> None:
        """Delete a row."""
        self._edit("DELETE FROM memories WHERE seq = ?", seq)

    def replay_onto(self, victim_seq: int, donor: Record) -> None:
        """Put a genuine row into the place of another."""
        fields = {name: value for name, value in donor.fields.items() if name not in ("seq", "id")}
        columns = ", ".join(f"{name} = ?" for name in fields)
        self._edit(f"UPDATE memories SET {columns} WHERE seq = ?", *fields.values(), victim_seq)  # noqa: S608 - an intruder may

    def read_meta(self, seq: int) -> dict[str, Any]:
        """A row without its text."""
        return {name: value for name, value in self._body(seq).items() if name != "text"}

    def write_meta(self, seq: int, meta: dict[str, Any]) -> None:
        """Change everything but the text."""
        body = {"text": self._body(seq)["text"], **meta, "standing": "enrolled"}
        self._edit("UPDATE memories SET body = ? WHERE seq = ?", json.dumps(body), seq)

    def mutate_payload(self, record: Record) -> Record:
        """Change the text."""
        body = json.loads(record.fields["body"])
        record.fields["body"] = json.dumps(body | {"text": body["text"] + " Unless it rains."})
        return record

    def forge_record(self, template: Record) -> Record:
        """A row that was never written."""
        forged = Record(template.seq + 1, {**template.fields, "id": "mem_00000000000000000000"})
        return self.mutate_payload(forged)

    def snapshot_store(self) -> str:
        """A copy of the whole store; keys and anchor are elsewhere."""
        return str(self._copy_store(Paths.resolve(self._home).data))

    def restore_store(self, token: object) -> None:
        """Put the copy back."""
        self._restore_store(str(token), Paths.resolve(self._home).data)
        shutil.rmtree(Path(str(token)).parent)

    # What the yardstick compares: a slot is its id, and belongs to whoever was given that id

    def identity_of(self, record: Record) -> str:
        """Its id."""
        return str(record.fields["id"])

    def payload_of(self, record: Record) -> str:
        """Its text."""
        return str(json.loads(record.fields["body"])["text"])

    def owner_of(self, record: Record) -> str | None:
        """Whoever was given that id."""
        return self._owners.get(record.fields["id"], "mine")

    # The read path

    def reload(self) -> None:
        """As after a restart."""
        self._keep.close()

    def verify(self) -> bool:
        """Whether everything that is served was really written, and nothing is missing without a word."""
        self.verify_detail = None
        try:
            with self._opened("alice") as keep:
                listed = keep.get_memories()
                recalled = [hit.text for hit in keep.recall("watered boiler rain", k=50) if not hit.blocked]
        except StoreError as refusal:
            self.verify_detail = f"{refusal.code}: {refusal}"
            return False
        served = {entry["content"] for entry in listed if not entry["blocked"]} | set(recalled)
        blocked = [entry for entry in listed if "unverified_record" in entry["block_reason"]]
        if blocked and served <= self._texts:
            self.verify_detail = f"unverified_record: {len(blocked)} blocked, {len(served)} served"
            return False
        return True

    def _opened(self, name: str) -> Keep:
        return Keep.open(name, home=self._home, embedder=lambda: None)

    def _remember(self, keep: Keep, text: str, owner: str) -> None:
        verdict = keep.remember(text, via="user", session=f"s-{owner}")
        if verdict.memory_id is None:
            raise RuntimeError("an honest memory was not stored, so nothing can be measured")
        self._texts.add(text)
        self._owners[verdict.memory_id] = owner

    def _rows(self, name: str, owner: str) -> list[Record]:
        with intruder(self._home, name) as connection:
            cursor = connection.execute("SELECT * FROM memories ORDER BY seq")
            found = [
                {column[0]: value for column, value in zip(cursor.description, row, strict=True)} for row in cursor
            ]
        records = [Record(row["seq"], row) for row in found]
        return [record for record in records if self.owner_of(record) == owner]

    def _body(self, seq: int) -> dict[str, Any]:
        (record,) = [one for one in self.read_all_raw() if one.seq == seq]
        body: dict[str, Any] = json.loads(record.fields["body"])
        return body

    def _edit(self, statement: str, *values: Any) -> None:
        with intruder(self._home) as connection:
            connection.execute(statement, values)


class TwoKeeps(Memories):
    """The same edits; the second context is another keep, with a file and keys of its own."""

    name = "truekeep, two keeps"
    second = "bob"
