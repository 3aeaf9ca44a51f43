"""The library's own sentences in every language of the console: why a memory acts, why a call was asked about."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import truekeep
from truekeep.act import question
from truekeep.screens import credentials, hidden, stuffing
from truekeep.serve.console.words import LANGUAGES, words

SRC = Path(truekeep.__file__).parent
SHOWN = (
    "trust/influence/may_act.py", "claims/may_act_now.py", "trust/flow/decide.py", "sessions/sessions.py",
    "sessions/channels.py", "act/boundary.py", "act/call_desk.py", "act/credit.py", "act/grants.py",
    "act/question.py", "review/*.py", "quarantine/*.py", "incident/kit.py", "incident/rewind.py", "incident/source.py",
    "incident/trace.py", "read/reader.py", "extract/library.py", "trust/origin.py", "serve/console/*.py",
    "serve/tokens.py", "serve/identity.py", "serve/capabilities.py", "serve/pool.py", "errors.py", "stores/*.py",
    "ops/key_rotation.py", "ops/recovery.py", "ops/restore_preview.py", "audit/*.py", "claims/*.py", "incident/*.py",
    "records/*.py", "read/browse.py", "read/entries.py", "read/snapshots.py", "sessions/*.py", "trust/candidate.py",
    "trust/policy.py", "trust/principal.py", "write/gate.py", "write/intake.py", "write/judge.py", "write/secrets.py",
)  # fmt: skip
"""Where sentences come from that a page of the console can show: reasons, refusals and their hints."""
NEVER_SHOWN = ("stores/moving.py", "stores/postgres_schema.py", "stores/conformance.py")
"""What only the terminal and tests call."""
DEVELOPERS = {"{} needs a code and a default_hint."}
_PLACE = re.compile(r"\{[^{}]*\}")
OTHERS = [language for language in LANGUAGES if language != "en"]


def sentences(path: Path) -> Iterator[str]:
    """Every text of a module that is a sentence and no docstring, with a pair of braces for what is filled in."""
    tree = ast.parse(path.read_text("utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if id(node) in docs | inner:
            continue
        if isinstance(node, ast.JoinedStr):
            told = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            told = node.value
        else:
            continue
        if " " in told and (told[0].isupper() or told.startswith("{}")) and told.endswith("."):
            yield told


def shown() -> set[str]:
    paths = {path for pattern in SHOWN for path in SRC.glob(pattern)} - {SRC / path for path in NEVER_SHOWN}
    found = {one for path in paths for one in sentences(path)} - DEVELOPERS
    found |= set(question._WORDS.values())
    return found.union(*(module._REASONS.values() for module in (credentials, hidden, stuffing)))


@pytest.mark.parametrize("language", OTHERS)
def test_every_sentence_of_the_library_that_a_page_shows_is_translated(language: str) -> None:
    spoken = words(language)
    untold = {one for one in shown() if spoken.says(one.replace("{}", "mem_1")) in (None, one)}
    assert untold == set()


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_fills_in_what_the_sentence_does(language: str) -> None:
    file = SRC / "data" / "console" / "library" / f"{language}.toml"
    for sentence, text in tomllib.loads(file.read_text("utf-8"))["sentences"].items():
        if sentence != "Give where={argument: pattern}.":
            assert len(_PLACE.findall(sentence)) == len(_PLACE.findall(text)), sentence
        assert not re.search(r"[<>]|&\w+;", text), sentence


def test_names_in_a_sentence_stay_as_they_are_and_are_not_read_as_places() -> None:
    slovak = words("sk")
    assert slovak.says("It took in text over the channel 'web'.") == "Prijalo text kanálom „web“."
    assert slovak.says("A newer statement has taken its place: {0.__class__}.") == (
        "Jej miesto zaujalo novšie tvrdenie: {0.__class__}."
    )


def test_what_nobody_translated_is_none_and_english_is_itself() -> None:
    assert words("sk").says("Pay 300 euros to account 9904-71.") is None
    assert words("en").says("It is your own word.") == "It is your own word."


def test_every_code_that_has_advice_is_told_in_every_language() -> None:
    for language in LANGUAGES:
        spoken = words(language)
        for kind in ("calls", "held", "refused", "memories"):
            assert f"advice.{kind}.other" in spoken, kind
