"""Logs what extraction refused, as an event with fields, and counts it; never a payload or a secret."""

from __future__ import annotations

import logging
from collections import Counter
from threading import Lock

PROMPT_REFUSED = "Custom prompt security validation failed"
TEMPLATE_REFUSED = "Template formatting security error"
MEMORY_FILTERED = "Filtered potentially unsafe memory"
MODEL_FAILED = "Extraction model call failed"
EXTRACTION_FAILED = "Extraction failed"

_LEVELS = {MEMORY_FILTERED: logging.WARNING, MODEL_FAILED: logging.WARNING, EXTRACTION_FAILED: logging.WARNING}

# A library is silent until its host configures logging.
_log = logging.getLogger("truekeep.extract")
_counts: Counter[tuple[str, str]] = Counter()
_lock = Lock()


def emit(event: str, *, code: str, **fields: int | str) -> None:
    """Log ``event`` with its fields and add one to its counter. Fields are ids, codes and sizes only."""
    with _lock:
        _counts[event, code] += 1
    shown = {"code": code, **fields}
    line = " ".join(f"{name}={value}" for name, value in shown.items())
    _log.log(_LEVELS.get(event, logging.ERROR), "%s %s", event, line, extra={"event": event, "fields": shown})


def counters() -> dict[str, dict[str, int]]:
    """How often each event happened in this process, by code."""
    with _lock:
        snapshot = dict(_counts)
    result: dict[str, dict[str, int]] = {}
    for (event, code), count in snapshot.items():
        result.setdefault(event, {})[code] = count
    return result
