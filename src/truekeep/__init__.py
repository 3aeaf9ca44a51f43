"""Long-term memory for AI agents that cannot be poisoned into acting.

The public names are listed in ``__all__`` and loaded when first used; everything else may change.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
logging.getLogger("truekeep").addHandler(logging.NullHandler())  # a library says nothing unless its host listens

if TYPE_CHECKING:
    from truekeep.act.boundary import ActionAnswer, Ticket
    from truekeep.adapters.aio import AsyncKeep
    from truekeep.config import Settings
    from truekeep.errors import (
        ActionRefused,
        ConfirmationNeeded,
        PromptSecurityError,
        StoreTampered,
        TicketRefused,
        TruekeepError,
    )
    from truekeep.extract.prompt_safety import secure_format_prompt, validate_custom_prompt
    from truekeep.guarding import guard
    from truekeep.handles import Handle, Session
    from truekeep.keep import Keep
    from truekeep.read.recall import Filters, Recall
    from truekeep.scan import first_threat_message, scan_content, screen_candidate
    from truekeep.trust.flow.decide import Answer
    from truekeep.trust.flow.tools import Tool
    from truekeep.types import Decision, Finding, Memory, Recalled, Snapshot, Standing, Verdict

_HOMES = {
    "ActionAnswer": "act.boundary",
    "Answer": "trust.flow.decide",
    "ActionRefused": "errors",
    "AsyncKeep": "adapters.aio",
    "ConfirmationNeeded": "errors",
    "Decision": "types",
    "Filters": "read.recall",
    "Finding": "types",
    "Handle": "handles",
    "Keep": "keep",
    "Memory": "types",
    "PromptSecurityError": "errors",
    "Recall": "read.recall",
    "Recalled": "types",
    "Session": "handles",
    "Settings": "config",
    "Snapshot": "types",
    "Standing": "types",
    "StoreTampered": "errors",
    "Ticket": "act.boundary",
    "Tool": "trust.flow.tools",
    "TicketRefused": "errors",
    "TruekeepError": "errors",
    "Verdict": "types",
    "first_threat_message": "scan",
    "guard": "guarding",
    "scan_content": "scan",
    "screen_candidate": "scan",
    "secure_format_prompt": "extract.prompt_safety",
    "validate_custom_prompt": "extract.prompt_safety",
}

__all__ = [
    "ActionAnswer",
    "ActionRefused",
    "Answer",
    "AsyncKeep",
    "ConfirmationNeeded",
    "Decision",
    "Filters",
    "Finding",
    "Handle",
    "Keep",
    "Memory",
    "PromptSecurityError",
    "Recall",
    "Recalled",
    "Session",
    "Settings",
    "Snapshot",
    "Standing",
    "StoreTampered",
    "Ticket",
    "TicketRefused",
    "Tool",
    "TruekeepError",
    "Verdict",
    "__version__",
    "first_threat_message",
    "guard",
    "scan_content",
    "screen_candidate",
    "secure_format_prompt",
    "validate_custom_prompt",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'truekeep' has no attribute {name!r}")
    value = getattr(import_module(f"truekeep.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
