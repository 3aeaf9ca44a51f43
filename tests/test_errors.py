"""Errors say what to do: none has an empty message, code or hint, whoever raises it and however."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import truekeep
from truekeep.errors import InvalidRequest, TruekeepError
from truekeep.serve.problem import problem, problem_of

SOURCES = Path(truekeep.__file__).parent
BLANK = ["", " ", "\n\t"]


def kinds(kind: type[TruekeepError] = TruekeepError) -> Iterator[type[TruekeepError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from kinds(below)


@pytest.fixture(scope="module", autouse=True)
def _every_error_is_known() -> None:
    for room in ("client", "embed", "extract", "records", "redteam", "serve"):
        package = importlib.import_module(f"truekeep.{room}")
        for module in pkgutil.iter_modules(package.__path__, f"truekeep.{room}."):
            importlib.import_module(module.name)


def test_every_kind_of_error_has_a_code_and_a_hint_for_all_its_errors() -> None:
    found = list(kinds())
    assert len(found) > 30
    for kind in found:
        assert kind.code.strip(), kind
        assert kind.default_hint.strip(), kind


@pytest.mark.parametrize("blank", BLANK)
def test_an_error_that_is_given_nothing_has_what_its_class_says(blank: str) -> None:
    error = InvalidRequest(blank, code=blank, hint=blank)
    assert error.as_dict() == InvalidRequest("It could not be done.").as_dict()
    assert all(value.strip() for value in error.as_dict().values())


@pytest.mark.parametrize("members", [{"code": ""}, {"default_hint": " "}])
def test_a_kind_of_error_without_a_code_or_a_hint_does_not_come_into_being(members: dict[str, str]) -> None:
    with pytest.raises(TypeError, match="needs a code and a default_hint"):
        type("Mute", (TruekeepError,), members)


@pytest.mark.parametrize("blank", BLANK)
def test_no_answer_of_the_service_goes_out_without_a_hint(blank: str) -> None:
    assert b'"hint":"GET /openapi.json' in bytes(problem(400, "some_code", "Some detail.", hint=blank).body)
    assert b'"hint":""' not in bytes(problem_of(InvalidRequest("No.", hint=blank)).body)


def test_no_source_says_that_a_hint_or_a_code_of_an_error_is_empty() -> None:
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and any(node.args):
                given = {word.arg: word.value for word in node.keywords if word.arg in ("hint", "code")}
                empty = [name for name, value in given.items() if isinstance(value, ast.Constant) and value.value == ""]
                raised = isinstance(node.func, ast.Name) and node.func.id[:1].isupper()
                assert not (raised and empty and "hint" in given), f"{path.name}:{node.lineno}"
