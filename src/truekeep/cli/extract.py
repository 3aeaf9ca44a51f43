"""Extract memories from a transcript, or from the sessions that wait for it, and say what became of each."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TextIO

import click

from truekeep.cli.options import open_keep, require_extra, with_keep

if TYPE_CHECKING:
    from truekeep.extract.conversation import Conversation, Extraction
    from truekeep.extract.llm import ChatModel
    from truekeep.extract.run import Distilled, Taken
    from truekeep.keep import Keep

_LONGEST = 10_000_000  # bytes of a transcript that are read into memory at once
_KEPT = timedelta(days=30)
"""How long a transcript's messages stay in the keep after they were last used."""


@click.command()
@click.argument("file", type=click.File(encoding="utf-8"), required=False)
@click.option("--strategy", default="discrete", show_default=True, help="discrete, summary, preferences or custom.")
@click.option("--mine", metavar="ROLE", help="I vouch that messages of this role are my own words.")
@click.option("--speaker", help="What the person speaking is called.")
@click.option(
    "--date", type=click.DateTime(), metavar="DATE", help="When it was said, where the transcript does not say."
)
@click.option("--session", help="The session it belongs to; by default one of its own.")
@click.option("--max-summary-length", type=click.IntRange(50, 1000), help="For the strategy summary.")
@click.option("--prompt", help="For the strategy custom: the name of an approved prompt.")
@click.option("--llm", is_flag=True, help="Have the model of TRUEKEEP_LLM_BASE_URL word gists.")
@click.option("--dry-run", is_flag=True, help="Show what would be taken; remember nothing.")
@click.option("--queued", is_flag=True, help="Instead of a file: extract from the sessions that are due.")
@with_keep
def extract(
    file: TextIO | None,
    strategy: str,
    mine: str | None,
    speaker: str | None,
    date: datetime | None,
    session: str | None,
    max_summary_length: int | None,
    prompt: str | None,
    llm: bool,
    dry_run: bool,
    queued: bool,
    keep_name: str,
    home: str | None,
    output: str,
) -> None:
    """Distil the transcript in FILE ('-' for standard input): JSON lines, OpenAI messages or Markdown.

    What is not proved to be the owner's words is held for review. The same transcript is not extracted twice. Exit
    code 1: something was held or rejected, or a queued session could not be extracted.
    """
    if queued == (file is not None):
        raise click.UsageError("Name one transcript, or use --queued.")
    model = _model() if llm or strategy == "custom" else None
    if file is not None and mine is None and model is None:
        raise click.UsageError("Say with --mine ROLE which messages are your own words, or use --llm.")
    if file is None:
        with open_keep(keep_name, home) as keep:
            done = keep.extraction.run(model)
        _print(done, output, [_run_members(run) for run in done])
        return
    from truekeep.extract.transcript import read_transcript  # noqa: PLC0415 - keeps --help quick

    said = None if date is None else date.replace(tzinfo=UTC)
    source = file.read(_LONGEST + 1)
    talk = read_transcript(source, mine=mine, speaker=speaker, session=session, date=said)
    options = {"max_summary_length": max_summary_length} if max_summary_length is not None else {}
    if dry_run and strategy != "custom":
        _print_found(_found(talk, strategy, options, model), output)
        return
    with open_keep(keep_name, home, new=True) as keep:
        if dry_run:
            text = keep.prompts.usable(prompt or "").text
            _print_found(_found(talk, strategy, {**options, "custom_prompt": text}, model), output)
            return
        name = session or _name(source, mine)
        _take_in(keep, name, talk, speaker)
        run = keep.extract(name, strategy, via="user", prompt=prompt, model=model, **options)
        keep.working.sweep()
    _print([run], output, _run_members(run))


