"""Structured logs: one JSON object a line on standard error, without bodies, queries, secrets or memories."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

LOGGER = "truekeep.serve"
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


class JsonLines(logging.Formatter):
    """A record and its extra members as one line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line. Of an exception it tells the type alone: messages and frames may hold what was sent."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"at": at, "level": record.levelname.lower(), "logger": record.name}
        line["event"] = record.getMessage()
        line |= {name: value for name, value in vars(record).items() if name not in _OWN}
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
