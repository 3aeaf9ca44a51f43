"""Anchors outside the store, one or several: none may be missing, and the store neither behind nor beside any."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from truekeep.config import Paths, Settings
from truekeep.errors import AnchorUnavailable, ConfigError, StoreTampered
from truekeep.stores.anchor import SIZE, Anchor, AnchorHead, AppendAnchor, FileAnchor
from truekeep.stores.anchors import anchors_of
from truekeep.stores.files import open_ledger
from truekeep.stores.ledger import Ledger

KEY = bytes(range(32))
KINDS: dict[str, Callable[[Path], Anchor]] = {
    "in place": lambda path: FileAnchor(path, KEY, "file:/x"),
    "append-only": lambda path: AppendAnchor(path, KEY, "append:/x"),
}


def head(seq: int) -> AnchorHead:
    return AnchorHead(seq, bytes([seq]) * 32, "2026-03-01T12:00:00.000000Z")


@pytest.fixture(params=KINDS)
def anchor(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Anchor]:
    made = KINDS[request.param](tmp_path / "alice.anchor")
    made.create()
    yield made
    made.close()


def test_an_anchor_keeps_the_newest_head_with_its_time(anchor: Anchor) -> None:
    assert anchor.read() == AnchorHead(0, bytes(32))
    for seq in (1, 2, 3):
        anchor.advance(head(seq))
    found = anchor.read()
    assert found == head(3)
    assert found.at == "2026-03-01T12:00:00.000000Z"


def test_an_anchor_never_moves_back(anchor: Anchor) -> None:
    anchor.advance(head(5))
    anchor.advance(head(4))
    anchor.create()
    assert anchor.read() == head(5)


def test_only_a_new_term_moves_an_anchor_back_and_it_lasts(anchor: Anchor) -> None:
    anchor.advance(head(5))
    anchor.restart(head(2))
    assert anchor.read() == head(2)
    anchor.advance(head(3))
    found = anchor.read()
    assert found == head(3)
    assert found.term == 1


def test_a_torn_record_leaves_the_one_before_it(anchor: Anchor, tmp_path: Path) -> None:
    anchor.advance(head(1))
    anchor.advance(head(2))
    path = tmp_path / "alice.anchor"
    data = path.read_bytes()
    newest = max(range(0, len(data), SIZE), key=lambda at: data[at + 12 : at + 20])
    path.write_bytes(data[: newest + 40] + bytes(SIZE - 40) + data[newest + SIZE :])
    assert anchor.read() == head(1)
    anchor.advance(head(3))
    assert anchor.read() == head(3)


def test_a_stump_at_the_end_of_an_append_only_anchor_is_stepped_over(tmp_path: Path) -> None:
    anchor = KINDS["append-only"](tmp_path / "a.anchor")
    anchor.create()
    anchor.advance(head(1))
    with (tmp_path / "a.anchor").open("ab") as file:
        file.write(b"tkanchr1 torn")
    assert anchor.read() == head(1)
    anchor.advance(head(2))
    assert anchor.read() == head(2)


def test_an_append_only_anchor_only_ever_grows(tmp_path: Path) -> None:
    path = tmp_path / "a.anchor"
    anchor = KINDS["append-only"](path)
    anchor.create()
    before = path.read_bytes()
    for change, seq in ((anchor.advance, 1), (anchor.restart, 0), (anchor.advance, 1)):
        change(head(seq))
        assert path.read_bytes().startswith(before)
        before = path.read_bytes()


def test_an_anchor_under_another_key_is_no_anchor(anchor: Anchor, tmp_path: Path) -> None:
    anchor.advance(head(1))
    for kind in (FileAnchor, AppendAnchor):
        assert kind(tmp_path / "alice.anchor", bytes(32), "other").read() is None


def test_a_file_put_in_the_anchors_place_is_noticed_by_the_one_who_has_it_open(tmp_path: Path) -> None:
    path = tmp_path / "a.anchor"
    anchor = FileAnchor(path, KEY)
    anchor.create()
    old = path.read_bytes()
    anchor.advance(head(1))
    path.unlink()
    path.write_bytes(old)
    anchor.advance(head(2))
    assert FileAnchor(path, KEY).read() == head(2)


@pytest.mark.parametrize("setting", ["", " , ", "nowhere:/x", "file:", "file:relative", "append:", "keys;file:/x"])
def test_a_setting_that_names_no_place_is_refused(tmp_path: Path, setting: str) -> None:
    with pytest.raises(ConfigError):
        anchors_of(setting, tmp_path, "alice", KEY)


# With a ledger


def opened(home: Path, anchor: str) -> Ledger:
    return open_ledger(Paths.resolve(home), "alice", lambda: datetime(2026, 3, 1, tzinfo=UTC), Settings(anchor=anchor))


def put(ledger: Ledger, *names: str) -> None:
    for name in names:
        with ledger.writing() as entry:
            entry.put("memories", name, {"text": name})
            entry.event("test.put")


@pytest.fixture
def elsewhere(tmp_path: Path) -> str:
    return f"keys, file:{tmp_path / 'second'}, append:{tmp_path / 'log'}"


@pytest.fixture
def places(tmp_path: Path, home: Path) -> dict[str, Path]:
    return {
        "keys": home / "keys" / "keeps" / "alice.anchor",
        "second": tmp_path / "second" / "alice.anchor",
        "log": tmp_path / "log" / "alice.anchor",
    }


def test_every_write_is_in_every_anchor(home: Path, elsewhere: str, places: dict[str, Path]) -> None:
    ledger = opened(home, elsewhere)
    put(ledger, "one", "two")
    assert [anchor.read() for anchor in ledger._verified.anchors.all] == [ledger.head] * 3
    assert all(path.exists() for path in places.values())
    ledger.close()
    again = opened(home, elsewhere)
    assert again.verify().ok
    again.close()


@pytest.mark.parametrize("place", ["keys", "second", "log"])
def test_a_missing_anchor_is_refused_whichever_it_is(
    home: Path, elsewhere: str, places: dict[str, Path], place: str
) -> None:
    ledger = opened(home, elsewhere)
    put(ledger, "one")
    ledger.close()
    places[place].unlink()
    with pytest.raises(StoreTampered) as caught:
        opened(home, elsewhere)
    assert caught.value.code == "anchor_missing"


@pytest.mark.parametrize("place", ["keys", "second", "log"])
def test_one_anchor_is_enough_to_notice_a_rollback(
    home: Path, elsewhere: str, places: dict[str, Path], place: str
) -> None:
    """Data and all other anchors come back from the same old backup."""
    ledger = opened(home, elsewhere)
    put(ledger, "one")
    ledger.close()
    data = home / "data"
    shutil.copytree(data, home / "old")
    old = {name: path.read_bytes() for name, path in places.items() if name != place}
    ledger = opened(home, elsewhere)
    put(ledger, "two")
    ledger.close()
    shutil.rmtree(data)
    shutil.copytree(home / "old", data)
    for name, content in old.items():
        places[name].write_bytes(content)
    with pytest.raises(StoreTampered) as caught:
        opened(home, elsewhere)
    assert caught.value.code == "store_rolled_back"


def test_an_anchor_that_is_new_in_the_settings_is_taken_up_and_then_counts(
    home: Path, elsewhere: str, places: dict[str, Path]
) -> None:
    ledger = opened(home, "keys")
    put(ledger, "one")
    ledger.close()
    ledger = opened(home, elsewhere)
    put(ledger, "two")
    assert [anchor.read() for anchor in ledger._verified.anchors.all] == [ledger.head] * 3
    ledger.close()
    places["log"].unlink()
    with pytest.raises(StoreTampered):
        opened(home, elsewhere)


@pytest.mark.parametrize("place", ["second", "log"])
def test_an_anchor_taken_up_since_an_old_copy_was_made_still_knows_better_than_the_copy(
    home: Path, elsewhere: str, places: dict[str, Path], place: str
) -> None:
    """To the old copy, data and keys, it is new in the settings; what it has written down counts all the same."""
    ledger = opened(home, "keys")
    put(ledger, "one")
    ledger.close()
    shutil.copytree(home, home.with_name("old"))
    ledger = opened(home, elsewhere)
    put(ledger, "two")
    ledger.close()
    shutil.rmtree(home)
    shutil.copytree(home.with_name("old"), home)
    places["log" if place == "second" else "second"].unlink()
    with pytest.raises(StoreTampered) as caught:
        opened(home, elsewhere)
    assert caught.value.code == "store_rolled_back"


def test_a_rollback_is_not_accepted_by_way_of_a_new_anchor(home: Path, tmp_path: Path) -> None:
    """The settings name only a place that knows nothing yet: the anchor in the key directory is asked all the same."""
    ledger = opened(home, "keys")
    put(ledger, "one")
    ledger.close()
    shutil.copytree(home / "data", home / "old")
    ledger = opened(home, "keys")
    put(ledger, "two")
    ledger.close()
    shutil.rmtree(home / "data")
    shutil.copytree(home / "old", home / "data")
    with pytest.raises(StoreTampered) as caught:
        opened(home, f"append:{tmp_path / 'log'}")
    assert caught.value.code == "store_rolled_back"


def test_a_write_that_cannot_be_anchored_is_not_acknowledged_and_stops_further_ones(
    home: Path, elsewhere: str, places: dict[str, Path]
) -> None:
    ledger = opened(home, elsewhere)
    put(ledger, "one")
    kept = places["second"].read_bytes()
    places["second"].unlink()
    with pytest.raises(AnchorUnavailable):
        put(ledger, "two")
    events = ledger.head.seq
    with pytest.raises(AnchorUnavailable):
        put(ledger, "three")
    assert ledger.head.seq == events, "nothing more was written"
    assert [sealed.row.id for sealed in ledger.all("memories")] == ["one", "two"]
    places["second"].write_bytes(kept)
    put(ledger, "four")
    assert [anchor.read() for anchor in ledger._verified.anchors.all] == [ledger.head] * 3
    ledger.close()
    again = opened(home, elsewhere)
    assert [sealed.row.id for sealed in again.all("memories")] == ["one", "two", "four"]
    again.close()


def test_a_group_of_writes_shares_one_anchor_write(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = opened(home, "keys")
    written: list[int] = []
    real = FileAnchor.advance

    def advance(self: FileAnchor, newest: AnchorHead) -> None:
        written.append(newest.seq)
        real(self, newest)

    monkeypatch.setattr(FileAnchor, "advance", advance)
    with ledger.group():
        put(ledger, "one", "two", "three")
        assert written == []
    assert written == [ledger.head.seq]
    with pytest.raises(RuntimeError), ledger.group():
        put(ledger, "four")
        raise RuntimeError
    assert written[1:] == [ledger.head.seq], "what was committed is anchored, whatever came after it"
    ledger.close()


def test_a_store_ahead_of_its_anchor_must_extend_it(home: Path) -> None:
    """A crash between commit and anchor heals; another history of the same length does not pass for one."""
    ledger = opened(home, "keys")
    put(ledger, "one")
    anchor = home / "keys" / "keeps" / "alice.anchor"
    before = anchor.read_bytes()
    put(ledger, "two")
    ledger.close()
    anchor.write_bytes(before)
    healed = opened(home, "keys")
    assert healed.head.seq == 3
    healed.close()
    assert anchor.read_bytes() != before


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a file that only grows")
def test_an_append_only_file_attribute_does_not_stop_it() -> None:
    if not shutil.which("chattr"):
        pytest.skip("no chattr here")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:  # on a disk: memory need not know such files
        _only_grows(Path(folder) / "a.anchor")


def _only_grows(path: Path) -> None:
    anchor = KINDS["append-only"](path)
    anchor.create()
    if subprocess.run(["chattr", "+a", str(path)], check=False).returncode != 0:
        pytest.skip("this file system knows no append-only files")
    try:
        anchor.advance(head(1))
        assert anchor.read() == head(1)
        with pytest.raises(OSError, match="not permitted"):
            path.write_bytes(b"")
    finally:
        subprocess.run(["chattr", "-a", str(path)], check=True)
