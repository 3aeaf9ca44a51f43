"""Upkeep of long-term memory: forgetting by age, and merging what says the same."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Query
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from truekeep.config import PAGE_CAP
from truekeep.errors import InvalidRequest
from truekeep.serve.rest.filters import FilterLimits, OneOf, narrowed
from truekeep.serve.rest.listed import accesses, within
from truekeep.serve.rest.models import Ack, Body, MaybeName, MemoryType, Name, Switch
from truekeep.serve.rest.routes import resource
from truekeep.serve.service import Caller, ServiceCall
from truekeep.types import utc_moment

if TYPE_CHECKING:
    from truekeep.serve.pool import Lease

router = resource("/v1/long-term-memory", "long-term memory")


class PolicyBody(Body):
    """What is to be forgotten: what is too old, what was not shown for too long, and what is over the budget."""

    max_age_days: Annotated[float, Field(gt=0, le=36_500)] | None = None
    max_inactive_days: Annotated[float, Field(gt=0, le=36_500)] | None = None
    budget: Annotated[int, Field(ge=0, le=1 << 40)] | None = None
    memory_type_allowlist: list[MemoryType] | None = None


class ForgetByAge(Body):
    """A forgetting pass; what is pinned stays."""

    policy: PolicyBody
    pinned_ids: list[Name] = Field(default_factory=list, max_length=PAGE_CAP)


class ForgettingPass(BaseModel):
    """What a forgetting pass did, or would do."""

    scanned: int
    deleted: int
    deleted_ids: list[str]
    dry_run: bool


@router.post("/forget", response_model=ForgettingPass)
def forget(
    body: ForgetByAge,
    call: Caller,
    dry_run: Switch = False,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1_000,
    namespace: MaybeName = None,
    user_id: MaybeName = None,
    session_id: MaybeName = None,
) -> Response:
    """Forget what the policy says; with ``dry_run`` only say what that would be. Only who may delete forgets."""
    if not any((body.policy.max_age_days, body.policy.max_inactive_days, body.policy.budget is not None)):
        raise InvalidRequest("The policy forgets nothing.", code="empty_policy", hint="Set an age or a budget.")
    limits = narrowed(FilterLimits(), namespace=namespace, user_id=user_id, session_id=session_id)
    if body.policy.memory_type_allowlist is not None:
        limits = limits.model_copy(update={"memory_type": OneOf(in_=list(body.policy.memory_type_allowlist))})
    return call.once(lambda: _forget(body, call, limits, limit, dry_run=dry_run))


def _forget(body: ForgetByAge, call: ServiceCall, limits: FilterLimits, limit: int, *, dry_run: bool) -> Response:
    with call.lease() as lease:
        scanned = within(lease, limits)[:limit]
        chosen = [one for one in _chosen(lease, scanned, body.policy) if one["id"] not in body.pinned_ids]
        chosen = [one for one in chosen if one["metadata"].get("client_id") not in body.pinned_ids]
        ids = [one["id"] for one in chosen]
        done = ids if dry_run else [one for one in ids if lease.handle.delete_memory(one).accepted]
    return JSONResponse({"scanned": len(scanned), "deleted": len(done), "deleted_ids": done, "dry_run": dry_run})


def _chosen(lease: Lease, listed: list[dict[str, Any]], policy: PolicyBody) -> list[dict[str, Any]]:
    now, accessed = datetime.now(UTC), accesses(lease)

    def is_over(one: dict[str, Any]) -> bool:
        made = utc_moment(one["created_at"])
        if policy.max_age_days is not None and made < now - timedelta(days=policy.max_age_days):
            return True
        if policy.max_inactive_days is None:
            return False
        return (accessed(one["id"]) or made) < now - timedelta(days=policy.max_inactive_days)

    over = [one for one in listed if is_over(one)]
    if policy.budget is None:
        return over
    kept = [one for one in listed if one not in over]
    return over + kept[: max(0, len(kept) - policy.budget)]  # the oldest go first


@router.post("/compact", response_model=Ack)
def compact(
    call: Caller,
    namespace: MaybeName = None,
    user_id: MaybeName = None,
) -> Response:
    """Merge what says the same. Nobody acts by it who did not. Only who may delete does it."""
    del namespace, user_id  # it never crosses from one to another anyway: a keep is one owner's

    def do() -> Response:
        with call.lease() as lease:
            lease.keep.consolidate(by=call.reviewer, reason="compact")
        return JSONResponse({"status": "ok"})

    return call.once(do)
