"""The act boundary: where did each argument of a tool call come from, and may the call go ahead. Pure."""

from truekeep.action.arguments import canonical_call
from truekeep.action.consequence import is_consequential
from truekeep.action.index import ValueIndex
from truekeep.action.judge import judge
from truekeep.action.kept import Kept, KeptIndex, Postings, fingerprint
from truekeep.action.model import ActionJudgement, Answer, Evidence, MemoryTrust, Provenance, Traced
from truekeep.action.settings import ActionSettings, ActionsSettings, Allowed, Grant

__all__ = [
    "ActionJudgement",
    "ActionSettings",
    "ActionsSettings",
    "Allowed",
    "Answer",
    "Evidence",
    "Grant",
    "Kept",
    "KeptIndex",
    "MemoryTrust",
    "Postings",
    "Provenance",
    "Traced",
    "ValueIndex",
    "canonical_call",
    "fingerprint",
    "is_consequential",
    "judge",
]
