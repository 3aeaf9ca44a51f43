"""A report as parts that any medium can show, and the media: a page, Markdown, and plots as SVG.

The page needs nothing else: no script, no outside request, light and dark, printable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from itertools import cycle
from pathlib import Path

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title><style>{style}</style></head><body><h1>{title}</h1><dl>{facts}</dl>
{sections}</body></html>
"""
WIDTH, HEIGHT = 640, 330
LEFT, TOP, _BOTTOM, BESIDE = 58, 46, 44, 200
COLOURS = (
    "#c2410c",
    "#0f766e",
    "#1d4ed8",
    "#7e22ce",
    "#4d7c0f",
    "#be185d",
    "#0369a1",
    "#a16207",
    "#475569",
    "#b91c1c",
)
_DASHES = ("", "6 3", "2 3", "9 3 2 3")
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#1f2937}.t{font-size:14px;font-weight:600}.g{stroke:#9ca3af;"
    "stroke-opacity:.35}.a{stroke:#6b7280}.b{fill:#fff}"
    "@media(prefers-color-scheme:dark){text{fill:#e5e7eb}.b{fill:#111827}}"
)
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Table:
    """Cells under headings; ``marks`` says which rows show a claim that is met or broken."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    marks: Sequence[str] = ()
    """``good``, ``bad`` or nothing, row by row."""
    caption: str = ""
    is_figures: bool = False
    """Whether its cells are figures, which are not broken into lines."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawing and the name of its file."""

    name: str
    svg: str
    words: str
    """What it shows, for whoever cannot see it."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it, in this order: text, plots, tables."""

    title: str
    text: Sequence[str] = ()
    plots: Sequence[Plot] = ()
    tables: Sequence[Table] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True)
class Document:
    """The whole report."""

    title: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]


def html_page(document: Document) -> str:
    """The report as one page that needs nothing else."""
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in document.facts)
    sections = "\n".join(map(_html_section, document.sections))
    style = files("truekeep").joinpath("data", "redteam", "report.css").read_text(encoding="utf-8")
    return _PAGE.format(title=escape(document.title), style=style, facts=facts, sections=sections)


def _html_section(section: Section) -> str:
    texts = "".join(f"<p>{_html_text(paragraph)}</p>" for paragraph in section.text)
    plots = "".join(
        f"<figure>{plot.svg}<figcaption>{escape(plot.words)}</figcaption></figure>" for plot in section.plots
    )
    return f"<h2>{escape(section.title)}</h2>{texts}{plots}{''.join(map(_html_table, section.tables))}"


def _html_table(table: Table) -> str:
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in table.headings)
    marks = [*table.marks, *[""] * (len(table.rows) - len(table.marks))]
    body = "".join(
        f'<tr class="{escape(mark)}">{"".join(f"<td>{_html_text(cell)}</td>" for cell in row)}</tr>'
        for row, mark in zip(table.rows, marks, strict=True)
    )
    kind = ' class="figures"' if table.is_figures else ""
    return f'<div class="wide"><table{kind}>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _html_text(text: str) -> str:
    """Escaped; what stands between backticks is set as code."""
    pieces = escape(text).split("`")
    return "".join(f"<code>{piece}</code>" if place % 2 else piece for place, piece in enumerate(pieces))


def write_markdown(document: Document, folder: Path, name: str) -> None:
    """Write the Markdown under this name and the plots into the folder."""
    for section in document.sections:
        for plot in section.plots:
            (folder / f"{plot.name}.svg").write_text(plot.svg + "\n", encoding="utf-8")
    (folder / name).write_text(markdown_page(document), encoding="utf-8")


def markdown_page(document: Document) -> str:
    """The report as Markdown, with its plots as files beside it."""
    facts = [f"- {key}: {value}" for key, value in document.facts]
    said = [f"# {document.title}", "", *facts]
    for section in document.sections:
        said += ["", f"## {section.title}", *_markdown_body(section)]
    return "\n".join(said) + "\n"


