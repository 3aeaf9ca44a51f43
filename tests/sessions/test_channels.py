"""Channels of a keep: enrolled and retired by people, sealed, and never more than they were given."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import intruder
from truekeep import Keep
from truekeep.config import Settings, default_channels
from truekeep.errors import InputError, NotAllowed, StoreTampered, UnknownChannel
from truekeep.types import Channel, Standing


def test_an_enrolled_system_writes_as_itself_until_it_is_retired(informed: Keep) -> None:
    with pytest.raises(UnknownChannel):
        informed.remember("Northwind's plan is Gold.", via="crm")
    informed.channels.enrol("crm", by="eva", reason="our CRM")
    first = informed.remember("Northwind's plan is Gold.", via="crm").memory_id
    assert first
    assert informed.get_memory(first)["standing"] == "enrolled"
    informed.channels.retire("crm", by="eva", reason="replaced")
    with pytest.raises(NotAllowed) as refused:
        informed.remember("Northwind's plan is Silver.", via="crm")
    assert refused.value.code == "channel_retired"
    assert informed.get_memory(first)["content"] == "Northwind's plan is Gold."
    kinds = [event.kind for event in informed.audit.events() if event.kind.startswith("channel.")]
    assert kinds == ["channel.enrolled", "channel.retired"]


@pytest.mark.parametrize("name", ["user", "agent", "web", "outcomes"])
def test_a_channel_of_the_settings_can_neither_be_retired_nor_enrolled(informed: Keep, name: str) -> None:
    for attempt in (informed.channels.retire, informed.channels.enrol):
        with pytest.raises(InputError) as refused:
            attempt(name, by="eva", reason="please")
        assert refused.value.code == "built_in_channel"
    assert informed.remember("I live in Brno.", via="user").accepted


def test_a_built_in_channel_that_an_older_version_retired_comes_back_as_it_was(informed: Keep) -> None:
    before = informed.channels.get("user")
    informed.channels._write(before, "retired", "eva", "by mistake")
    with pytest.raises(NotAllowed):
        informed.remember("I live in Brno.", via="user")
    assert informed.channels.enrol("user", by="eva", reason="the owner is needed") == before
    assert informed.remember("I live in Brno.", via="user").accepted


def test_nobody_in_a_keep_makes_more_of_a_channel_than_the_operator_did(home: Path) -> None:
    """Enrolled over, a source of hearsay would stand as enrolled, and could not even be retired again."""
    mail = Channel("newsletter", Standing.HEARSAY, frozenset({"write"}))
    chosen = Settings(embedder="none", channels={**default_channels(), "newsletter": mail})
    with Keep.open("alice", home=home, settings=chosen) as keep:
        for capabilities in (None, ["write", "confirm"]):
            with pytest.raises(InputError) as refused:
                keep.channels.enrol("newsletter", by="eva", reason="we trust them", capabilities=capabilities)
            assert refused.value.code == "built_in_channel"
        assert keep.channels.get("newsletter") == mail
        keep.channels._write(Channel("newsletter", Standing.ENROLLED, mail.capabilities), "enrolled", "eva", "before")
        assert keep.channels.enrol("newsletter", by="eva", reason="as the settings have it") == mail


@pytest.mark.parametrize("name", ["reviewer:eva", "reviewer:nobody", "reviewer:" + "x" * 5_000])
def test_what_cannot_be_retired_does_not_say_that_it_was(informed: Keep, name: str) -> None:
    with pytest.raises(InputError) as refused:
        informed.channels.retire(name, by="ops", reason="she left")
    assert (refused.value.code, "tokens" in str(refused.value.hint)) == ("built_in_channel", True)
    assert not [entry for entry in informed.channels.list() if entry["state"] == "retired"]


@pytest.mark.parametrize(
    ("name", "capabilities", "code"),
    [
        ("crm", ["fly"], "unknown_capability"),
        ("crm", ["write", "credit"], "capability_conflict"),
        ("crm", ["review"], "capability_conflict"),
        ("reviewer:eva", None, "invalid_channel_name"),
        ("CRM", None, "invalid_channel_name"),
        ("", None, "invalid_channel_name"),
        ("a b", None, "invalid_channel_name"),
        ("member:", None, "invalid_channel_name"),
    ],
)
def test_bad_enrolments_are_refused(informed: Keep, name: str, capabilities: list[str] | None, code: str) -> None:
    with pytest.raises(InputError) as refused:
        informed.channels.enrol(name, by="eva", reason="why not", capabilities=capabilities)
    assert refused.value.code == code
    assert not [event for event in informed.audit.events() if event.kind == "channel.enrolled"]


@pytest.mark.parametrize("edit", ["body = replace(body, 'enrolled', 'owner')", "id = 'other'"])
def test_an_altered_enrolment_lets_nothing_in(keep: Keep, home: Path, edit: str) -> None:
    """Renamed, a retired channel would be open again: whatever was altered here, a person has to look at it."""
    keep.channels.enrol("crm", by="eva", reason="our CRM")
    with intruder(home) as connection:
        connection.execute(f"UPDATE channels SET {edit}")
    with pytest.raises(StoreTampered) as refused:
        keep.remember("Northwind's plan is Gold.", via="crm")
    assert refused.value.code == "rows_altered"


def test_a_forged_enrolment_is_no_enrolment(keep: Keep, home: Path) -> None:
    with intruder(home) as connection:
        body = '{"v":1,"state":"enrolled","standing":"owner","capabilities":["write"]}'
        row = (9, "crm", "", body, bytes(32))
        connection.execute("INSERT INTO channels(seq, id, tag, body, mac) VALUES (?, ?, ?, ?, ?)", row)
        connection.execute("INSERT INTO channels SELECT 10, 'user', tag, body, mac FROM channels")
    with pytest.raises(UnknownChannel):
        keep.remember("Northwind's plan is Gold.", via="crm")
    assert keep.remember("The office is in Nitra.", via="user").accepted, "a forged row shuts nobody out"


def test_the_listing_says_where_each_channel_comes_from(keep: Keep) -> None:
    keep.channels.enrol("crm", by="eva", reason="our CRM")
    listed = {entry["name"]: entry for entry in keep.channels.list()}
    assert listed["user"]["state"] == "built in"
    assert (listed["crm"]["state"], listed["crm"]["by"]) == ("enrolled", "eva")
