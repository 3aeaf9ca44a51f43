"""Scanning: what the screens see in a text, without keeping it."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel

from truekeep.policy import blocked_sentence
from truekeep.scan import threats
from truekeep.serve.rest.models import Body, Finding
from truekeep.serve.rest.openapi import refusals
from truekeep.serve.service import Caller

router = APIRouter(tags=["scan"], responses=refusals())


class Scan(Body):
    """A text to look at."""

    text: str
    scope: Literal["strict", "relaxed"] = "strict"


class Scanned(BaseModel):
    """What was found."""

    clean: bool
    threats: list[str]
    message: str
    findings: list[Finding]


@router.post("/v1/scan", response_model=Scanned)
def scan(body: Scan, call: Caller) -> Response:
    """The threats in a text, worst first. Nothing is kept."""
    del call  # whoever has a token may ask
    found = threats(body.text, body.scope)
    return JSONResponse(
        {
            "clean": not found,
            "threats": list(dict.fromkeys(finding.rule_id for finding in found)),
            "message": blocked_sentence(found[0]) if found else "",
            "findings": [finding.as_dict() for finding in found],
        }
    )