def _markdown_body(section: Section) -> list[str]:
    said: list[str] = []
    for paragraph in section.text:
        said += ["", paragraph]
    for plot in section.plots:
        said += ["", f"![{plot.words}]({plot.name}.svg)"]
    for table in section.tables:
        said += ["", *_markdown_table(table)]
    return said


def _markdown_table(table: Table) -> list[str]:
    caption = [f"**{table.caption}**", ""] if table.caption else []
    rule = ["---", *["---:"] * (len(table.headings) - 1)]
    return [*caption, *(_markdown_row(cells) for cells in (table.headings, rule, *table.rows))]


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def lines_plot(title: str, series: Mapping[str, Sequence[Point]], *, note: str = "") -> str:
    """Shares against sizes: one line each, sizes on a logarithmic axis."""
    sizes = sorted({size for points in series.values() for size, _ in points})
    right = WIDTH - BESIDE

    def place(point: Point) -> Point:
        low, high = math.log(sizes[0]), math.log(sizes[-1])
        across = (math.log(point[0]) - low) / (high - low) if high > low else 0.5
        return LEFT + across * (right - LEFT), height_of(point[1])

    body = [share_axis(right), *(label_below(place((size, 0))[0], f"{size:,.0f}") for size in sizes)]
    ends: list[tuple[float, str, str]] = []
    for (name, points), colour, dash in zip(series.items(), cycle(COLOURS), cycle(_DASHES), strict=False):
        places = [place(point) for point in sorted(points)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        body.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.2"{_dashed(dash)}/>')
        body += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{colour}"/>' for x, y in places]
        ends.append((places[-1][1], name, colour))
    return drawn(title, [*body, *names_beside(ends, right)], note)


def height_of(share: float) -> float:
    """Where a share is drawn."""
    return HEIGHT - _BOTTOM - share * (HEIGHT - _BOTTOM - TOP - 10)


def share_axis(right: float) -> str:
    """The axis of shares, with its marks."""
    marks = "".join(
        f'<line class="g" x1="{LEFT}" x2="{right}" y1="{height_of(share):.1f}" y2="{height_of(share):.1f}"/>'
        f'<text x="{LEFT - 8}" y="{height_of(share) + 4:.1f}" text-anchor="end">{share:.0%}</text>'
        for share in (0, 0.25, 0.5, 0.75, 1)
    )
    return marks + f'<line class="a" x1="{LEFT}" x2="{right}" y1="{height_of(0):.1f}" y2="{height_of(0):.1f}"/>'


def label_below(x: float, label: str) -> str:
    """A label under the axis."""
    return f'<text x="{x:.1f}" y="{HEIGHT - _BOTTOM + 18}" text-anchor="middle">{escape(label)}</text>'


def names_beside(ends: Sequence[tuple[float, str, str]], right: float) -> list[str]:
    """Names at the right, moved apart so that none covers another, each with its colour."""
    placed, below = [], float(TOP)
    for y, name, colour in sorted(ends):
        below = max(below + 15, y + 4)
        placed.append((below, name, colour))
    over = max(0.0, placed[-1][0] - (HEIGHT - 8)) if placed else 0.0
    return [
        f'<rect x="{right + 26}" y="{y - over - 9:.1f}" width="9" height="9" fill="{colour}"/>'
        f'<text x="{right + 40}" y="{y - over:.1f}">{escape(name)}</text>'
        for y, name, colour in placed
    ]


def _dashed(dash: str) -> str:
    return f' stroke-dasharray="{dash}"' if dash else ""


def drawn(title: str, body: Sequence[str], note: str = "", *, height: int = HEIGHT) -> str:
    """The whole drawing."""
    under = f'<text x="{LEFT}" y="{height - 6}">{escape(note)}</text>' if note else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(title, quote=True)}"><style>{_STYLE}</style><rect class="b" width="{WIDTH}" '
        f'height="{height}"/><text class="t" x="12" y="18">{escape(title)}</text>{"".join(body)}{under}</svg>'
    )
