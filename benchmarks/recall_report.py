"""Writes the contest's table and plot: ``docs/benchmarks/recall-peers.md`` and ``recall-peers.svg``."""

from __future__ import annotations

import math
import platform
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parents[1] / "docs" / "benchmarks"
COLUMNS = {
    "recall_ms": "recall",
    "after_write_ms": "right after a write",
    "add_ms": "durable add",
    "open_ms": "open and answer",
    "fill_ms": "fill, per memory",
}
_WIDTH, _HEIGHT, _LEFT, _NAMES = 640, 360, 60, 190
Point = tuple[float, float]
_COLOURS = ("#c0392b", "#7f8c8d", "#2980b9", "#8e44ad", "#27ae60", "#d35400", "#16a085")


def write(figures: Sequence[dict[str, Any]]) -> None:
    """Write both files."""
    TARGET.mkdir(parents=True, exist_ok=True)
    (TARGET / "recall-peers.md").write_text(table(figures), encoding="utf-8")
    (TARGET / "recall-peers.svg").write_text(plot(figures), encoding="utf-8")


def table(figures: Sequence[dict[str, Any]]) -> str:
    """The figures as Markdown, one table per size, truekeep's ratio beside every time."""
    lines = [
        "# Recall, side by side",
        "",
        "Written by `python -m benchmarks.recall_peers`. Milliseconds of CPU time, medians, embedding excluded,",
        f"imports excluded, one thread, Python {platform.python_version()} on {platform.machine()}. Compare within a",
        "column, and take single figures for accurate to about a third: the machine is shared.",
        *_noises(figures),
        "",
        "![Recall latency against size](recall-peers.svg)",
    ]
    for size in sorted({figure["size"] for figure in figures}):
        lines += ["", f"## {size:,} memories", "", _row(["", *COLUMNS.values(), "resident MB", "remarks"])]
        lines.append(_row(["---", *["---:"] * (len(COLUMNS) + 1), "---"]))
        here = [figure for figure in figures if figure["size"] == size]
        lines += [_line(figure) for figure in sorted(here, key=lambda one: one.get("recall_ms", math.inf))]
    return "\n".join(lines) + "\n"


def _noises(figures: Sequence[dict[str, Any]]) -> list[str]:
    """How busy the machine was, for every run that figures are from."""
    noises = sorted({figure["noise"] for figure in figures if "noise" in figure})
    return ["", *(f"Noise of a run: {noise}." for noise in noises)] if noises else []


def _line(figure: dict[str, Any]) -> str:
    name = f"{figure['name']} {figure['version']}"
    if "failed" in figure:
        return _row([name, *["-"] * (len(COLUMNS) + 1), f"not finished: {figure['failed']}"])
    return _row([name, *(f"{figure[key]:.2f}" for key in COLUMNS), f"{figure['resident_mb']:.0f}", figure["note"]])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def plot(figures: Sequence[dict[str, Any]]) -> str:
    """Size against recall latency, both on logarithmic scales, as SVG."""
    lines: dict[str, list[Point]] = defaultdict(list)
    for figure in figures:
        if "recall_ms" in figure:
            lines[figure["name"]].append((math.log10(figure["size"]), math.log10(max(figure["recall_ms"], 0.01))))
    frame = Frame.around([point for line in lines.values() for point in line] or [(3.0, 0.0)])
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif"'
    parts = [f'{head} font-size="12">', f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>']
    parts += _axes(frame, sorted({point[0] for line in lines.values() for point in line}))
    for number, (name, line) in enumerate(sorted(lines.items())):
        parts += _curve(frame, name, sorted(line), _COLOURS[number % len(_COLOURS)])
    return "\n".join([*parts, "</svg>", ""])


@dataclass(frozen=True)
class Frame:
    """The part of the plane that the plot shows."""

    left: float
    right: float
    low: int
    high: int

    @classmethod
    def around(cls, points: Sequence[Point]) -> Frame:
        sizes, times = [x for x, _ in points], [y for _, y in points]
        return cls(min(sizes), max(*sizes, min(sizes) + 0.1), math.floor(min(times)), math.ceil(max(times) + 0.01))

    def place(self, point: Point) -> Point:
        x = _LEFT + (point[0] - self.left) / (self.right - self.left) * (_WIDTH - _LEFT - _NAMES)
        y = _HEIGHT - 40 - (point[1] - self.low) / (self.high - self.low) * (_HEIGHT - 60)
        return round(x, 1), round(y, 1)


def _axes(frame: Frame, sizes: Sequence[float]) -> list[str]:
    parts = []
    for power in range(frame.low, frame.high + 1):
        _, y = frame.place((frame.left, power))
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _NAMES}" y1="{y}" y2="{y}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y}" text-anchor="end" dy="4">{10.0**power:g} ms</text>')
    for size in sizes:
        x, _ = frame.place((size, frame.low))
        parts.append(f'<text x="{x}" y="{_HEIGHT - 20}" text-anchor="middle">{10**size:,.0f}</text>')
    parts.append(f'<text x="{_LEFT}" y="{_HEIGHT - 4}">memories; CPU time of one recall, embedding excluded</text>')
    return parts


def _curve(frame: Frame, name: str, line: Sequence[Point], colour: str) -> list[str]:
    places = [frame.place(point) for point in line]
    path = " ".join(f"{x},{y}" for x, y in places)
    x, y = places[-1]
    return [
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>',
        *(f'<circle cx="{across}" cy="{down}" r="3" fill="{colour}"/>' for across, down in places),
        f'<text x="{x + 8}" y="{y}" dy="4" fill="{colour}">{name}</text>',
    ]
