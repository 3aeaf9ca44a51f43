"""agmi, the public yardstick for memory stores: its edits at rest are refused on the read path, its writes kept out."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from agmi.attacks.memory_specific import (
    ALL_MEMORY_ATTACKS,
    CrossSessionBleedAttack,
    IndirectPromptInjectionAttack,
    MemoryAttackResult,
    RetrievalHijackAttack,
)
from agmi.check import LABELS, main, run
from benchmarks.yardsticks import agmi as yardstick
from benchmarks.yardsticks.agmi import measure_agmi
from benchmarks.yardsticks.agmi_at_rest import Memories, TwoKeeps
from benchmarks.yardsticks.agmi_semantic import Recalls

from truekeep.embed import by_name

pytestmark = pytest.mark.slow

LONG = bool(os.environ.get("TRUEKEEP_LONG"))
UNSIGNED = ("external", "laundered")
TELLING = (CrossSessionBleedAttack, RetrievalHijackAttack, IndirectPromptInjectionAttack)
"""Attacks whose content gives them away. A plausible fact that came with the owner's signature is the owner's word."""


@pytest.mark.parametrize("adapter", [Memories, TwoKeeps])
def test_every_edit_at_rest_is_rejected_on_the_read_path(adapter: type[Memories]) -> None:
    rows = run(adapter())
    assert {row["edit"]: row["verdict"] for row in rows} == dict.fromkeys(LABELS.values(), "REJECTED")


def test_the_yardsticks_own_command_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--adapter", "benchmarks.yardsticks.agmi_at_rest:Memories"]) == 0
    assert capsys.readouterr().out.count("REJECTED") == 9


def test_an_edit_that_is_served_would_count_as_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The adapter can fail: without the seals, what was edited is served and the yardstick says so."""
    monkeypatch.setattr("truekeep.stores.seal.Seal.holds", lambda *_: True)
    verdicts = {row["attack"]: row["verdict"] for row in run(Memories())}
    assert verdicts["tamper"] == "ACCEPTED"


@pytest.fixture(scope="module", params=[("strict", False), ("inform", True)], ids=["strict", "inform, what may act"])
def recalls(request: pytest.FixtureRequest) -> Iterator[Recalls]:
    policy, acting = request.param
    embedder = by_name("minilm") if LONG else None
    adapter = Recalls(lambda: embedder, policy=policy, acting=acting)
    yield adapter
    adapter.close()


@pytest.mark.parametrize("attack", ALL_MEMORY_ATTACKS)
def test_writes_of_an_attacker_are_kept_out(recalls: Recalls, attack: type) -> None:
    result: MemoryAttackResult = attack(mutate=LONG).run(recalls)
    assert result.error is None
    for channel, outcomes in result.channels.items():
        assert None not in outcomes, "the owner's own memory was not found, so nothing was measured"
        if channel in UNSIGNED or attack in TELLING:
            assert not any(outcomes), f"{channel}: {result.detail}"


def test_the_red_team_tells_the_yardsticks_verdicts_as_rows() -> None:
    rows = {row.attack: row for row in measure_agmi(None)}
    assert len(rows) == 4
    assert all(row.metric == "agmi_refused" for row in rows.values())
    for at_rest in ("edits at rest, one keep", "edits at rest, two keeps"):
        assert (rows[at_rest].hits, rows[at_rest].total) == (9, 9)
    for row in (row for name, row in rows.items() if name.startswith("writes")):
        unsigned = [counts for case, counts in row.detail.items() if case.partition(": ")[2] in UNSIGNED]
        assert unsigned
        assert all(kept_out == tried for kept_out, tried in unsigned)


def test_without_the_yardstick_there_is_a_row_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yardstick, "find_spec", lambda _: None)
    (row,) = measure_agmi(None)
    assert row.total == 0
    assert row.note.startswith("left out: ")
