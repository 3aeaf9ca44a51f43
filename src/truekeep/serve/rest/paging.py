"""Paging: opaque cursors, and the Link header that carries the next one."""

from __future__ import annotations

import base64
import binascii
import json
from urllib.parse import urlencode

from fastapi import Request

from truekeep.errors import InvalidRequest


def cursor_of(place: str | int) -> str:
    """A cursor that leads on from a place."""
    return base64.urlsafe_b64encode(json.dumps([place]).encode()).decode().rstrip("=")


def place_of(cursor: str) -> str | int:
    """The place that a cursor leads on from."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        (place,) = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, TypeError, RecursionError):
        place = None
    if isinstance(place, bool) or not isinstance(place, str | int):
        raise InvalidRequest("The cursor cannot be used.", code="invalid_cursor", hint="Take it from the last answer.")
    return place


def next_link(request: Request, cursor: str | None) -> dict[str, str]:
    """The Link header to the next page, as a path of this service."""
    if cursor is None:
        return {}
    kept = [(name, value) for name, value in request.query_params.multi_items() if name != "cursor"]
    return {"Link": f'<{request.url.path}?{urlencode([*kept, ("cursor", cursor)])}>; rel="next"'}
