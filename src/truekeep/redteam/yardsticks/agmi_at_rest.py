"""Adapters for ``agmi-check``: its at-rest edits, made on a keep by someone who holds the file and its encryption key.

Run one by itself with ``agmi-check --adapter truekeep.redteam.yardsticks.agmi_at_rest:Memories``.

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
from truekeep.redteam.intruder import intruder

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
        self._home = Path(tempfile.mkdtemp(prefix="truekeep-agmi-"))
        self._texts: set[str] = set()
        self._owners: dict[str, str] = {}
        self._keep = self._opened("alice")

    def teardown(self) -> None:
        self._keep.close()
        shutil.rmtree(self._home)

    def seed(self, n: int) -> None:
        for number in range(n):
            self._remember(self._keep, GENUINE.format(number, number), "mine")

    def append_genuine(self) -> None:
        with self._opened("alice") as keep:
            self._remember(keep, GENUINE.format("late", 9), "mine")

    def seed_other(self, n: int) -> None:
        with self._opened(self.second) as keep:
            for number in range(n):
                self._remember(keep, OTHERS.format(number, number), "other")

    # What the intruder does

    def read_all_raw(self) -> list[Record]:
        return self._rows("alice", "mine")

    def read_other_raw(self) -> list[Record]:
        return self._rows(self.second, "other")

    def write_raw(self, record: Record) -> None:
        fields = {**record.fields, "seq": record.seq}
        marks = ", ".join("?" * len(fields))
        self._edit(f"INSERT OR REPLACE INTO memories({', '.join(fields)}) VALUES ({marks})", *fields.values())

    def delete_raw(self, seq: int) -> None:
        self._edit("DELETE FROM memories WHERE seq = ?", seq)

    def replay_onto(self, victim_seq: int, donor: Record) -> None:
        fields = {name: value for name, value in donor.fields.items() if name not in ("seq", "id")}
        columns = ", ".join(f"{name} = ?" for name in fields)
        self._edit(f"UPDATE memories SET {columns} WHERE seq = ?", *fields.values(), victim_seq)

    def read_meta(self, seq: int) -> dict[str, Any]:
        return {name: value for name, value in self._body(seq).items() if name != "text"}

    def write_meta(self, seq: int, meta: dict[str, Any]) -> None:
        body = {"text": self._body(seq)["text"], **meta, "standing": "enrolled"}
        self._edit("UPDATE memories SET body = ? WHERE seq = ?", json.dumps(body), seq)

    def mutate_payload(self, record: Record) -> Record:
        body = json.loads(record.fields["body"])
        record.fields["body"] = json.dumps(body | {"text": body["text"] + " Unless it rains."})
        return record

    def forge_record(self, template: Record) -> Record:
        forged = Record(template.seq + 1, {**template.fields, "id": "mem_00000000000000000000"})
        return self.mutate_payload(forged)

    def snapshot_store(self) -> str:
        return str(self._copy_store(Paths.resolve(self._home).data))

    def restore_store(self, token: object) -> None:
        self._restore_store(str(token), Paths.resolve(self._home).data)
        shutil.rmtree(Path(str(token)).parent)

    # What the yardstick compares: a slot is its id, and belongs to whoever was given that id

    def identity_of(self, record: Record) -> str:
        return str(record.fields["id"])

    def payload_of(self, record: Record) -> str:
        return str(json.loads(record.fields["body"])["text"])

    def owner_of(self, record: Record) -> str | None:
        return self._owners.get(record.fields["id"], "mine")

    # The read path

    def reload(self) -> None:
        self._keep.close()

    def verify(self) -> bool:
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
        assert verdict.memory_id
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
