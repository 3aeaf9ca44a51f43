"""The page of ``truekeep top``: 80 columns, what a person has to act on before what is merely so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from truekeep.trust.fence import one_line

_MOST = 8
"""Lines of each list: all of the page fits a terminal of 40 lines."""
_WAITS = "waits for a person: truekeep why ID, or truekeep review show ID"
_STATES = {"clean": "green", "tainted": "yellow", "unmediated": "dim"}
_ALERTS: Mapping[str, tuple[str, str]] = {
    "tampered": ("is not what it was left as ({detail})", "truekeep doctor"),
    "unreadable": ("cannot be looked at ({detail})", "truekeep doctor"),
    "ticket_refused": ("{count} calls were not what had been judged", "truekeep audit events --kind ticket.refused"),
    "denied": ("{count} calls were denied within the hour", "truekeep why"),
    "rejected": ("{count} texts were refused within the hour", "truekeep why"),
    "revoked": ("{count} sources were revoked within the hour", "truekeep incidents"),
    "waits_long": ("{count} things have waited for more than a week", "truekeep review list"),
    "webhook_failing": ("the webhook {detail} failed {count} times in a row", "truekeep webhooks list"),
}
_BAD = frozenset({"tampered", "unreadable", "ticket_refused"})


def page(look: Mapping[str, Any]) -> RenderableType:
    """Everything, from what was looked at."""
    keeps: Sequence[Mapping[str, Any]] = look["keeps"]
    head = Text.assemble(("truekeep top", "bold"), f"  {look['at'][:19].replace('T', ' ')} UTC", style="")
    if service := look.get("service"):
        head.append("  service: " + ", ".join(f"{rate:g} {name}/s" for name, rate in service.items()), style="dim")
    parts: list[RenderableType] = [head, Text(), _keeps(keeps)]
    if look["left_out"]:
        parts.append(Text(f"{look['left_out']:,} more keeps are not looked at: name them with --keep.", style="dim"))
    if not keeps:
        parts.append(Text("There is no keep here yet. Make one: truekeep remember 'I prefer dark mode'", style="dim"))
    for title, lines in (("alerts", _alerts(keeps)), (_WAITS, _waits(look)), ("sessions", _sessions(look))):
        found = list(lines)
        if found:
            more = f"  ({len(found) - _MOST:,} more)" if len(found) > _MOST else ""
            parts += [Text(), Text.assemble((title, "bold"), (more, "dim"))]
            parts += [Padding(line, (0, 0, 0, 1)) for line in found[:_MOST]]
    return Group(*parts)


def _keeps(keeps: Sequence[Mapping[str, Any]]) -> Table:
    listing = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    listing.add_column("keep", overflow="ellipsis", no_wrap=True, max_width=16)
    listing.add_column("state", no_wrap=True)
    for name in ("clean", "taint", "allow", "ask", "deny", "held", "calls", "write/s", "shown/s"):
        listing.add_column(name, justify="right", no_wrap=True)
    for one in keeps:
        state = Text("ok", style="green") if one["ok"] else Text("NOT OK", style="bold red")
        row: list[str | Text] = [one_line(one["keep"]), state]
        if "sessions" not in one or not one["sessions"]:
            listing.add_row(*row, *["-"] * 9)
            continue
        sessions, calls, waiting, rates = one["sessions"], one["calls"], one["waiting"], one["rates"]
        held = sum(waiting.values()) - waiting["call"]
        row += [
            str(sessions["clean"]),
            Text(str(sessions["tainted"]), style="yellow" if sessions["tainted"] else ""),
            str(calls["allow"]),
            str(calls["confirm"]),
            Text(str(calls["deny"]), style="red" if calls["deny"] else ""),
            Text(f"{held:,}", style="bold yellow" if held else ""),
            Text(f"{waiting['call']:,}", style="bold yellow" if waiting["call"] else ""),
            f"{rates['writes']:g}",
            f"{rates['shown']:g}",
        ]
        listing.add_row(*row)
    return listing


def _alerts(keeps: Sequence[Mapping[str, Any]]) -> Iterator[Text]:
    found = [(one["keep"], alert) for one in keeps for alert in one["alerts"]]
    for keep, alert in sorted(found, key=lambda pair: pair[1]["code"] not in _BAD):
        words, command = _ALERTS.get(alert["code"], (alert["code"], "truekeep doctor"))
        said = words.format(count=f"{alert['count']:,}", detail=one_line(alert["detail"]))
        style = "bold red" if alert["code"] in _BAD else "yellow"
        yield Text.assemble((f"{one_line(keep)}: {said}", style), (f"  {command}", "dim"))


def _waits(look: Mapping[str, Any]) -> Iterator[Text]:
    """Ids stand whole, to be copied."""
    found = [(one["keep"], waits) for one in look["keeps"] for waits in one.get("waits", ())]
    for keep, waits in sorted(found, key=lambda pair: (pair[1]["what"] != "call", pair[1]["since"])):
        line = Text(overflow="ellipsis", no_wrap=True)
        line.append(f"{_short(waits['since'], look['at'])} ", style="dim")
        line.append(f"{one_line(waits['what'])[:8]:9}", style="bold" if waits["what"] == "call" else "")
        line.append(f"{one_line(waits['about'])[:12]:13}{one_line(waits['code'])[:15]:16}")
        line.append(one_line(waits["id"]), style="bold")
        line.append(f" {one_line(keep)}", style="dim")
        yield line
        if "text" in waits:
            yield Text(f"      {one_line(waits['text'])}", style="italic", overflow="ellipsis", no_wrap=True)


def _sessions(look: Mapping[str, Any]) -> Iterator[Text]:
    found = [(one["keep"], session) for one in look["keeps"] for session in one.get("latest", ())]
    for keep, session in sorted(found, key=lambda pair: str(pair[1]["last"]), reverse=True):
        line = Text(overflow="ellipsis", no_wrap=True)
        line.append(f"{_short(session['last'], look['at'])} ", style="dim")
        line.append(f"{one_line(session['state'])[:10]:11}", style=_STATES.get(session["state"], ""))
        line.append(f"{one_line(session['name'])[:20]:21}{session['entered']:,} in, {session['foreign']:,} foreign")
        asked = ", ".join(f"{count:,} {one_line(name)}" for name, count in session["calls"].items() if count)
        line.append(f"  {asked}" if asked else "")
        line.append(f"  {one_line(keep)}", style="dim")
        yield line


def _short(at: str, now: str) -> str:
    """The hour and minute of today, or else the month and day."""
    return one_line(at[11:16] if at[:10] == now[:10] else at[5:10])
