"""Agent Threat Rules: load them, match them in linear time, test and lint them."""

from __future__ import annotations

from truekeep.rules.engine import Engine, Match, Scan, ScanLimits
from truekeep.rules.events import Event
from truekeep.rules.loader import builtin, load
from truekeep.rules.model import Case, Condition, Fault, Loaded, Rule
from truekeep.rules.registry import active

__all__ = [
    "Case",
    "Condition",
    "Engine",
    "Event",
    "Fault",
    "Loaded",
    "Match",
    "Rule",
    "Scan",
    "ScanLimits",
    "active",
    "builtin",
    "load",
]
