"""The report stands alone, draws what it is given, and shows hostile names as text."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from truekeep.redteam.report_pages import Document, Plot, Section, Table, html_page, lines_plot, markdown_page

HOSTILE = "<script>alert(1)</script> & \"'"
PLOTS = [
    lines_plot(HOSTILE, {HOSTILE: [(60, 0.9), (10_000, 1.0)], "other": [(60, 0.0)]}, note=HOSTILE),
    lines_plot("one size", {"only": [(60, 0.5)]}),
]


@pytest.mark.parametrize("drawn", PLOTS)
def test_plots_are_sound_xml_without_anything_that_runs(drawn: str) -> None:
    root = ElementTree.fromstring(drawn)  # noqa: S314 - drawn by ourselves just now
    assert not [one for one in root.iter() if one.tag.endswith(("script", "image", "foreignObject", "a"))]
    assert HOSTILE not in drawn


def test_more_is_drawn_higher() -> None:
    heights = [float(y) for y in re.findall(r'cy="([\d.]+)"', lines_plot("x", {"x": [(60, 0.1), (500, 0.9)]}))]
    assert heights[0] > heights[1]


def test_the_page_stands_alone_and_shows_hostile_text_as_text() -> None:
    section = Section(
        HOSTILE, [HOSTILE], [Plot("p", PLOTS[1], HOSTILE)], [Table([HOSTILE], [[HOSTILE]], ["bad"], HOSTILE)]
    )
    page = html_page(Document(HOSTILE, [(HOSTILE, HOSTILE)], [section]))
    assert "<script" not in page
    assert not re.search(r'(?:src|href)\s*=\s*["\']?(?:https?:)?//', page)
    assert "default-src 'none'" in page
    assert page.count("&lt;script&gt;") == 10


def test_cells_cannot_break_out_of_a_table() -> None:
    page = markdown_page(Document("t", [], [Section("s", tables=[Table(["a", "b"], [["x|y\nz", "1"]])])]))
    assert "| x\\|y z | 1 |" in page
