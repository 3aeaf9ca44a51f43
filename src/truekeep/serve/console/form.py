"""What a person sent with a button: the fields of a form, capped, and nothing but text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request

from truekeep.config import REASON_CAP
from truekeep.errors import InvalidRequest

_MOST_FIELDS = 5_000
"""A page that decides on many items at once has a few for each."""
_MEDIA_TYPE = "application/x-www-form-urlencoded"


class FormFields:
    """The fields of one form."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self._pairs = pairs

    def text(self, name: str, cap: int = REASON_CAP) -> str:
        """The text of a field, without space around it; nothing if the field is not there."""
        found = next((value for key, value in self._pairs if key == name), "")
        if len(found) > cap:
            raise InvalidRequest(f"A field has at most {cap:,} characters.", code="field_too_long")
        return found.strip()

    def reason(self) -> str:
        """Why something is done; nothing is done without."""
        found = self.text("reason")
        if not found:
            raise InvalidRequest("Every decision needs a reason.", code="reason_missing")
        return found

    def all(self, name: str) -> list[str]:
        """The values of a field that may be there several times."""
        return [value for key, value in self._pairs if key == name]

    def has(self, name: str) -> bool:
        """Whether a box was ticked."""
        return any(key == name for key, _ in self._pairs)


async def fields(request: Request) -> FormFields:
    """The form that a request carries; the edge has read it whole, within its cap."""
    if request.headers.get("content-type", "").partition(";")[0].strip().casefold() != _MEDIA_TYPE:
        raise InvalidRequest("The console takes forms only.", code="invalid_form")
    try:
        text = (await request.body()).decode("ascii")
        return FormFields(parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"))
    except ValueError:
        raise InvalidRequest("The form cannot be read.", code="invalid_form") from None


Form = Annotated[FormFields, Depends(fields)]
