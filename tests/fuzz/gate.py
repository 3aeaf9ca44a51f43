"""Random texts through the gate: each gets a verdict or a clear refusal, and what was merely read never acts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.texts import sentence, text
from tests.fuzz.watching import promise, watched
from truekeep import Keep, Settings

HEARSAY = ("web", "email", "tool", "file", "paste", "import")
CHANNELS = (*HEARSAY, "user", "user", "agent", "crm")
SETTINGS = Settings(embedder="none", queue_per_principal=100_000)
BATCH = 250
"""Texts to one keep: it stays small, so that the cost is that of the texts."""


def case(seed: int) -> dict[str, Any]:
    """The arguments of one write."""
    random = Random(seed)
    made: dict[str, Any] = {"text": text(random), "via": random.choice(CHANNELS)}
    if random.random() < 0.1:
        made["session"] = "s-1"
    if random.random() < 0.1:
        made["quote"] = random.choice((text, sentence))(random)
    if random.random() < 0.1:
        made["topics"] = [text(random)[:80] for _ in range(random.randint(0, 3))]
    if random.random() < 0.1:
        made["metadata"] = {text(random)[:20]: text(random)[:100]}
    if random.random() < 0.1:
        made["principal"] = random.choice((text(random)[:60], "example.org", "https://a.example.net/x"))
    return made


def put_through(keep: Keep, arguments: dict[str, Any]) -> None:
    """One write, and what else is done with such texts."""
    kept = {**arguments}
    text = kept.pop("text")
    verdict = watched("remember", lambda: keep.remember(text, **kept))
    if verdict is not None and verdict.memory_id is not None:
        shown = watched("get_memory", lambda: keep.get_memory(str(verdict.memory_id)))
        promise(shown is not None, "an accepted memory is there")
        if shown is not None and arguments["via"] in HEARSAY:
            promise(shown["standing"] == "hearsay" and not shown["may_act"], "hearsay may not act")


def read_back(keep: Keep, random: Random) -> None:
    """The texts come out again: in answers, in a snapshot, and as what a session took in."""
    made = text(random)
    watched("recall", lambda: keep.recall(made[:1000], k=20, session="s-1"))
    watched("observe", lambda: keep.observe("s-1", random.choice(("user", "web", "email")), made))
    watched("check_action", lambda: keep.check_action("s-1", "pay", {"account": made[:200], "note": sentence(random)}))
    snapshot = watched("snapshot", lambda: keep.snapshot("s-1", refresh=True))
    if snapshot is not None:
        body = snapshot.text.removesuffix("</memories>\n")
        promise(body != snapshot.text and "</memories>" not in body, "content cannot close the fence")


def batch(home: Path, seeds: range) -> Iterator[tuple[dict[str, Any], int]]:
    """Put the texts of these seeds through the gate of a fresh keep; gives each before it is tried."""
    name = f"fuzz-{seeds.start}"
    with Keep.open(name, home=home, settings=SETTINGS, policy=("inform", "strict")[seeds.start // BATCH % 2]) as keep:
        keep.channels.enrol("crm", by="eva", reason="ours")
        for seed in seeds:
            arguments = case(seed)
            yield arguments, seed
            put_through(keep, arguments)
            if seed % 50 == 0:
                read_back(keep, Random(seed))
        yield {"text": "the keep's own check", "via": "user"}, seeds.stop - 1
        promise(keep.audit.verify().ok, "the audit chain verifies")
        listed = watched("get_memories", keep.get_memories)
        promise(not any(one["may_act"] and one["standing"] == "hearsay" for one in listed or ()), "hearsay may not act")
    keep.destroy(confirm=name)
