"""A keep that is open asks its server seldom, and never answers with less than the server had."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.postgres.proxy import Proxy
from tests.postgres.server import SERVICE, Database, Server
from truekeep import Keep
from truekeep.config import Settings
from truekeep.errors import StoreUnavailable, TruekeepError
from truekeep.records.catalog import Catalog
from truekeep.stores.postgres_lines import forget_lines

QUESTION = "What is the cat called?"


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    with tempfile.TemporaryDirectory(prefix="tk-px-") as folder:
        made = Proxy(Path(folder), server.folder)
        yield made
        made.close()


@pytest.fixture
def keep(home: Path, database: Database, proxy: Proxy) -> Iterator[Keep]:
    dsn = database.server.dsn(database.name, SERVICE, host=proxy.folder)
    with opened(home, dsn) as made:
        made.remember("The cat is called Mia.", via="user")
        made.recall(QUESTION)
        yield made
    forget_lines(dsn)


def opened(home: Path, dsn: str) -> Keep:
    settings = replace(Settings(), store=dsn, embedder="none")
    return Keep.open("alice", home=home, settings=settings, background=False)


def texts(keep: Keep) -> set[str]:
    return {hit.text for hit in keep.recall(QUESTION)}


def test_a_recall_is_one_message(keep: Keep, proxy: Proxy) -> None:
    for question, count in ((QUESTION, 1), ("When does the train to Brno leave?", 0)):
        before = proxy.asked
        assert len(keep.recall(question)) == count
        assert proxy.asked == before + 1


def test_what_another_process_writes_while_a_recall_searches_is_in_its_answer(
    home: Path, database: Database, keep: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = Catalog.search

    def slowly(catalog: Catalog, *given: Any, **named: Any) -> Any:
        found = search(catalog, *given, **named)
        monkeypatch.setattr(Catalog, "search", search)
        with opened(home, database.dsn) as other:
            other.remember("The other cat is called Rex.", via="user")
        return found

    monkeypatch.setattr(Catalog, "search", slowly)
    assert texts(keep) == {"The cat is called Mia.", "The other cat is called Rex."}


def test_a_row_that_was_altered_by_hand_is_not_served(database: Database, keep: Keep) -> None:
    database.run("UPDATE truekeep.sealed SET body = set_byte(body, 40, 1 + get_byte(body, 40) % 255) WHERE tbl = 0")
    assert [hit.blocked for hit in keep.recall(QUESTION)] == [True]


def test_a_chain_that_was_cut_by_hand_stops_a_recall(database: Database, keep: Keep) -> None:
    database.run("DELETE FROM truekeep.events WHERE seq = (SELECT max(seq) FROM truekeep.events)")
    with pytest.raises(TruekeepError) as caught:
        keep.recall(QUESTION)
    assert caught.value.code == "store_rolled_back"


def test_a_recall_finds_a_server_that_was_restarted_and_refuses_without_one(
    home: Path, server: Server, database: Database
) -> None:
    with opened(home, database.dsn) as keep:
        keep.remember("The cat is called Mia.", via="user")
        assert texts(keep) == {"The cat is called Mia."}
        server.stop()
        try:
            with pytest.raises(StoreUnavailable):
                keep.recall(QUESTION)
        finally:
            server.start()
        assert texts(keep) == {"The cat is called Mia."}
