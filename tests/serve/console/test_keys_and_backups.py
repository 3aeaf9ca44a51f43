"""New keys and old backups from the console: who may, what it takes, what is written down, and what is there after."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serve.conftest import Served, running
from tests.serve.console.conftest import KEYWORDS
from tests.serve.console.test_pages import Signed, words_of
from truekeep import Keep
from truekeep.config import Paths
from truekeep.serve.tokens import TokenBook
from truekeep.stores.files import keyring

pytestmark = pytest.mark.slow


@pytest.fixture
def office(home: Path) -> Iterator[Served]:
    with Keep.open("alice", home=home, settings=KEYWORDS) as keep:
        keep.remember("The spare key is with the neighbour.", via="user")
    with running(home) as served:
        yield served


@pytest.fixture
def eva(office: Served) -> Iterator[Signed]:
    somebody = Signed(office, "alice")
    yield somebody
    somebody.close()


def said(served: Served) -> set[str]:
    with Keep.open("alice", home=served.home, settings=KEYWORDS) as keep:
        assert keep.audit.verify().ok
        return {one["content"] for one in keep.get_memories()}


def test_a_data_key_is_rotated_under_a_running_service_and_the_log_says_by_whom(eva: Signed, office: Served) -> None:
    assert "spare key" in words_of(eva.see("memories")), "the service has the keep open"
    before = keyring(Paths.resolve(office.home), KEYWORDS).open("alice")
    done = eva.send("keys/rotate", key="data", reason="A laptop was lost.", confirm="alice")
    assert done.status_code in (200, 303), words_of(done)
    assert "has a new data key" in words_of(eva.see("keys?done=data"))
    assert "spare key" in words_of(eva.see("memories")), "and goes on with it"
    after = keyring(Paths.resolve(office.home), KEYWORDS).open("alice")
    assert (len(before.epochs), len(after.epochs), bool(after.pending)) == (1, 2, False)
    assert said(office) == {"The spare key is with the neighbour."}
    with Keep.open("alice", home=office.home, settings=KEYWORDS) as keep:
        (event,) = keep.audit.events(kinds=["keys.rotated"])
    assert (event.body["by"], event.body["reason"]) == ("eva", "A laptop was lost.")


def test_the_master_key_is_rotated_by_who_is_let_into_every_keep_and_by_nobody_else(
    eva: Signed, office: Served
) -> None:
    ring = keyring(Paths.resolve(office.home), KEYWORDS)
    before = ring.wrapped_by("alice")
    secret, _ = TokenBook(office.home / "keys").add("alice", "reviewer:tom", frozenset({"admin", "read"}))
    narrow = Signed(office, "alice")
    narrow.sign_in(secret)
    refused = narrow.send("keys/rotate", key="master", reason="x", confirm="alice")
    assert refused.status_code == 403
    assert "takes a sign-in for all keeps" in words_of(refused)
    narrow.close()
    assert ring.wrapped_by("alice") == before
    assert eva.send("keys/rotate", key="master", reason="Yearly.", confirm="alice").status_code in (200, 303)
    assert ring.wrapped_by("alice") != before
    assert said(office) == {"The spare key is with the neighbour."}
    with Keep.open("alice", home=office.home, settings=KEYWORDS) as keep:
        (event,) = keep.audit.events(kinds=["keys.rewrapped"])
    assert (event.body["by"], event.body["rewrapped"]) == ("eva", 1)


def test_no_key_is_rotated_without_the_name_a_reason_and_the_role(eva: Signed, office: Served) -> None:
    ring = keyring(Paths.resolve(office.home), KEYWORDS)
    before = ring.wrapped_by("alice"), len(ring.open("alice").epochs)
    for fields in (
        {"key": "data", "reason": "x", "confirm": "bob"},
        {"key": "data", "reason": " ", "confirm": "alice"},
        {"key": "all", "reason": "x", "confirm": "alice"},
    ):
        assert eva.send("keys/rotate", **fields).status_code == 400, fields
    reviewer = Signed(office, "alice", frozenset({"review", "read"}), "marek")
    assert reviewer.send("keys/rotate", key="data", reason="x", confirm="alice").status_code == 403
    reviewer.close()
    sent = {"key": "data", "reason": "x", "confirm": "alice"}
    assert eva.post("/console/k/alice/keys/rotate", site="cross-site", **sent).status_code == 403
    assert (ring.wrapped_by("alice"), len(ring.open("alice").epochs)) == before
