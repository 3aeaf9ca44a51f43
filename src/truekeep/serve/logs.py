"""Structured logs: one JSON object a line on standard error, without bodies, queries, secrets or memories.

Every line has an ``event``, whose names are stable: programs that read logs go by them. ``EVENTS`` has all of them, and
nothing is logged under a name that is not there. What libraries below say is an event of theirs, with their words in
``said``.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

LOGGER = "truekeep.serve"
INFO, WARNING, ERROR = logging.INFO, logging.WARNING, logging.ERROR
EVENTS = {
    "request": "A request was answered.",
    "chore.failed": "Background work on a keep failed; it is tried again in a later round.",
    "chore.not_locked": "Nobody can do the background work: its lock cannot be had.",
    "webhook.failed": "A webhook's receiver did not take a message; it is tried again.",
    "webhook.given_up": "A message that a webhook's receiver did not take is not tried any more.",
    "rules.failed": "The rules cannot be loaded; the service stays not ready.",
    "issuer.failed": "The keys of the issuer of tokens cannot be had; those that are known go on to count.",
    "mcp.not_asked": "A client of MCP could not ask its person.",
    "mcp.failed": "A tool of MCP failed.",
    "drain.began": "The process was told to stop: it says that it is not ready, and goes on answering for a while.",
    "server": "The server below says something, in `said`.",
    "library": "A part of the library says something, in `said`.",
}
"""Every event by its name. A name, once released, keeps its meaning."""
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}

TRACE: ContextVar[Callable[[], dict[str, str]]] = ContextVar("trace", default=dict)
"""Gives what a line says of the trace that it is part of; nothing, unless tracing is set up."""


def log_event(event: str, level: int = logging.INFO, **members: object) -> None:
    """Log an event, with members that hold nothing anybody said; an error with what is being handled, if anything."""
    if event not in EVENTS:
        raise ValueError("That is no event of the log.")
    has_failed = level >= logging.ERROR and sys.exc_info()[0] is not None
    logging.getLogger(LOGGER).log(level, event, extra=members, exc_info=has_failed)


class JsonLines(logging.Formatter):
    """A record and its extra members as one line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line. Of an exception it tells the type alone: messages and frames may hold what was sent."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"at": at, "level": record.levelname.lower(), "logger": record.name}
        is_ours = record.name == LOGGER and record.msg in EVENTS
        line["event"] = record.msg if is_ours else "library" if record.name.startswith("truekeep") else "server"
        if not is_ours:
            line["said"] = record.getMessage()
        extra = {name: value for name, value in vars(record).items() if name not in _OWN}
        line |= {name if name not in line else f"{name}_": value for name, value in extra.items()}
        line |= TRACE.get()()
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
        return json.dumps(line, default=str, ensure_ascii=True)


def configure(level: int = logging.INFO) -> None:
    """Send what the service and the server under it log to standard error, a JSON object a line."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in (LOGGER, "truekeep", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [handler] if name in ("truekeep", "uvicorn") else []
        logger.setLevel(level)
        logger.propagate = name not in ("truekeep", "uvicorn")
    logging.getLogger("uvicorn.access").disabled = True
