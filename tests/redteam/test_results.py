"""Results are kept as they were measured, and a claim holds only if they show it."""

from __future__ import annotations

from pathlib import Path

import pytest

from truekeep.errors import InvalidRequest
from truekeep.redteam.figures import ResultRow
from truekeep.redteam.results import Bound, Results, bounds, judge, merged, tally

ACTING = Bound(claim="nothing acts", where={"part": "retrieval", "metric": "acting"}, at_most=0, upper_below=0.002)
USEFUL = Bound(
    claim="as useful",
    where={"part": "utility", "metric": "acting"},
    compared={"part": "utility", "metric": "plain"},
    at_least=0.99,
)


def acting(hits: int, total: int, **more: object) -> ResultRow:
    return ResultRow(part="retrieval", metric="acting", hits=hits, total=total, **more)  # type: ignore[arg-type]


def results(*rows: ResultRow) -> Results:
    made = Results()
    made.put("step", rows, 1.0)
    return made


def test_a_single_hit_breaks_a_claim_of_none() -> None:
    assert judge(results(acting(0, 5000)), "full", (ACTING,))[0].is_met
    assert not judge(results(acting(0, 5000), acting(1, 5000)), "full", (ACTING,))[0].is_met


def test_a_claim_about_nothing_measured_does_not_hold() -> None:
    found = judge(Results(), "full", (ACTING, USEFUL))
    assert [one.is_met for one in found] == [False, False]
    assert found[0].sentence == "nothing was measured"
    assert {one.state for one in found} == {"not measured"}


def test_a_ratio_to_something_that_was_not_measured_is_not_measured() -> None:
    gated = ResultRow(part="utility", metric="acting", hits=9, total=10)
    found = judge(results(gated), "quick", (USEFUL,))
    assert [(one.state, one.is_met) for one in found] == [("not measured", False)]


def test_what_was_not_measured_is_told_apart_from_what_does_not_hold() -> None:
    found = judge(results(acting(1, 10)), "quick", (ACTING, USEFUL))
    assert tally(found) == "0 of 2 claims hold, 1 does not, 1 was not measured."


def test_too_few_attempts_prove_nothing_in_a_full_run() -> None:
    few = results(acting(0, 1900))
    assert not judge(few, "full", (ACTING,))[0].is_met
    assert judge(few, "quick", (ACTING,))[0].is_met
    assert judge(results(acting(0, 1930)), "full", (ACTING,))[0].is_met


def test_a_ratio_is_of_the_shares() -> None:
    plain = ResultRow(part="utility", metric="plain", hits=900, total=1000)
    for hits, is_met in ((1800, True), (1790, True), (1780, False)):
        gated = ResultRow(part="utility", metric="acting", hits=hits, total=2000)
        assert judge(results(plain, gated), "full", (USEFUL,))[0].is_met is is_met


def test_a_step_measured_again_takes_the_place_of_its_rows() -> None:
    kept = results(acting(3, 10))
    kept.put("other", [acting(1, 10)], 1.0)
    kept.put("step", [acting(0, 10)], 2.0)
    assert kept.total(part="retrieval") == (1, 20)
    assert kept.cpu == {"step": 2.0, "other": 1.0}


def test_results_come_back_as_they_were_saved(tmp_path: Path) -> None:
    kept = results(acting(1, 7, defence="plain vectors", encoder="minilm", size=60, detail={"cost": {"records": 1}}))
    kept.leave_out("a peer", "it cannot be installed")
    kept.save(tmp_path / "results.json")
    loaded = Results.load(tmp_path / "results.json")
    assert (loaded.rows, loaded.left_out, loaded.cpu) == (kept.rows, kept.left_out, kept.cpu)


def test_parts_that_were_run_apart_become_one_result() -> None:
    first, second = results(acting(3, 10)), results(acting(0, 10))
    first.leave_out("other", "no network")
    second.put("other", [acting(1, 10)], 5.0)
    whole = merged([first, second])
    assert whole.total(part="retrieval") == (1, 20)
    assert (whole.left_out, whole.cpu) == ({}, {"step": 1.0, "other": 5.0})


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"rows": [{}], "conditions": {}, "left_out": {}, "cpu_seconds": {}}']
)
def test_a_file_of_something_else_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "results.json").write_text(content)
    with pytest.raises(InvalidRequest, match="does not hold the results"):
        Results.load(tmp_path / "results.json")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[[bound]]\nclaim = 'x'\nwhere = {part = 'retrieval'}",
        "[[bound]]\nclaim = 'x'\nwhere = {colour = 'red'}\nat_most = 0",
        "[[bound]]\nclaim = 'x'\nat_most = 0",
    ],
)
def test_thresholds_that_can_never_fail_or_be_read_are_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "thresholds.toml").write_text(content)
    with pytest.raises(InvalidRequest):
        bounds(tmp_path / "thresholds.toml")


def test_every_claim_of_ours_names_the_command_and_the_outcome_that_would_refute_it() -> None:
    ours = bounds()
    assert len({one.claim for one in ours}) == len(ours)
    assert all(one.command.startswith("truekeep ") and one.refuted_by for one in ours)
