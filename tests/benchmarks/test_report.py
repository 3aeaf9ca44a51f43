"""The published report: its plots draw what they are given, and it sets defences side by side."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from benchmarks.redteam.plots import bars, points
from benchmarks.redteam.report import composed

from truekeep.redteam.figures import US, ResultRow
from truekeep.redteam.results import Results

HOSTILE = "<script>alert(1)</script> & \"'"
PLOTS = [
    points(HOSTILE, {HOSTILE: (0.0, 1.0), "x": (1.0, 0.5)}, HOSTILE, HOSTILE),
    bars(HOSTILE, {HOSTILE: None, "one": 1, "all": 1000}, 1000),
]


@pytest.mark.parametrize("drawn", PLOTS)
def test_plots_are_sound_xml_without_anything_that_runs(drawn: str) -> None:
    root = ElementTree.fromstring(drawn)  # noqa: S314 - drawn by ourselves just now
    assert not [one for one in root.iter() if one.tag.endswith(("script", "image", "foreignObject", "a"))]
    assert HOSTILE not in drawn


def test_a_dearer_attack_is_drawn_longer() -> None:
    widths = [float(wide) for wide in re.findall(r'height="18"|width="([\d.]+)" height="18"', PLOTS[1]) if wide]
    assert widths[1] < widths[2] == widths[0]


def test_defences_stand_side_by_side_with_what_others_published() -> None:
    results = Results()
    rows = [
        ResultRow(part="retrieval", metric="acting_top5", hits=0, total=9, encoder="minilm", size=60, defence=US),
        ResultRow(part="retrieval", metric="acting_top5", hits=9, total=9, encoder="minilm", size=60, defence="theirs"),
        ResultRow(
            part="yardstick", metric="published_raw", hits=8, total=9, defence="theirs", detail={"published": 0.94}
        ),
    ]
    results.put("step", rows, 1.0)
    sections = {section.title: section for section in composed(results, []).sections}
    assert [row[0] for row in sections["Side by side"].tables[0].rows] == [US, "theirs"]
    assert sections["Yardsticks of others"].tables[0].rows[0][-1] == "0.94"


def test_defences_at_the_tool_call_are_drawn_set_by_set_and_other_peoples_sets_are_listed() -> None:
    results = Results()
    asked = {"questions": 3, "tasks": 6, "done": 5}
    rows = [
        ResultRow(part="tool call", metric="executed", hits=0, total=9, attack="Slack", detail=asked),
        ResultRow(part="tool call", metric="executed", hits=8, total=9, attack="Slack", defence="theirs", detail=asked),
        ResultRow(part="ground", metric="acting", hits=0, total=7, attack="Poisons", note="inform"),
        ResultRow(part="agentdojo", metric="executed", hits=0, total=949, attack="AgentDojo", note="no plan"),
    ]
    results.put("step", rows, 1.0)
    sections = {section.title: section for section in composed(results, []).sections}
    side = sections["At the tool call, side by side"]
    assert side.tables[0].rows[1] == ["theirs", "8 of 9", "0.50", "5 of 6"]
    assert [plot.name for plot in side.plots] == ["tool-call-slack"]
    assert sections["Other people's sets of memory attacks"].tables[0].rows == [["Poisons", "inform", "acts", "0 of 7"]]
    assert sections["AgentDojo, whole"].tables[0].rows == [["no plan", "0.0% (0.0% to 0.4%)"]]
