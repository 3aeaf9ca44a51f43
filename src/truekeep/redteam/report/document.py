"""A report as parts that any medium can show: sections of text, tables and plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


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
