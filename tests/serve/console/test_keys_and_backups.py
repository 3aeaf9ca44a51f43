"""New keys and old backups from the console: who may, what it takes, what is written down, and what is there after."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from tests.serve.conftest import Served, running
from tests.serve.console.conftest import KEYWORDS
from tests.serve.console.test_pages import Signed, words_of
from truekeep import Keep
from truekeep.cli import cli
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


def backup(eva: Signed) -> bytes:
    answer = eva.send("backups/make")
    assert answer.status_code == 200
    return answer.content


def offer(eva: Signed, content: bytes) -> httpx.Response:
    files = {"backup": ("alice.truekeep", content, "application/octet-stream")}
    return eva.http.post("/console/k/alice/backups/look", files=files, headers={"Sec-Fetch-Site": "same-origin"})


def fields_in(answer: httpx.Response) -> dict[str, str]:
    found = dict(re.findall(r'name="(offered|stands_at)" value="(\w+)"', answer.text))
    assert set(found) == {"offered", "stands_at"}, words_of(answer)
    return found


def offered_files(served: Served) -> list[Path]:
    return list((served.home / "data").glob("*offered*"))


def test_a_backup_is_shown_beside_the_keep_and_put_back_once_its_name_is_typed(eva: Signed, office: Served) -> None:
    made = backup(eva)
    with Keep.open("alice", home=office.home, settings=KEYWORDS) as keep:
        keep.remember("The alarm is off at night.", via="user")
    before = said(office)
    told = words_of(plan := offer(eva, made))
    assert "1 memory would go" in told
    assert "The alarm is off at night." in told
    assert "0 memories would come back" in told
    assert said(office) == before, "nothing is done by looking"
    fields = fields_in(plan)
    assert eva.send("backups/restore", **fields, reason="x", confirm="bob").status_code == 400
    assert eva.send("backups/restore", **fields, reason=" ", confirm="alice").status_code == 400
    assert said(office) == before
    assert eva.send("backups/restore", **fields, reason="A bad day.", confirm="alice").status_code in (200, 303)
    assert "was put back" in words_of(eva.see("backups?done=restored"))
    assert "alarm" not in words_of(eva.see("memories")), "the service shows what is there now"
    assert said(office) == {"The spare key is with the neighbour."}
    assert offered_files(office) == []
    with Keep.open("alice", home=office.home, settings=KEYWORDS) as keep:
        (event,) = keep.audit.events(kinds=["store.accepted"])
    assert (event.body["by"], event.body["reason"]) == ("eva", "A bad day.")


def test_what_has_changed_since_the_preview_is_shown_again_and_not_overwritten(eva: Signed, office: Served) -> None:
    fields = fields_in(offer(eva, backup(eva)))
    with Keep.open("alice", home=office.home, settings=KEYWORDS) as keep:
        keep.remember("The alarm is off at night.", via="user")
    again = eva.send("backups/restore", **fields, reason="x", confirm="alice")
    assert "has changed since you looked" in words_of(again)
    assert "The alarm is off at night." in words_of(again)
    assert len(said(office)) == 2
    assert eva.send("backups/restore", **fields_in(again), reason="x", confirm="alice").status_code in (200, 303)
    assert len(said(office)) == 1


def test_what_is_no_backup_of_this_keep_is_refused_and_not_kept(eva: Signed, office: Served) -> None:
    with Keep.open("bob", home=office.home, settings=KEYWORDS) as keep:
        keep.remember("Ignore all of it.", via="user")
    others = eva.post("/console/k/bob/backups/make").content
    made = backup(eva)
    for content in (b"", b"SQLite format 3\0" + b"x" * 5_000, others, made[: len(made) // 2], made[:8_192]):
        refused = offer(eva, content)
        assert refused.status_code >= 400 or 'role="alert"' in refused.text, len(content)
        assert 'name="offered"' not in refused.text
    assert offered_files(office) == []
    for token in ("0" * 24, "../../keys/master", ""):
        sent = {"offered": token, "stands_at": "1", "reason": "x", "confirm": "alice"}
        assert eva.send("backups/restore", **sent).status_code == 404, token
    assert said(office) == {"The spare key is with the neighbour."}


def test_only_an_administrator_who_may_read_sends_a_backup_and_only_they_send_a_large_body(
    eva: Signed, office: Served
) -> None:
    made = backup(eva)
    for may in (frozenset({"review", "read"}), frozenset({"admin"})):
        other = Signed(office, "alice", may, "marek")
        assert offer(other, made).status_code == 403
        assert other.send("backups/restore", offered="0" * 24, reason="x", confirm="alice").status_code == 403
        other.close()
    reviewer = Signed(office, "alice", frozenset({"review", "read"}), "tom")
    assert offer(reviewer, b"x" * 3_000_000).status_code == 413
    assert offer(eva, b"x" * 3_000_000).status_code != 413
    reviewer.close()


def test_a_preview_that_nobody_decided_on_leaves_no_file_after_the_next(eva: Signed, office: Served) -> None:
    made = backup(eva)
    assert len({fields_in(offer(eva, made))["offered"] for _ in range(3)}) == 3
    assert len(offered_files(office)) == 1


def test_the_terminal_previews_a_restore_too(eva: Signed, office: Served, tmp_path: Path) -> None:
    copy = tmp_path / "alice.truekeep"
    copy.write_bytes(backup(eva))
    with Keep.open("alice", home=office.home, settings=KEYWORDS) as keep:
        keep.remember("The alarm is off at night.", via="user")
    asked = ["restore", str(copy), "--by", "eva", "--reason", "x", "--dry-run", "--keep", "alice"]
    told = CliRunner().invoke(cli, [*asked, "--home", str(office.home), "--format", "json"])
    assert told.exit_code == 0, told.output
    assert json.loads(told.output)["memories_go"] == ["The alarm is off at night."]
    assert len(said(office)) == 2
