"""A pytest plugin that puts truekeep's stores into other people's test modules, in the place of their own.

``python -m benchmarks framework-tests`` loads it. Nothing of a test is changed but the name of the class it makes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from truekeep import Keep, Settings

_homes: list[tempfile.TemporaryDirectory[str]] = []


def _keep() -> Keep:
    home = tempfile.TemporaryDirectory(prefix="truekeep-framework-tests-")
    _homes.append(home)
    return Keep.open("tests", home=Path(home.name), settings=Settings(embedder="none"), background=False)


def _stores(module: ModuleType) -> dict[str, Any]:
    """LangGraph's stores: the one in memory, and the one over SQLite that is opened by a connection string."""
    from truekeep.adapters.langgraph_store import TruekeepStore

    class StandInStore(TruekeepStore):
        """A store over a keep of its own."""

        def __init__(self, *, index: Any = None, ttl: Any = None) -> None:
            super().__init__(_keep(), index=index, ttl=ttl)

        @classmethod
        @contextmanager
        def from_conn_string(cls, _: str, *, index: Any = None, ttl: Any = None) -> Iterator[StandInStore]:
            """As their SQLite store is opened."""
            fields = {"fields": index["text_fields"]} if index and index.get("text_fields") else {}
            yield cls(index={**index, **fields} if index else None, ttl=ttl)

        def setup(self) -> None:
            """Nothing is to be set up."""

    return {name: StandInStore for name in ("InMemoryStore", "SqliteStore") if hasattr(module, name)}


def _sessions(module: ModuleType) -> dict[str, Any]:
    """The OpenAI SDK's session over SQLite, inside one of truekeep's."""
    from truekeep.adapters.openai_agents import TruekeepSession

    theirs = getattr(module, "SQLiteSession", None)

    def stand_in(session_id: str, *args: Any, **options: Any) -> TruekeepSession:
        assert theirs is not None
        return TruekeepSession(session_id, theirs(session_id, *args, **options))

    return {"SQLiteSession": stand_in} if theirs is not None else {}


@pytest.fixture(autouse=True)
def _stand_ins(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    kind = request.config.getoption("--stand-in")
    for name, stand_in in (_stores if kind == "store" else _sessions)(request.module).items():
        monkeypatch.setattr(request.module, name, stand_in)
    yield
    while _homes:
        _homes.pop().cleanup()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which kind of thing is put in."""
    parser.addoption("--stand-in", choices=["store", "session"], required=True)
