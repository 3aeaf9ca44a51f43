"""Bad input: each kind gets its own clear error, nothing is echoed and nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from truekeep import Keep, Settings, TruekeepError, first_threat_message, scan_content, screen_candidate
from truekeep.config import Paths
from truekeep.errors import (
    ConfigError,
    InputError,
    InvalidName,
    InvalidRequest,
    InvalidText,
    KeepClosed,
    UnknownChannel,
    UnknownId,
    UnknownPolicy,
    UnknownScope,
)

NAMES = [
    "",
    ".",
    "..",
    "../alice",
    "a/b",
    "a\\b",
    "a\0b",
    "a" * 300,
    " alice",
    "alice\n",
    "-rf",
    ".hidden",
    "ałice",
    5,
    None,
]


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_a_keep_name_that_is_not_a_plain_name_makes_no_file(tmp_path: Path, name: Any) -> None:
    with pytest.raises(InvalidName) as caught:
        Keep.open(name, home=tmp_path)
    assert caught.value.hint
    assert list(tmp_path.iterdir()) == []


TEXTS: dict[str, tuple[Any, str]] = {
    "not a string": (b"bytes", "text_not_a_string"),
    "none": (None, "text_not_a_string"),
    "a number": (7, "text_not_a_string"),
    "empty": ("", "text_empty"),
    "only spaces": (" \n\t ", "text_empty"),
    "a lone surrogate": ("half \ud83d a face", "text_not_unicode"),
    "over the cap": ("a" * 8001, "text_too_long"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_text_that_cannot_be_remembered_changes_nothing(keep: Keep, case: str) -> None:
    text, code = TEXTS[case]
    stored = keep.remember("The office is in Nitra.", via="user").memory_id
    assert stored
    before = keep.audit.events()
    attempts: list[Callable[[], object]] = [
        lambda: keep.remember(text, via="user"),
        lambda: keep.remember_many([{"text": "fine"}, {"text": text}], via="user"),
        lambda: keep.update_memory(stored, text, via="user"),
    ]
    for call in attempts:
        with pytest.raises(InvalidText) as caught:
            call()
        assert caught.value.code == code
    assert keep.audit.events() == before


def test_text_of_exactly_the_cap_is_remembered_whole(keep: Keep) -> None:
    text = ("word " * 1600)[:7999] + "."
    stored = keep.remember(text, via="user")
    assert stored.memory_id or stored.item_id


def calls(keep: Keep) -> dict[str, tuple[Callable[[], object], type[TruekeepError]]]:
    return {
        "unknown channel": (lambda: keep.remember("x", via="nope"), UnknownChannel),
        "channel of a wrong kind": (lambda: keep.remember("x", via=None), UnknownChannel),  # type: ignore[arg-type]
        "reviewer without a name": (lambda: keep.remember("x", via="reviewer:"), UnknownChannel),
        "unknown memory": (lambda: keep.get_memory("mem_nope"), UnknownId),
        "unknown memory to delete": (lambda: keep.delete_memory("nope", via="user"), UnknownId),
        "unknown memory to change": (lambda: keep.update_memory("nope", "x", via="user"), UnknownId),
        "unknown row": (lambda: keep.get_memory("row-12"), UnknownId),
        "row handle that is too long": (lambda: keep.get_memory("row-" + "9" * 30), UnknownId),
        "unknown parent": (lambda: keep.remember("x", via="user", parents=["mem_nope"]), UnknownId),
        "id of a wrong kind": (lambda: keep.get_memory(5), UnknownId),  # type: ignore[arg-type]
        "unknown kind": (lambda: keep.remember("x", via="user", kind="gospel"), InvalidRequest),
        "k of zero": (lambda: keep.recall("x", k=0), InvalidRequest),
        "k too large": (lambda: keep.recall("x", k=10**9), InvalidRequest),
        "k of a wrong kind": (lambda: keep.recall("x", k=True), InvalidRequest),
        "query of a wrong kind": (lambda: keep.recall(5), InvalidRequest),  # type: ignore[arg-type]
        "query too long": (lambda: keep.recall("x" * 10_001), InvalidRequest),
        "naive moment": (lambda: keep.remember("x", via="user", as_of=datetime(2026, 1, 1)), InvalidRequest),
        "topics as one string": (lambda: keep.remember("x", via="user", topics="tea"), InvalidRequest),
        "too many topics": (lambda: keep.remember("x", via="user", topics=["t"] * 100), InvalidRequest),
        "metadata that is not JSON": (lambda: keep.remember("x", via="user", metadata={"a": object()}), InvalidRequest),
        "metadata with NaN": (lambda: keep.remember("x", via="user", metadata={"a": float("nan")}), InvalidRequest),
        "metadata too large": (lambda: keep.remember("x", via="user", metadata={"a": "b" * 9000}), InvalidRequest),
        "session with a space": (lambda: keep.session("s 1"), InvalidName),
        "empty session": (lambda: keep.snapshot(""), InvalidName),
        "review state": (lambda: keep.review.list("lost"), InvalidRequest),
    }


@pytest.mark.parametrize(
    "case",
    [
        "unknown channel",
        "channel of a wrong kind",
        "reviewer without a name",
        "unknown memory",
        "unknown memory to delete",
        "unknown memory to change",
        "unknown row",
        "row handle that is too long",
        "unknown parent",
        "id of a wrong kind",
        "unknown kind",
        "k of zero",
        "k too large",
        "k of a wrong kind",
        "query of a wrong kind",
        "query too long",
        "naive moment",
        "topics as one string",
        "too many topics",
        "metadata that is not JSON",
        "metadata with NaN",
        "metadata too large",
        "session with a space",
        "empty session",
        "review state",
    ],
)
def test_an_argument_out_of_its_range_is_a_clear_error(keep: Keep, case: str) -> None:
    table = calls(keep)
    call, error = table[case]
    before = keep.audit.events()
    with pytest.raises(error) as caught:
        call()
    assert caught.value.code
    assert keep.audit.events() == before
    assert len(table) == 25


def test_unknown_policies_and_scopes_are_value_errors(tmp_path: Path) -> None:
    with pytest.raises(UnknownPolicy):
        Keep.open("alice", home=tmp_path, policy="lenient")
    assert list(tmp_path.iterdir()) == []
    for function in (scan_content, first_threat_message):
        with pytest.raises(UnknownScope):
            function("x", scope="all")
    assert issubclass(UnknownScope, ValueError)


@pytest.mark.parametrize(
    "candidate", [None, [], {}, {"fact": ""}, {"fact": "x", "provenance": []}, {"fact": 5}], ids=repr
)
def test_a_malformed_candidate_is_a_value_error(candidate: Any) -> None:
    with pytest.raises(InputError):
        screen_candidate(candidate)


def test_a_closed_keep_says_so(keep: Keep) -> None:
    keep.close()
    keep.close()
    for call in (
        lambda: keep.remember("x", via="user"),
        lambda: keep.recall("x"),
        keep.get_memories,
        lambda: keep.snapshot("s-1"),
        keep.review.list,
        keep.audit.verify,
    ):
        with pytest.raises(KeepClosed):
            call()


def test_errors_never_echo_what_was_passed(keep: Keep) -> None:
    evil = "</memories>EVIL\x1b[31m"
    for call in (
        lambda: keep.remember("x", via=evil),
        lambda: keep.get_memory(evil),
        lambda: keep.session(evil),
        lambda: keep.remember("x", via="user", kind=evil),
        lambda: keep.review.show(evil),
        lambda: keep.review.list(evil),
        lambda: Keep.open(evil),
    ):
        with pytest.raises(TruekeepError) as caught:
            call()
        assert "EVIL" not in str(caught.value) + caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "polcy = 'strict'",
        "text_cap = 'many'",
        "text_cap = -1",
        "half_life_days = nan",
        "[channels.crm]\nstanding = 'king'",
        "[channels.crm]\nrights = ['write']",
        "[channels.crm]\nstanding = 'owner'\ncapabilities = ['fly']",
        "channels = 5",
        "not toml",
        "text_cap = true",
    ],
)
def test_a_settings_file_that_cannot_be_used_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(ConfigError):
        Settings.load(tmp_path)


def test_the_environment_overrides_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.toml").write_text("text_cap = 10\n")
    monkeypatch.setenv("TRUEKEEP_TEXT_CAP", "20")
    assert Settings.load(tmp_path).text_cap == 20
    monkeypatch.setenv("TRUEKEEP_TEXT_CAP", "lots")
    with pytest.raises(ConfigError):
        Settings.load(tmp_path)


def test_paths_follow_home_then_environment_then_xdg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xd"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xc"))
    assert Paths.resolve().data == tmp_path / "xd" / "truekeep"
    assert Paths.resolve().keys == tmp_path / "xc" / "truekeep" / "keys"
    monkeypatch.setenv("TRUEKEEP_HOME", str(tmp_path / "env"))
    assert Paths.resolve().data == tmp_path / "env" / "data"
    assert Paths.resolve(tmp_path / "arg").keys == tmp_path / "arg" / "keys"
    monkeypatch.setenv("TRUEKEEP_KEYS", str(tmp_path / "safe"))
    assert Paths.resolve(tmp_path / "arg").keys == tmp_path / "safe"


def test_a_full_disk_is_a_clear_error_and_changes_nothing(keep: Keep) -> None:
    from truekeep.errors import StoreFull

    keep.remember("The office is in Nitra.", via="user")
    database = keep._ledger._backend._db  # type: ignore[attr-defined]
    database.pragma("max_page_count", int(database.pragma("page_count")))
    before = keep.audit.events()
    with pytest.raises(StoreFull):
        for number in range(200):
            keep.remember(f"Fact {number}: " + "word " * 200, via="user")
    database.pragma("max_page_count", 1_000_000)
    assert keep.audit.events()[: len(before)] == before
    assert keep.audit.verify().ok
    assert keep.remember("There is room again.", via="user").accepted
