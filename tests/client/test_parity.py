"""Parity: a served keep has the methods and parameters of an embedded one; what it has not, the guide explains."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import truekeep
from truekeep import client
from truekeep.act.boundary import Boundary
from truekeep.act.grants import Grants
from truekeep.audit.log import Audit
from truekeep.client import aio, blocking
from truekeep.client.wires import _EMBEDDED_ONLY
from truekeep.extract.library import PromptLibrary
from truekeep.extract.working_memory import WorkingSessions
from truekeep.handles import Handle, Session
from truekeep.review.decisions import Review
from truekeep.sessions.channels import Channels

PAIRS: list[tuple[type, type, type]] = [
    (truekeep.Keep, client.Keep, client.AsyncKeep),
    (Session, client.Session, client.AsyncSession),
    (Handle, client.Handle, client.AsyncHandle),
    (Review, blocking.ServedReview, aio.AsyncReview),
    (Audit, blocking.ServedAudit, aio.AsyncAudit),
    (Boundary, blocking.ServedActions, aio.AsyncActions),
    (Grants, blocking.ServedGrants, aio.AsyncGrants),
    (Channels, blocking.ServedChannels, aio.AsyncChannels),
    (WorkingSessions, blocking.ServedWorking, aio.AsyncWorking),
    (PromptLibrary, blocking.ServedPrompts, aio.AsyncPrompts),
]
MISSING: dict[type, set[str]] = {
    truekeep.Keep: {
        "blank_forgotten",
        "describe",
        "destroy",
        "open",
        "reindex",
        "remember_batches",
        "weigh",
        "browse",
        "move_in",
        "reach",
        "sources",
    },
    Audit: {"actors", "exported", "kinds", "page", "rejected_sources", "state", "writes_by_day"},
    Boundary: {
        "check",
        "declared",
        "evidence",
        "question",
        "redeem_together",
        "reply",
        "take_in",
        "together",
        "took_in",
        "tool",
        "weigh",
    },
    Grants: {"standing"},
    Channels: {"get", "is_shared", "mute", "unmute", "muted"},
    Review: {
        "groups",
        "noted",
        "approve_group",
        "facets",
        "count",
        "chain",
        "outlook",
        "decide",
        "undo",
        "known",
        "note_waits",
        "leave",
        "undo_group",
        "decision_times",
    },
    WorkingSessions: {"sweep"},
    PromptLibrary: {"require_approved"},
}
"""What is not served, each for a reason that the guide gives."""
LEFT_OUT: dict[tuple[type, str], set[str]] = {
    (truekeep.Keep, "observe"): {"is_dated", "by_agent"},
    (truekeep.Keep, "bind"): {"run"},
    (Session, "bind"): {"run"},
    (truekeep.Keep, "remember_many"): {"mark"},
    (truekeep.Keep, "trace"): {"most"},
    (truekeep.Keep, "get_memory"): {"reveal_via"},
    (Review, "approve"): {"text"},
}
"""Parameters that are the embedded keep's own."""
GUIDE = Path(__file__).parents[2] / "docs" / "client.md"


def public(kind: type) -> dict[str, Any]:
    found = {name: one for name, one in inspect.getmembers(kind) if not name.startswith("_")}
    return {name: one for name, one in found.items() if callable(one)}


def named(method: Any) -> set[str]:
    """The parameters that a caller can name; ``**fields`` takes any."""
    listed = list(inspect.signature(method).parameters.values())[1:]
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return {one.name for one in listed if one.kind not in kinds}


def takes_any(method: Any) -> bool:
    return any(one.kind is inspect.Parameter.VAR_KEYWORD for one in inspect.signature(method).parameters.values())


@pytest.mark.parametrize(("embedded", "served", "awaited"), PAIRS, ids=lambda kind: kind.__name__)
def test_a_served_keep_has_every_method_that_the_guide_does_not_except(
    embedded: type, served: type, awaited: type
) -> None:
    wanted = set(public(embedded)) - MISSING.get(embedded, set())
    assert len(wanted) > 1
    assert wanted - set(public(served)) == set()
    assert wanted - set(public(awaited)) == set()
    assert set(public(served)) & MISSING.get(embedded, set()) == set()


@pytest.mark.parametrize(("embedded", "served", "awaited"), PAIRS, ids=lambda kind: kind.__name__)
def test_every_parameter_is_taken_under_its_name(embedded: type, served: type, awaited: type) -> None:
    for name, method in public(embedded).items():
        if name in MISSING.get(embedded, set()) or not inspect.isfunction(method):
            continue
        for ours in (public(served)[name], public(awaited)[name]):
            missing = named(method) - named(ours) - LEFT_OUT.get((embedded, name), set())
            assert not missing or takes_any(ours), (name, missing)


def test_what_is_not_served_is_refused_by_name_and_explained_in_the_guide() -> None:
    guide = GUIDE.read_text()
    table = guide[guide.index("## What is not served") :]
    explained = set(re.findall(r"`([a-z_]+)`", table))
    assert explained >= _EMBEDDED_ONLY
    assert set().union(*MISSING.values(), *LEFT_OUT.values()) <= explained
