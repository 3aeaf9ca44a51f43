"""Extract memories from a transcript and put them through the gate."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO

import click

from truekeep.cli.options import open_keep, with_keep

if TYPE_CHECKING:
    from truekeep.extract.conversation import Conversation, Extraction
    from truekeep.extract.llm import ChatModel
    from truekeep.extract.strategies import Strategy
    from truekeep.keep import Keep
    from truekeep.types import Verdict

_LONGEST = 10_000_000


@click.command()
@click.argument("file", type=click.File(encoding="utf-8"))
@click.option("--strategy", default="discrete", show_default=True, help="discrete, summary, preferences or custom.")
@click.option("--mine", metavar="ROLE", help="I vouch that messages of this role are my own words.")
@click.option("--speaker", help="What the person speaking is called.")
@click.option("--date", type=click.DateTime(), help="When it was said, where the transcript does not say.")
@click.option("--session", help="The session it belongs to.")
@click.option("--max-summary-length", type=click.IntRange(50, 1000), help="For the strategy summary.")
@click.option("--prompt", help="For the strategy custom: the name of an approved prompt.")
@click.option("--llm", is_flag=True, help="Ask the model of TRUEKEEP_LLM_BASE_URL instead of the built-in extractor.")
@click.option("--dry-run", is_flag=True, help="Show what would be taken; remember nothing.")
@with_keep
def extract(
    file: TextIO,
    strategy: str,
    mine: str | None,
    speaker: str | None,
    date: datetime | None,
    session: str | None,
    max_summary_length: int | None,
    prompt: str | None,
    llm: bool,
    dry_run: bool,
    keep_name: str,
    home: str | None,
    output: str,
) -> None:
    """Distil the transcript in FILE ('-' for standard input): JSON lines, OpenAI messages or Markdown.

    What is not proved to be the owner's words is held for review. Exit code 1: something was held or rejected.
    """
    from truekeep.extract.transcript import read_transcript  # noqa: PLC0415 - keeps --help quick

    chosen = _strategy(strategy, max_summary_length, prompt, home)
    said = None if date is None else date.replace(tzinfo=UTC)
    talk = read_transcript(file.read(_LONGEST + 1), mine=mine, speaker=speaker, session=session, date=said)
    found = chosen.extract(talk, _model() if llm or strategy == "custom" else None)
    if dry_run:
        _print(((extraction, None) for extraction in found), output)
        return
    with open_keep(keep_name, home) as keep:
        taken = [(form, _remember(keep, form, via, talk)) for form, via in _routed(found, talk)]
    _print(taken, output)
    if not all(verdict.accepted for _, verdict in taken):
        sys.exit(1)


def _strategy(name: str, length: int | None, prompt: str | None, home: str | None) -> Strategy:
    from truekeep.extract.strategies import make_strategy  # noqa: PLC0415

    options: dict[str, Any] = {} if length is None else {"max_summary_length": length}
    if prompt is not None:
        from truekeep.cli.prompts import _library  # noqa: PLC0415

        options["custom_prompt"] = _library(home).usable(prompt).text
    return make_strategy(name, **options)


def _model() -> ChatModel:
    from truekeep.errors import ConfigError  # noqa: PLC0415
    from truekeep.extract.endpoint import ModelSettings  # noqa: PLC0415
    from truekeep.extract.llm import ChatModel  # noqa: PLC0415

    settings = ModelSettings.from_environment()
    if settings is None:
        raise ConfigError(
            "No model is configured.",
            code="model_required",
            hint="Set TRUEKEEP_LLM_BASE_URL, TRUEKEEP_LLM_MODEL and TRUEKEEP_LLM_API_KEY.",
        )
    return ChatModel(settings)


def _routed(found: list[Extraction], talk: Conversation) -> list[tuple[Extraction, str]]:
    from truekeep.extract.promotion import routed_all  # noqa: PLC0415

    (owner,) = talk.owner_channels
    return routed_all(found, talk, owner=owner, otherwise="import")


def _remember(keep: Keep, extraction: Extraction, via: str, talk: Conversation) -> Verdict:
    origin = {"strategy": extraction.strategy, "message": extraction.message_id, "prompt": extraction.prompt}
    return keep.remember(
        extraction.text,
        via=via,
        session=talk.session,
        kind=extraction.kind,
        topics=extraction.topics,
        entities=extraction.entities,
        quote=extraction.quote if extraction.is_located else None,
        metadata={name: value for name, value in origin.items() if value is not None},
    )


def _print(taken: Iterable[tuple[Extraction, Verdict | None]], output: str) -> None:
    from truekeep.cli.output import STYLES, WORDS, console, print_json, table  # noqa: PLC0415

    rows = list(taken)
    if output == "json":
        print_json([_members(extraction, verdict) for extraction, verdict in rows])
        return
    from rich.text import Text  # noqa: PLC0415 - not needed for JSON

    from truekeep.fence import one_line  # noqa: PLC0415

    if not rows:
        console().print("Nothing to remember was found.", style="dim")
        return
    listing = table("verdict", "message", "memory", "why", wide="memory")
    for extraction, verdict in rows:
        word, style = (WORDS[verdict.decision], STYLES[verdict.decision]) if verdict else ("found", "")
        where = Text(one_line(extraction.message_id or "nowhere"))
        why = Text(verdict.code if verdict else extraction.strategy, style="dim")
        listing.add_row(Text(word, style=style), where, Text(one_line(extraction.text)), why)
    console().print(listing)


def _members(extraction: Extraction, verdict: Verdict | None) -> dict[str, Any]:
    found = {
        "text": extraction.text,
        "type": extraction.kind,
        "quotes": [{"quote": s.quote, "message_id": s.message_id} for s in extraction.supports],
        "strategy": extraction.strategy,
    }
    return found if verdict is None else found | {"verdict": verdict.as_dict()}
