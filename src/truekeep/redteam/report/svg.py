"""Three kinds of plot as SVG that stands alone: lines over the size of a store, points, and bars. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import cycle

WIDTH, HEIGHT = 640, 330
_LEFT, _TOP, _BOTTOM, _NAMES = 58, 46, 44, 200
_COLOURS = (
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


def lines(title: str, series: Mapping[str, Sequence[Point]], *, note: str = "") -> str:
    """Shares against sizes: one line each, sizes on a logarithmic axis."""
    sizes = sorted({size for points in series.values() for size, _ in points})
    right = WIDTH - _NAMES

    def place(point: Point) -> Point:
        low, high = math.log(sizes[0]), math.log(sizes[-1])
        across = (math.log(point[0]) - low) / (high - low) if high > low else 0.5
        return _LEFT + across * (right - _LEFT), _y(point[1])

    body = [_shares(right), *(_below(place((size, 0))[0], f"{size:,.0f}") for size in sizes)]
    ends: list[tuple[float, str, str]] = []
    for (name, points), colour, dash in zip(series.items(), cycle(_COLOURS), cycle(_DASHES), strict=False):
        places = [place(point) for point in sorted(points)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        body.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.2"{_dashed(dash)}/>')
        body += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{colour}"/>' for x, y in places]
        ends.append((places[-1][1], name, colour))
    return _drawn(title, [*body, *_names(ends, right)], note)


def points(title: str, places: Mapping[str, Point], across: str, up: str) -> str:
    """Named points in the unit square."""
    right = WIDTH - _NAMES
    body = [_shares(right)]
    body += [_below(_LEFT + share * (right - _LEFT), f"{share:.0%}") for share in (0, 0.25, 0.5, 0.75, 1)]
    ends = []
    for (name, (x, y)), colour in zip(places.items(), cycle(_COLOURS), strict=False):
        here = _LEFT + x * (right - _LEFT)
        body.append(f'<circle cx="{here:.1f}" cy="{_y(y):.1f}" r="6" fill="{colour}" fill-opacity=".85"/>')
        ends.append((_y(y), name, colour))
    body.append(f'<text x="{right}" y="{HEIGHT - 6}" text-anchor="end">{escape(across)}</text>')
    body.append(f'<text x="{_LEFT}" y="{_TOP - 8}" text-anchor="start">{escape(up)}</text>')
    return _drawn(title, [*body, *_names(ends, right)])


def bars(title: str, costs: Mapping[str, int | None], most: int) -> str:
    """How many records a break took, on a logarithmic axis; none is a bar to the end of the budget."""
    rows = list(costs.items())
    height = _TOP + 26 * len(rows) + 20
    right = WIDTH - 130
    body = []
    for number, (name, cost) in enumerate(rows):
        y = _TOP + 8 + 26 * number
        share = 1.0 if cost is None else math.log(cost + 1) / math.log(most + 1)
        colour, words = ("#0f766e", f"none up to {most:,}") if cost is None else ("#c2410c", f"{cost:,}")
        wide = max(3.0, share * (right - 230))
        body.append(f'<text x="222" y="{y + 13}" text-anchor="end">{escape(name)}</text>')
        body.append(f'<rect x="230" y="{y}" width="{wide:.1f}" height="18" rx="2" fill="{colour}"/>')
        body.append(f'<text x="{238 + wide:.1f}" y="{y + 13}">{escape(words)}</text>')
    return _drawn(title, body, height=height)


def _y(share: float) -> float:
    return HEIGHT - _BOTTOM - share * (HEIGHT - _BOTTOM - _TOP - 10)


def _shares(right: float) -> str:
    marks = "".join(
        f'<line class="g" x1="{_LEFT}" x2="{right}" y1="{_y(share):.1f}" y2="{_y(share):.1f}"/>'
        f'<text x="{_LEFT - 8}" y="{_y(share) + 4:.1f}" text-anchor="end">{share:.0%}</text>'
        for share in (0, 0.25, 0.5, 0.75, 1)
    )
    return marks + f'<line class="a" x1="{_LEFT}" x2="{right}" y1="{_y(0):.1f}" y2="{_y(0):.1f}"/>'


def _below(x: float, label: str) -> str:
    return f'<text x="{x:.1f}" y="{HEIGHT - _BOTTOM + 18}" text-anchor="middle">{escape(label)}</text>'


def _names(ends: Sequence[tuple[float, str, str]], right: float) -> list[str]:
    """Names at the right, moved apart so that none covers another, each with its colour."""
    placed, below = [], float(_TOP)
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


def _drawn(title: str, body: Sequence[str], note: str = "", *, height: int = HEIGHT) -> str:
    under = f'<text x="{_LEFT}" y="{height - 6}">{escape(note)}</text>' if note else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(title, quote=True)}"><style>{_STYLE}</style><rect class="b" width="{WIDTH}" '
        f'height="{height}"/><text class="t" x="12" y="18">{escape(title)}</text>{"".join(body)}{under}</svg>'
    )
