"""Tools: what is declared about each, by whom, how often it was called, and how its calls were answered."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.responses import Response

from truekeep.serve.console.desk import Seated
from truekeep.serve.console.operate import places
from truekeep.sessions.tools import as_table, declared_tools
from truekeep.trust.flow.tools import Tool, tool_for

if TYPE_CHECKING:
    from truekeep.keep import Keep

router = APIRouter()
_MOST = 200
"""Tools on one page; whoever has more looks for one by its name in the settings."""
_SESSIONS = 20
"""Sessions whose hosts' declarations are looked at, the latest: hosts declare the same tools again and again."""


@dataclass(slots=True)
class ToolLine:
    """One tool of the list."""

    tool: Tool
    declared_by: str
    answers: Counter[str] = field(default_factory=Counter)
    """How its calls were answered."""

    @property
    def said(self) -> dict[str, object]:
        """What the declaration says beside the name."""
        table = as_table(self.tool)
        return {name: value for name, value in table.items() if name not in ("name", "schema", "description")}


@router.get("/k/{keep}/tools")
def tools(desk: Seated) -> Response:
    """Every tool that the settings or a host declared, or that was called without."""
    with desk.open() as keep:
        listed = _listed(keep)
    return desk.page("tools.html", here="operate", place="tools", places=places(desk), tools=listed)


def _listed(keep: Keep) -> list[ToolLine]:
    operator = declared_tools(keep.settings.tools)
    lines = {name: ToolLine(tool, "operator") for name, tool in operator.items()}
    for session in keep.calls.sessions(_SESSIONS):
        for name, tool in session.state.tools.items():
            lines.setdefault(name, ToolLine(tool, "host"))
    for record in keep.actions.tickets.all():
        if record.action not in lines:
            known = tool_for(record.action, operator)
            lines[record.action] = ToolLine(known, "nobody" if known.name == record.action else "operator")
        lines[record.action].answers[record.decision] += 1
    return sorted(lines.values(), key=lambda one: (-sum(one.answers.values()), one.tool.name))[:_MOST]
