"""Charts: numbers become the places of bars, boxes and lines; templates draw them as inline SVG. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from truekeep.trust.fence import one_line

KINDS = ("accepted", "held", "rejected")
"""The parts of a bar, from the bottom up."""
_PLOT_TOP, _PLOT_HEIGHT, _PLOT_LEFT, _PLOT_RIGHT = 10, 170, 36, 12
_BOX_WIDTH, _BOX_HEIGHT, _ACROSS, _DOWN = 196, 40, 240, 52
_LABEL_CAP, _DETAIL_CAP = 23, 29
_MULTIPLE = (300, 70)


@dataclass(frozen=True, slots=True)
class ChartPart:
    """One coloured stretch of a bar."""

    kind: str
    y: float
    height: float
    count: int


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar with its label and its parts; ``key`` is for the template's link."""

    x: float
    width: float
    label: str
    key: str
    parts: tuple[ChartPart, ...]
    total: int
    is_labelled: bool


@dataclass(frozen=True, slots=True)
class Bars:
    """A chart of stacked bars."""

    width: int
    height: int
    floor: float
    bars: tuple[Bar, ...]
    lines: tuple[tuple[float, int], ...]
    """Where the lines across are, and the number at each."""

    @property
    def top(self) -> float:
        """Where the plot begins."""
        return _PLOT_TOP


