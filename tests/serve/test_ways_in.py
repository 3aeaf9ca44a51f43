"""A route or a page that the table of capabilities does not know is not served at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.routing import Route

from truekeep.errors import ConfigError
from truekeep.serve import app as service
from truekeep.serve.console import app as console
from truekeep.serve.console.desk import Seated
from truekeep.serve.rest import ROUTERS
from truekeep.serve.rest.routes import resource


def _answer() -> str:
    return "everything"


def _plain() -> APIRouter:
    router = APIRouter()
    router.add_api_route("/v1/leak", _answer)
    return router


def _nested() -> APIRouter:
    router = APIRouter()
    router.include_router(_plain())
    return router


def _hidden() -> APIRouter:
    router = APIRouter()
    router.add_api_route("/v1/memories/leak", _answer, include_in_schema=False)
    return router


def _of_starlette() -> APIRouter:
    return APIRouter(routes=[Route("/v1/leak", lambda _: None)])


def _another_class_at_a_listed_path() -> APIRouter:
    router = APIRouter(route_class=APIRoute)
    router.add_api_route("/v1/audit", _answer)
    return router


@pytest.mark.parametrize("made", [_plain, _nested, _hidden, _of_starlette, _another_class_at_a_listed_path])
def test_a_route_without_a_permit_keeps_the_service_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Callable[[], APIRouter]
) -> None:
    monkeypatch.setattr(service, "ROUTERS", (*ROUTERS, made()))
    with pytest.raises(ConfigError) as refused:
        service.create_app(tmp_path)
    assert refused.value.code == "way_in_not_listed"


def test_a_resource_that_is_not_in_the_table_cannot_be_made() -> None:
    with pytest.raises(KeyError):
        resource("", "leak").add_api_route("/v1/leak", _answer, methods=["GET"])


def _seated_and_not_listed() -> APIRouter:
    router = APIRouter()

    @router.get("/k/{keep}/leak")
    def page(desk: Seated) -> str:
        return str(desk.keep_name)

    return router


def _listed_and_not_seated() -> APIRouter:
    router = APIRouter()
    router.add_api_route("/k/{keep}/audit", _answer)
    return router


@pytest.mark.parametrize("made", [_seated_and_not_listed, _listed_and_not_seated, _of_starlette])
def test_a_page_that_anybody_could_have_keeps_the_service_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Callable[[], APIRouter]
) -> None:
    monkeypatch.setattr(console, "ROUTERS", (made(), *console.ROUTERS))
    with pytest.raises(ConfigError) as refused:
        service.create_app(tmp_path)
    assert refused.value.code == "way_in_not_listed"
