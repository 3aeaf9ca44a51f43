"""Custody: what an administrator does to a keep as a whole: merge what says the same, export, erase for good."""

from __future__ import annotations

from typing import Any

from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from truekeep.config import PAGE_CAP
from truekeep.serve.rest.incidents import ReportOut, reported
from truekeep.serve.rest.long_term import own_id
from truekeep.serve.rest.models import Body, Name, Reason
from truekeep.serve.rest.routes import resource
from truekeep.serve.service import Caller

router = resource("/v1", "custody")


class ConsolidateBody(Body):
    """Merge what says the same. Without ``dry_run: false`` nothing is done."""

    dry_run: bool = True
    reason: Reason


class Erase(Body):
    """Memories, or everything that names a subject, to erase for good. Without ``dry_run: false`` nothing is done."""

    ids: list[Name] = Field(default_factory=list, max_length=PAGE_CAP)
    subject: str | None = Field(default=None, max_length=500)
    dry_run: bool = True
    reason: Reason


class ReceiptOut(BaseModel):
    """What was erased, or would be. Signed by the keep; it names the subject only by a keyed hash."""

    truekeep: str
    version: int
    keep: str
    at: str
    by: str
    subject: str
    removed: dict[str, int]
    redacted: dict[str, int]
    memories: list[str]
    derived: list[str]
    event: int | None
    scrubbed: bool
    files: list[str]
    left: list[str]
    public_key: str
    signature: str


class Export(BaseModel):
    """All memories as lines of JSON, the first and the last of which carry what they are verified by."""

    lines: list[str]


@router.post("/consolidate", response_model=ReportOut)
def consolidate(body: ConsolidateBody, call: Caller) -> Response:
    """Merge memories that say the same, with who acts checked each time; first a dry run. Undo takes it back."""

    def do() -> Response:
        with call.lease() as lease:
            return reported(lease.keep.consolidate(dry_run=body.dry_run, by=call.reviewer, reason=body.reason))

    return call.once(do)


@router.get("/export", response_model=Export)
def export(call: Caller) -> Response:
    """All memories as signed lines, screened and sanitised like any other answer. Takes ``admin`` and ``read``."""
    with call.lease() as lease:
        return JSONResponse({"lines": lease.keep.export()})


@router.post("/erase", response_model=ReceiptOut)
def erase(body: Erase, call: Caller) -> Response:
    """Erase for good; first a dry run. Takes ``admin`` and ``delete``, and a channel that may delete."""

    def do() -> Response:
        with call.lease(noted=True) as lease:
            ids = [own_id(lease, call, one) for one in body.ids]
            given: dict[str, Any] = {"subject": body.subject, "dry_run": body.dry_run, "reason": body.reason}
            return JSONResponse(lease.keep.erase(ids, by=call.reviewer, **given).as_dict())

    return call.once(do, is_receipt=True)
