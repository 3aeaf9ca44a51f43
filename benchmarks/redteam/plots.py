"""Plots that set defences side by side, as SVG that stands alone: points, and bars. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from itertools import cycle

from truekeep.redteam.report_pages import (
    BESIDE,
    COLOURS,
    HEIGHT,
    LEFT,
    TOP,
    WIDTH,
    Point,
    drawn,
    height_of,
    label_below,
    names_beside,
    share_axis,
)


def points(title: str, places: Mapping[str, Point], across: str, up: str) -> str:
    """Named points in the unit square."""
    right = WIDTH - BESIDE
    body = [share_axis(right)]
    body += [label_below(LEFT + share * (right - LEFT), f"{share:.0%}") for share in (0, 0.25, 0.5, 0.75, 1)]
    ends = []
    for (name, (x, y)), colour in zip(places.items(), cycle(COLOURS), strict=False):
        here = LEFT + x * (right - LEFT)
        body.append(f'<circle cx="{here:.1f}" cy="{height_of(y):.1f}" r="6" fill="{colour}" fill-opacity=".85"/>')
        ends.append((height_of(y), name, colour))
    body.append(f'<text x="{right}" y="{HEIGHT - 6}" text-anchor="end">{escape(across)}</text>')
    body.append(f'<text x="{LEFT}" y="{TOP - 8}" text-anchor="start">{escape(up)}</text>')
    return drawn(title, [*body, *names_beside(ends, right)])


def bars(title: str, costs: Mapping[str, int | None], most: int) -> str:
    """How many records a break took, on a logarithmic axis; none is a bar to the end of the budget."""
    rows = list(costs.items())
    height = TOP + 26 * len(rows) + 20
    right = WIDTH - 130
    body = []
    for number, (name, cost) in enumerate(rows):
        y = TOP + 8 + 26 * number
        share = 1.0 if cost is None else math.log(cost + 1) / math.log(most + 1)
        colour, words = ("#0f766e", f"none up to {most:,}") if cost is None else ("#c2410c", f"{cost:,}")
        wide = max(3.0, share * (right - 230))
        body.append(f'<text x="222" y="{y + 13}" text-anchor="end">{escape(name)}</text>')
        body.append(f'<rect x="230" y="{y}" width="{wide:.1f}" height="18" rx="2" fill="{colour}"/>')
        body.append(f'<text x="{238 + wide:.1f}" y="{y + 13}">{escape(words)}</text>')
    return drawn(title, body, height=height)
