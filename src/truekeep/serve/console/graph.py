"""Where a text came from, as a drawing: boxes in columns and lines between them, for one inline SVG."""

from __future__ import annotations

from typing import NamedTuple

from truekeep.claims.lineage import AncestryNode, Chain

WIDTH, HEIGHT, GAP_X, GAP_Y = 168, 44, 44, 12
_LETTERS = 21


class GraphBox(NamedTuple):
    """A node in its place."""

    node: AncestryNode
    x: int
    y: int
    label: str


class GraphLine(NamedTuple):
    """An edge from the right side of one box to the left side of another."""

    path: str


class Picture(NamedTuple):
    """The whole drawing."""

    width: int
    height: int
    boxes: list[GraphBox]
    lines: list[GraphLine]


def drawn(chain: Chain) -> Picture:
    """Put every node of a chain in its place."""
    tallest = max((len(column) for column in chain.columns), default=1)
    height = tallest * (HEIGHT + GAP_Y) - GAP_Y
    boxes: dict[str, GraphBox] = {}
    for across, column in enumerate(chain.columns):
        free = (height - (len(column) * (HEIGHT + GAP_Y) - GAP_Y)) // 2
        for down, node in enumerate(column):
            place = across * (WIDTH + GAP_X), free + down * (HEIGHT + GAP_Y)
            boxes[node.key] = GraphBox(node, *place, _short(node.name))
    lines = [_line(boxes[a], boxes[b]) for a, b in chain.edges if a in boxes and b in boxes]
    return Picture(len(chain.columns) * (WIDTH + GAP_X) - GAP_X, height, list(boxes.values()), lines)


def _line(start: GraphBox, end: GraphBox) -> GraphLine:
    x, y = start.x + WIDTH, start.y + HEIGHT // 2
    to_x, to_y = end.x - 5, end.y + HEIGHT // 2
    middle = (x + to_x) // 2
    return GraphLine(f"M{x} {y}C{middle} {y} {middle} {to_y} {to_x} {to_y}")


def _short(name: str) -> str:
    return name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"
