"""The report as one page that needs nothing else: no script, no outside request, light and dark, printable."""

from __future__ import annotations

from html import escape
from importlib.resources import files

from truekeep.redteam.report.document import Document, Section, Table

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title><style>{style}</style></head><body><h1>{title}</h1><dl>{facts}</dl>
{sections}</body></html>
"""


def page(document: Document) -> str:
    """The whole page."""
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in document.facts)
    sections = "\n".join(map(_section, document.sections))
    style = files("truekeep").joinpath("data", "redteam", "report.css").read_text(encoding="utf-8")
    return _PAGE.format(title=escape(document.title), style=style, facts=facts, sections=sections)


def _section(section: Section) -> str:
    texts = "".join(f"<p>{_text(paragraph)}</p>" for paragraph in section.text)
    plots = "".join(
        f"<figure>{plot.svg}<figcaption>{escape(plot.words)}</figcaption></figure>" for plot in section.plots
    )
    return f"<h2>{escape(section.title)}</h2>{texts}{plots}{''.join(map(_table, section.tables))}"


def _table(table: Table) -> str:
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in table.headings)
    marks = [*table.marks, *[""] * (len(table.rows) - len(table.marks))]
    body = "".join(
        f'<tr class="{escape(mark)}">{"".join(f"<td>{_text(cell)}</td>" for cell in row)}</tr>'
        for row, mark in zip(table.rows, marks, strict=True)
    )
    kind = ' class="figures"' if table.is_figures else ""
    return f'<div class="wide"><table{kind}>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _text(text: str) -> str:
    """Escaped; what stands between backticks is set as code."""
    pieces = escape(text).split("`")
    return "".join(f"<code>{piece}</code>" if place % 2 else piece for place, piece in enumerate(pieces))
