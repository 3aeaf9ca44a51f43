"""The console's style and script, under names that change with their content, so that browsers may keep them."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from truekeep.serve.console.shell import PATH

router = APIRouter()
_FOLDER = Path(__file__).parent / "static"
_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
_STAMPED = re.compile(r"([a-z_]{1,40})\.([0-9a-f]{12})\.([a-z]{2,3})", re.ASCII)


def asset(name: str) -> str:
    """The address of a static file."""
    stem, _, ending = name.partition(".")
    return f"{PATH}/static/{stem}.{_known()[name][0]}.{ending}"


@router.get("/static/{name}")
async def static(name: str, request: Request) -> Response:
    """One file; only those that there are, under the name of what they hold now. All of them are in memory."""
    parts = _STAMPED.fullmatch(name)
    stamp, content = _known().get(f"{parts[1]}.{parts[3]}", ("", b"")) if parts else ("", b"")
    if parts is None or parts[2] != stamp:
        raise HTTPException(404)
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "ETag": f'"{stamp}"'}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=_TYPES[parts[3]])


@cache
def _known() -> dict[str, tuple[str, bytes]]:
    """Every file by its name: the first of its hash, and what it holds."""
    files = {path.name: path.read_bytes() for path in _FOLDER.iterdir() if path.suffix[1:] in _TYPES}
    return {name: (hashlib.sha256(content).hexdigest()[:12], content) for name, content in files.items()}
