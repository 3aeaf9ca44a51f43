"""Tokens: shown once, hashed at rest, bound to keeps, channel and capabilities, expiring and revocable."""

from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.conftest import Run, run
from tests.conftest import Clock
from truekeep.errors import InvalidRequest, KeyUnavailable, NotAllowed, NotAuthenticated, TruekeepError, UnknownId
from truekeep.serve.identity import Identity
from truekeep.serve.tokens import TokenBook

__all__ = ["run"]


@pytest.fixture
def book(tmp_path: Path, clock: Clock) -> TokenBook:
    return TokenBook(tmp_path / "keys", clock)


def test_a_token_says_who_holds_it_and_what_they_may(book: TokenBook) -> None:
    secret, token = book.add("alice", "agent", ["read", "write"], subject="the helper")
    assert book.identify(secret) == Identity(token.id, "alice", "agent", frozenset({"read", "write"}), "the helper")


def test_the_file_holds_no_secret_and_is_for_its_owner_only(book: TokenBook, tmp_path: Path) -> None:
    secret, _ = book.add("alice", "user", ["read"])
    path = tmp_path / "keys" / "tokens.json"
    assert secret.rsplit("_", 1)[-1] not in path.read_text()
    assert secret.split("_", 2)[2] not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_revocation_counts_at_once_also_in_another_process(book: TokenBook, tmp_path: Path, clock: Clock) -> None:
    secret, token = book.add("alice", "user", ["read"])
    other = TokenBook(tmp_path / "keys", clock)
    assert other.identify(secret).token_id == token.id
    book.revoke(token.id)
    with pytest.raises(NotAuthenticated):
        other.identify(secret)
    assert [one.state(clock()) for one in other.list()] == ["revoked"]


def test_a_token_expires(book: TokenBook, clock: Clock) -> None:
    secret, _ = book.add("alice", "user", ["read"], days=1)
    clock.advance(hours=23, minutes=59)
    book.identify(secret)
    clock.advance(minutes=1)
    with pytest.raises(NotAuthenticated):
        book.identify(secret)


@given(st.text(max_size=80))
def test_what_is_no_token_is_refused_whatever_it_is(presented: str) -> None:
    with pytest.raises(NotAuthenticated):
        TokenBook(Path("/nonexistent")).identify(presented)


def test_every_near_miss_of_a_token_is_refused_in_the_same_words(book: TokenBook) -> None:
    secret, token = book.add("alice", "user", ["read"])
    other, _ = book.add("bob", "user", ["read"])
    swapped = f"tk_{token.id}_{other.split('_', 2)[2]}"
    misses = [secret[:-1], secret + "x", secret.upper(), f" {secret}", swapped, token.hash, token.id, "", secret[3:]]
    messages = set()
    for miss in misses:
        with pytest.raises(NotAuthenticated) as refused:
            book.identify(miss)
        messages.add((str(refused.value), refused.value.code, refused.value.hint))
    assert len(messages) == 1


@pytest.mark.parametrize(
    ("keep", "channel", "may", "code"),
    [
        ("../alice", "user", ["read"], "invalid_keep_pattern"),
        ("", "user", ["read"], "invalid_keep_pattern"),
        ("a[b]", "user", ["read"], "invalid_keep_pattern"),
        ("alice", "user\n", ["read"], "invalid_channel_name"),
        ("alice", "user", [], "unknown_capability"),
        ("alice", "user", ["root"], "unknown_capability"),
        ("alice", "user", ["write", "review"], "capability_conflict"),
        ("alice", "crm", ["write", "credit"], "capability_conflict"),
        ("alice", "agent", ["read", "admin"], "capability_conflict"),
        ("alice", "agent", ["delete"], "capability_conflict"),
    ],
)
def test_a_token_that_must_not_be_is_not_made(
    book: TokenBook, keep: str, channel: str, may: list[str], code: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        book.add(keep, channel, may)
    assert refused.value.code == code
    assert book.list() == []


def test_many_tokens_made_at_once_are_all_there(book: TokenBook) -> None:
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda number: book.add(f"k{number}", "user", ["read"])[0], range(24)))
    assert {book.identify(secret).keep_pattern for secret in made} == {f"k{number}" for number in range(24)}


def test_a_damaged_file_lets_nobody_in(book: TokenBook, tmp_path: Path) -> None:
    secret, _ = book.add("alice", "user", ["read"])
    (tmp_path / "keys" / "tokens.json").write_text('{"truekeep": "tokens", "version": 1, "tokens": [{"id": 1}]}')
    with pytest.raises(KeyUnavailable):
        book.identify(secret)


# Which keep


def identity(pattern: str, *may: str) -> Identity:
    return Identity("t", pattern, "user", frozenset(may or ("read", "write")))


def test_a_token_for_one_keep_need_not_name_it_and_reaches_no_other() -> None:
    assert identity("alice").keep() == identity("alice").keep("alice") == "alice"
    with pytest.raises(UnknownId):
        identity("alice").keep("bob")


def test_a_pattern_reaches_what_it_covers_and_must_be_told_which() -> None:
    assert identity("team-*").keep("team-red") == "team-red"
    with pytest.raises(UnknownId):
        identity("team-*").keep("other")
    with pytest.raises(InvalidRequest):
        identity("team-*").keep()


@given(st.text(max_size=40))
def test_no_name_leads_out_of_the_data_directory(name: str) -> None:
    try:
        reached = identity("*").keep(name)
    except TruekeepError:
        return
    assert reached == name
    assert "/" not in reached
    assert not reached.startswith(".")


def test_what_a_token_may_not_is_said_by_name() -> None:
    with pytest.raises(NotAllowed, match="may not write"):
        identity("alice", "read").require("write")


# On the terminal


def test_the_command_shows_a_token_once(run: Run) -> None:
    made = run("tokens", "add", "--keep", "alice", "--channel", "agent", "--may", "read", "--format", "json").json
    assert made["token"].startswith(f"tk_{made['id']}_")
    listed = run("tokens", "list", "--format", "json")
    assert made["token"].split("_", 2)[2] not in listed.out
    assert [(one["id"], one["state"]) for one in listed.json] == [(made["id"], "active")]
    assert run("tokens", "revoke", made["id"]).code == 0
    assert json.loads(run("tokens", "list", "--format", "json").out)[0]["state"] == "revoked"
    assert "alice" in run("tokens", "list").out
