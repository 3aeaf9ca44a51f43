"""Templates: one environment for all pages, in which everything is escaped and nothing may be undefined.

Style and script have names that change with their content, so that browsers may keep them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.responses import Response

from truekeep.review.decisions import text_of
from truekeep.serve.console.shell import PATH
from truekeep.serve.console.spelling import shows_hidden, spelled
from truekeep.serve.console.words import LANGUAGES, PageWords

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


_SPANS = (("days", 86_400), ("hours", 3_600), ("minutes", 60))


@cache
def environment() -> Environment:
    """The environment. Templates are the package's own files; they are compiled once."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals |= {"asset": asset, "spelled": spelled, "shows_hidden": shows_hidden, "languages": LANGUAGES}
    made.globals["text_of"] = text_of
    made.globals["spans_of"] = lambda findings: [one.span for one in findings if one.field == "text"]
    made.filters["replaced"] = lambda members, **more: {**members, **more}
    return made


def rendered(template: str, words: PageWords, context: Mapping[str, Any]) -> str:
    """A page in one language."""
    now = datetime.now(UTC)

    def ago(moment: datetime) -> Markup:
        told = how_long(words, (now - moment).total_seconds())
        exact = f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
        return Markup('<time datetime="{}" title="{}">{}</time>').format(moment.isoformat(), exact, told)

    def day(moment: datetime) -> Markup:
        return Markup('<time datetime="{}">{}</time>').format(moment.isoformat(), f"{moment:%Y-%m-%d %H:%M} UTC")

    def says(sentence: str) -> Markup:
        """A sentence of the library in the page's language; marked as English where there is only that."""
        told = words.says(sentence)
        return spelled(told) if told is not None else Markup('<span lang="en">{}</span>').format(spelled(sentence))

    speaking = {
        "says": says,
        "t": words.t,
        "n": words.n,
        "known": words.known,
        "ago": ago,
        "day": day,
        "words": words,
        "now": now,
    }
    return environment().get_template(template).render({**speaking, **context})


def how_long(words: PageWords, seconds: float) -> str:
    """How long ago, or in how long, in the largest whole unit."""
    way = "ago" if seconds >= 0 else "in"
    for name, size in _SPANS:
        if abs(seconds) >= size:
            return words.n(f"frame.{way}.{name}", int(abs(seconds) // size))
    return words.t("frame.ago.now") if seconds >= 0 else words.n("frame.in.minutes", 1)
