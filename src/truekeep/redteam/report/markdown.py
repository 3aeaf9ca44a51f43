"""The report as Markdown for the docs, with its plots as files beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from truekeep.redteam.report.document import Document, Section, Table


def write(document: Document, folder: Path, name: str) -> None:
    """Write the page under this name and the plots into the folder."""
    for section in document.sections:
        for plot in section.plots:
            (folder / f"{plot.name}.svg").write_text(plot.svg + "\n", encoding="utf-8")
    (folder / name).write_text(page(document), encoding="utf-8")


def page(document: Document) -> str:
    """The page."""
    facts = [f"- {key}: {value}" for key, value in document.facts]
    lines = [f"# {document.title}", "", *facts]
    for section in document.sections:
        lines += ["", f"## {section.title}", *_body(section)]
    return "\n".join(lines) + "\n"


def _body(section: Section) -> list[str]:
    lines: list[str] = []
    for paragraph in section.text:
        lines += ["", paragraph]
    for plot in section.plots:
        lines += ["", f"![{plot.words}]({plot.name}.svg)"]
    for table in section.tables:
        lines += ["", *_table(table)]
    return lines


def _table(table: Table) -> list[str]:
    caption = [f"**{table.caption}**", ""] if table.caption else []
    rule = ["---", *["---:"] * (len(table.headings) - 1)]
    return [*caption, *(_row(cells) for cells in (table.headings, rule, *table.rows))]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
