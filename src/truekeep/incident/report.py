"""A report that a responder can send: the same facts as JSON, as text and as one HTML page without scripts."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from truekeep.trust.fence import one_line

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>body{{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#1b1b1f}}
table{{border-collapse:collapse;width:100%;margin:.5em 0 1.5em}}
th,td{{text-align:left;padding:.3em .6em;border-bottom:1px solid #d7d7de;vertical-align:top;overflow-wrap:anywhere}}
th{{background:#f3f3f6}}dt{{font-weight:600}}dd{{margin:0 0 .4em 0}}p.none{{color:#66666f}}</style></head>
<body><h1>{title}</h1><dl>{facts}</dl>{sections}</body></html>
"""


@dataclass(frozen=True, slots=True)
class ReportSection:
    """One table of a report."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class IncidentReport:
    """What an incident command found or did. ``data`` is for programs; text and HTML say the same to people."""

    title: str
    facts: Mapping[str, str]
    sections: Sequence[ReportSection] = ()
    data: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.data[name]

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON members."""
        return dict(self.data)

    def text(self) -> str:
        """The report for a terminal or a mail."""
        lines = [self.title, "=" * len(self.title), ""]
        lines += [f"{name}: {one_line(value)}" for name, value in self.facts.items()]
        for section in self.sections:
            lines += ["", section.title, "-" * len(section.title)]
            lines += ["  " + " | ".join(one_line(cell) for cell in row) for row in section.rows] or ["  none"]
        return "\n".join(lines) + "\n"

    def html(self) -> str:
        """The report as one page; whatever a memory says in it is text, never markup."""
        facts = "".join(f"<dt>{_safe(name)}</dt><dd>{_safe(value)}</dd>" for name, value in self.facts.items())
        return _PAGE.format(title=_safe(self.title), facts=facts, sections="".join(map(_table, self.sections)))


def _table(section: ReportSection) -> str:
    if not section.rows:
        return f"<h2>{_safe(section.title)}</h2><p class='none'>none</p>"
    head = "".join(f"<th scope='col'>{_safe(column)}</th>" for column in section.columns)
    body = "".join("<tr>" + "".join(f"<td>{_safe(cell)}</td>" for cell in row) + "</tr>" for row in section.rows)
    return f"<h2>{_safe(section.title)}</h2><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _safe(text: str) -> str:
    return html.escape(one_line(text), quote=True)