def _name(source: str, mine: str | None) -> str:
    """The same for the same transcript, so that it is recognised; another when somebody vouches for it."""
    digest = hashlib.sha256(f"{mine}|{source}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"transcript-{digest[:20]}"


def _take_in(keep: Keep, session: str, talk: Conversation, speaker: str | None) -> None:
    """A transcript becomes a session like any other, so that what was only read in it is known by its channel."""
    keep.working.put(session, via="user", speaker=speaker, ttl=_KEPT)
    keep.working.append(session, *(message for message in talk.messages if message.text.strip()))


def _found(talk: Conversation, strategy: str, options: dict[str, Any], model: ChatModel | None) -> list[Extraction]:
    from truekeep.extract.conversation import Extraction, Support  # noqa: PLC0415
    from truekeep.extract.learning import VERBATIM  # noqa: PLC0415
    from truekeep.extract.smalltalk import is_small_talk  # noqa: PLC0415
    from truekeep.extract.strategies import make_strategy  # noqa: PLC0415

    said = (message for message in talk.owner_messages() if not is_small_talk(message.text))
    own = [Extraction(message.text, (Support(message.text, message.id),), VERBATIM) for message in said]
    return [*own, *make_strategy(strategy, **options).extract(talk, model)]


def _model() -> ChatModel:
    from truekeep.errors import ConfigError  # noqa: PLC0415
    from truekeep.extract.endpoint import ModelSettings  # noqa: PLC0415
    from truekeep.extract.llm import ChatModel  # noqa: PLC0415

    require_extra("llm", "httpx")
    settings = ModelSettings.from_environment()
    if settings is None:
        raise ConfigError(
            "No model is configured.",
            code="model_required",
            hint="Set TRUEKEEP_LLM_BASE_URL, TRUEKEEP_LLM_MODEL and TRUEKEEP_LLM_API_KEY.",
        )
    return ChatModel(settings)


def _print(runs: Sequence[Distilled], output: str, members: Any) -> None:
    if output == "json":
        from truekeep.cli.output import print_json  # noqa: PLC0415

        print_json(members)
    else:
        _print_table(runs)
    if not all(one.verdict.accepted for run in runs for one in run.taken) or any(run.code for run in runs):
        sys.exit(1)


def _print_table(runs: Sequence[Distilled]) -> None:
    from rich.text import Text  # noqa: PLC0415 - not needed for JSON

    from truekeep.cli.output import STYLES, WORDS, console, table  # noqa: PLC0415
    from truekeep.trust.fence import one_line  # noqa: PLC0415

    listing = table("verdict", "memory", "why", "gist", wide="memory")
    for one in (one for run in runs for one in run.taken):
        verdict = one.verdict
        word = Text(WORDS[verdict.decision], style=STYLES[verdict.decision])
        why, gist = Text(verdict.code, style="dim"), Text(one_line(one.gist), style="dim")
        listing.add_row(word, Text(one_line(one.extraction.text)), why, gist)
    out = console()
    if listing.row_count:
        out.print(listing)
    elif runs and not any(run.messages for run in runs) and not any(run.code for run in runs):
        out.print("Nothing new was said since the last extraction.", style="dim")
    else:
        out.print("Nothing to remember was found.", style="dim")
    for run in (run for run in runs if run.code):
        out.print(f"{one_line(run.task.session)} stays queued ({run.code}).", style="yellow")


def _run_members(run: Distilled) -> dict[str, Any]:
    return {
        "session": run.task.session,
        "strategy": run.task.strategy,
        "messages": run.messages,
        "repeated": run.repeated,
        "code": run.code,
        "taken": [_taken_members(one) for one in run.taken],
    }


def _taken_members(one: Taken) -> dict[str, Any]:
    members = {"owners_words": one.is_owners, "gist": one.gist, "verdict": one.verdict.as_dict()}
    return _members(one.extraction) | members


def _print_found(found: list[Extraction], output: str) -> None:
    from truekeep.cli.output import console, print_json, table  # noqa: PLC0415

    if output == "json":
        print_json([_members(extraction) for extraction in found])
        return
    from rich.text import Text  # noqa: PLC0415 - not needed for JSON

    from truekeep.trust.fence import one_line  # noqa: PLC0415

    if not found:
        console().print("Nothing to remember was found.", style="dim")
        return
    listing = table("message", "memory", wide="memory")
    for extraction in found:
        listing.add_row(Text(one_line(extraction.message_id or "nowhere")), Text(one_line(extraction.text)))
    console().print(listing)


def _members(extraction: Extraction) -> dict[str, Any]:
    return {
        "text": extraction.text,
        "type": extraction.kind,
        "quotes": [{"quote": one.quote, "message_id": one.message_id} for one in extraction.supports],
        "strategy": extraction.strategy,
    }
