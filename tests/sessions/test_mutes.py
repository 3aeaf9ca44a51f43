"""A muted source is not heard of any more; nothing else changes, and it can be listened to again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Clock
from truekeep import Decision, Keep
from truekeep.errors import InvalidRequest, NotAllowed, UnknownChannel

EVIL, FINE = "https://evil.example/page", "https://fine.example/page"


def mute(keep: Keep, channel: str = "web", principal: str | None = EVIL) -> None:
    keep.channels.mute(channel, principal, by="eva", reason="nothing but lies")


def test_what_a_muted_source_says_neither_waits_nor_is_stored(keep: Keep) -> None:
    mute(keep)
    verdict = keep.remember("The rent is 900 euros.", via="web", principal="http://www.EVIL.example:8080/other")
    assert (verdict.decision, verdict.code) == (Decision.REJECT, "source_muted")
    assert keep.review.count() == 0
    event = keep.audit.events(kinds=["memory.rejected"])[-1]
    assert event.body["code"] == "source_muted"


def test_other_sources_and_the_owner_are_heard_as_before(keep: Keep) -> None:
    mute(keep)
    assert keep.remember("The rent is 900 euros.", via="web", principal=FINE).item_id
    assert keep.remember("The rent is 900 euros.", via="web").item_id
    assert keep.remember("The rent is 900 euros.", via="email", principal="a@evil.example").item_id
    assert keep.remember("The rent is 640 euros.", via="user").accepted


def test_what_waited_and_what_was_let_in_before_stays(keep: Keep) -> None:
    first = keep.remember("The rent is 900 euros.", via="web", principal=EVIL).item_id
    second = keep.remember("Eva lives in Nitra.", via="web", principal=EVIL).item_id
    assert first
    assert second
    keep.review.approve(first, by="eva", reason="checked")
    mute(keep)
    assert [item.id for item in keep.review.list()] == [second]
    assert len(keep.get_memories()) == 1
    assert keep.review.approve(second, by="eva", reason="this one is true").accepted


def test_a_muted_value_is_still_remembered_as_hearsay(keep: Keep) -> None:
    """Muting a source must not make what it says look independent when two systems repeat it."""
    mute(keep)
    keep.remember("Northwind's account number is 9904-71.", via="web", principal=EVIL)
    for name in ("crm", "erp"):
        keep.channels.enrol(name, by="eva", reason="ours")
        keep.remember("Northwind's account number is 9904-71.", via=name)
    assert [one["may_act"] for one in keep.get_memories()] == [False, False]


def test_a_mute_outlives_a_restart_and_can_be_lifted(home: Path, clock: Clock) -> None:
    with Keep.open("alice", home=home, clock=clock, background=False) as keep:
        mute(keep)
    with Keep.open("alice", home=home, clock=clock, background=False) as keep:
        (muted,) = keep.channels.muted()
        assert (muted.channel, muted.principal, muted.by) == ("web", "evil.example", "eva")
        assert keep.remember("Hello there.", via="web", principal=EVIL).code == "source_muted"
        assert keep.channels.unmute("web", EVIL, by="eva", reason="a new owner")
        assert not keep.channels.unmute("web", EVIL, by="eva", reason="a new owner")
        assert keep.remember("Hello there.", via="web", principal=EVIL).item_id
        assert [event.kind for event in keep.audit.events(kinds=["source.muted", "source.unmuted"])] == [
            "source.muted",
            "source.unmuted",
        ]


@pytest.mark.parametrize("channel", ["user", "agent", "outcomes", "crm"])
def test_only_sources_of_hearsay_can_be_muted(keep: Keep, channel: str) -> None:
    keep.channels.enrol("crm", by="eva", reason="ours")
    with pytest.raises(InvalidRequest) as refused:
        mute(keep, channel, None)
    assert refused.value.code == "cannot_mute"


def test_a_mute_is_no_channel(keep: Keep) -> None:
    mute(keep)
    row_id = next(sealed.row.id for sealed in keep._ledger.all("channels"))
    assert row_id not in {one["name"] for one in keep.channels.list()}
    assert not keep.channels.is_shared()
    with pytest.raises(UnknownChannel):
        keep.channels.get(row_id)
    with pytest.raises((UnknownChannel, NotAllowed)):
        keep.remember("Hello there.", via=row_id)


def test_a_muted_person_can_be_erased_and_stays_muted(keep: Keep) -> None:
    mute(keep)
    keep.erase(subject="evil.example", by="eva", reason="as asked")
    assert keep.channels.muted()[0].principal != "evil.example"
    assert keep.remember("Hello there.", via="web", principal=EVIL).code == "source_muted"
