"""Templates: one environment for all pages, in which everything is escaped and nothing may be undefined."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from truekeep.review.decisions import text_of
from truekeep.serve.console.assets import asset
from truekeep.serve.console.spelling import shows_hidden, spelled
from truekeep.serve.console.words import LANGUAGES, PageWords

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

    speaking = {"t": words.t, "n": words.n, "known": words.known, "ago": ago, "day": day, "words": words, "now": now}
    return environment().get_template(template).render({**speaking, **context})


def how_long(words: PageWords, seconds: float) -> str:
    """How long ago, or in how long, in the largest whole unit."""
    way = "ago" if seconds >= 0 else "in"
    for name, size in _SPANS:
        if abs(seconds) >= size:
            return words.n(f"frame.{way}.{name}", int(abs(seconds) // size))
    return words.t("frame.ago.now") if seconds >= 0 else words.n("frame.in.minutes", 1)