def stacked(rows: Sequence[tuple[str, str, Sequence[int]]], *, width: int = 1_080, every: int = 1) -> Bars:
    """Bars of a label, a key and the counts of their parts; every so many-th bar has its label below."""
    most = max([1, *(sum(counts) for _, _, counts in rows)])
    step = _rounded(most)
    ceiling = step * -(-most // step)
    slot = (width - _PLOT_LEFT - _PLOT_RIGHT) / max(1, len(rows))
    floor = float(_PLOT_TOP + _PLOT_HEIGHT)
    bars = [
        Bar(
            x=round(_PLOT_LEFT + number * slot + slot * 0.14, 1),
            width=round(slot * 0.72, 1),
            label=label,
            key=key,
            parts=_parts(counts, ceiling, floor),
            total=sum(counts),
            is_labelled=(len(rows) - 1 - number) % every == 0,
        )
        for number, (label, key, counts) in enumerate(rows)
    ]
    lines = tuple((_y(value, ceiling, floor), value) for value in range(0, ceiling + 1, step))
    return Bars(width, int(floor) + 26, floor, tuple(bars), lines)


def _parts(counts: Sequence[int], ceiling: int, floor: float) -> tuple[ChartPart, ...]:
    found, below = [], 0
    for kind, count in zip(KINDS, counts, strict=False):
        if count:
            top, bottom = _y(below + count, ceiling, floor), _y(below, ceiling, floor)
            found.append(ChartPart(kind, top, round(bottom - top, 1), count))
            below += count
    return tuple(found)


def _y(value: int, ceiling: int, floor: float) -> float:
    return round(floor - value / ceiling * _PLOT_HEIGHT, 1)


def _rounded(most: int) -> int:
    """A step of 1, 2 or 5 times a power of ten, so that there are four lines or so."""
    size = 1
    while True:
        for step in (size, 2 * size, 5 * size):
            if most <= 5 * step:
                return step
        size *= 10


@dataclass(frozen=True, slots=True)
class Multiple:
    """One small chart of a row of them: a line through the days on which there was something to count."""

    name: str
    runs: tuple[str, ...]
    """The points of each stretch of days without a gap, for a ``polyline``."""
    dots: tuple[tuple[float, float], ...]
    """Days that stand alone."""
    most: float
    rows: tuple[tuple[str, float | None], ...]
    """Every day with its value, for the table."""

    @property
    def width(self) -> int:
        """How wide it is."""
        return _MULTIPLE[0]

    @property
    def height(self) -> int:
        """How high it is."""
        return _MULTIPLE[1]


def multiple(name: str, rows: Sequence[tuple[str, float | None]], least_top: float = 0.0) -> Multiple:
    """A small chart of one value a day; on a day with nothing there is no value, which is not zero."""
    width, height = _MULTIPLE
    most = max([least_top, *(value for _, value in rows if value is not None)]) or 1.0
    across = (width - 8) / max(1, len(rows) - 1)
    stretches: list[list[tuple[float, float]]] = [[]]
    for number, (_, value) in enumerate(rows):
        if value is None:
            stretches.append([])
        else:
            stretches[-1].append((round(4 + number * across, 1), round(height - 4 - value / most * (height - 8), 1)))
    runs = tuple(" ".join(f"{x},{y}" for x, y in points) for points in stretches if len(points) > 1)
    return Multiple(name, runs, tuple(points[0] for points in stretches if len(points) == 1), most, tuple(rows))


@dataclass(frozen=True, slots=True)
class Box:
    """A node of a graph."""

    x: int
    y: int
    kind: str
    label: str
    detail: str
    href: str = ""

    @property
    def width(self) -> int:
        """How wide it is."""
        return _BOX_WIDTH

    @property
    def height(self) -> int:
        """How high it is."""
        return _BOX_HEIGHT


@dataclass(frozen=True, slots=True)
class Graph:
    """Boxes in columns, and the lines between them as paths."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChartNode:
    """What is to be drawn: its name, what is written on it, and where it leads."""

    name: str
    kind: str
    label: str
    detail: str = ""
    href: str = ""


def graph(columns: Sequence[Sequence[ChartNode]], edges: Iterable[tuple[str, str]]) -> Graph:
    """Nodes in columns from left to right, each column in the middle; lines go between those that are drawn."""
    filled = [column for column in columns if column]
    tallest = max([1, *(len(column) for column in filled)])
    placed: dict[str, Box] = {}
    for across, column in enumerate(filled):
        top = 6 + (tallest - len(column)) * _DOWN // 2
        for down, node in enumerate(column):
            x, y = 4 + across * _ACROSS, top + down * _DOWN
            placed[node.name] = Box(
                x, y, node.kind, shortened(node.label), shortened(node.detail, _DETAIL_CAP), node.href
            )
    drawn = dict.fromkeys((a, b) for a, b in edges if a in placed and b in placed and placed[a].x < placed[b].x)
    width = 8 + (len(filled) - 1) * _ACROSS + _BOX_WIDTH if filled else 0
    return Graph(
        width, 12 + tallest * _DOWN, tuple(placed.values()), tuple(_path(placed[a], placed[b]) for a, b in drawn)
    )


def _path(a: Box, b: Box) -> str:
    x, y, to_x, to_y = a.x + _BOX_WIDTH, a.y + _BOX_HEIGHT // 2, b.x, b.y + _BOX_HEIGHT // 2
    half = (to_x - x) // 2
    return f"M{x} {y}C{x + half} {y} {to_x - half} {to_y} {to_x} {to_y}"


def shortened(text: str, cap: int = _LABEL_CAP) -> str:
    """A stored text as a label: on one line, nothing invisible in it, and cut."""
    plain = one_line(text).replace("&lt;", "<")
    return plain if len(plain) <= cap else plain[: cap - 1].rstrip() + "…"


def ages(seconds: Iterable[float], limits: Sequence[float]) -> list[int]:
    """How many are younger than each limit and not than the one before; the last is for the rest."""
    counts = [0] * (len(limits) + 1)
    for age in seconds:
        counts[next((place for place, limit in enumerate(limits) if age < limit), len(limits))] += 1
    return counts


def reach_graph(reach: Mapping[str, Any], source: str, hrefs: Mapping[str, str], most: int) -> Graph:
    """What a source reached: it, its memories, what was derived from them, the sessions and the actions."""
    roots = [one for one in reach["memories"] if one["as"] == "root"][:most]
    derived = [one for one in reach["memories"] if one["as"] == "derived"][:most]
    sessions, actions = reach["sessions"][:most], reach["actions"][:most]

    def memory(one: Mapping[str, Any]) -> ChartNode:
        kind = "blocked" if one["blocked"] else "acts" if one["may_act"] else one["standing"]
        label = ", ".join(one["block_reason"]) if one["blocked"] else one["content"]
        return ChartNode(one["id"], kind, label, one["from"], hrefs.get(one["id"], ""))

    columns = [
        [ChartNode("source", "source", source)],
        [memory(one) for one in roots],
        [memory(one) for one in derived],
        [ChartNode(f"s {one['session']}", "session", one["session"]) for one in sessions],
        [ChartNode(one["ticket"], f"action {one['state']}", one["action"], one["run"]) for one in actions],
    ]
    shown = {one["id"] for one in (*roots, *derived)}
    edges = [("source", one["id"]) for one in roots]
    edges += [(parent, one["id"]) for one in derived for parent in one["parents"]]
    edges += [("source", one["id"]) for one in derived if not shown.intersection(one["parents"])]
    edges += [(name, one["ticket"]) for one in actions for name in one["memories"]]
    edges += [(f"s {one['session']}", one["ticket"]) for one in actions]
    edges += [(name, f"s {one['session']}") for one in sessions for name in one["shown"]]
    return graph(columns, edges)
