"""Scanning: what the screens see in a text, without keeping it."""

from __future__ import annotations

from typing import Literal

from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel

from truekeep.scan import threats
from truekeep.serve.rest.models import Body, FindingBody
from truekeep.serve.rest.routes import resource
from truekeep.serve.service import Caller
from truekeep.trust.policy import blocked_sentence

router = resource("", "scan")


class ScanBody(Body):
    """A text to look at."""

    text: str
    scope: Literal["strict", "relaxed"] = "strict"


class ScannedBody(BaseModel):
    """What was found."""

    clean: bool
    threats: list[str]
    message: str
    findings: list[FindingBody]


@router.post("/v1/scan", response_model=ScannedBody)
def scan(body: ScanBody, call: Caller) -> Response:
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
