"""History is not contradiction: records say since when they hold, and the past can be asked about."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.conftest import Clock
from tests.read.test_way_out import RULE
from truekeep import Keep
from truekeep.errors import InvalidRequest, NotAllowed, UnknownId
from truekeep.rules.registry import Registry, write_registry

MARCH, MAY, JULY = (datetime(2026, month, 15, tzinfo=UTC) for month in (3, 5, 7))


def said(keep: Keep, text: str, via: str = "user", **fields: object) -> str:
    memory_id = keep.remember(text, via=via, **fields).memory_id  # type: ignore[arg-type]
    assert memory_id
    return memory_id


def then(keep: Keep, moment: datetime, query: str = "live moved") -> list[str]:
    return [hit.text for hit in keep.recall(query, as_of=moment)]


@pytest.fixture
def moved(keep: Keep, clock: Clock) -> Keep:
    """Praha since January; in August the owner says that they moved in May."""
    said(keep, "I live in Praha.", as_of=datetime(2026, 1, 10, tzinfo=UTC))
    clock.now = datetime(2026, 8, 20, tzinfo=UTC)
    said(keep, "I moved to Brno in May.")
    return keep


def test_a_move_is_history(moved: Keep) -> None:
    assert then(moved, datetime(2026, 8, 21, tzinfo=UTC)) == ["I moved to Brno in May."]
    assert then(moved, JULY) == ["I moved to Brno in May."], "true in July, although it was said in August"
    assert then(moved, MARCH) == ["I live in Praha."]
    assert then(moved, datetime(2025, 12, 1, tzinfo=UTC)) == []


def test_a_record_has_its_valid_time(moved: Keep) -> None:
    old = moved.get_memories(as_of=MARCH)[0]
    assert (old["valid_from"][:10], old["valid_until"][:10]) == ("2026-01-10", "2026-05-01")
    (new,) = moved.get_memories()
    assert (new["valid_from"][:10], new["valid_until"]) == ("2026-05-01", None)
    assert old["retired_by"] == new["id"]


def test_what_is_history_never_acts(moved: Keep) -> None:
    (hit,) = moved.recall("live moved", as_of=MARCH)
    assert (hit.may_act, hit.retired_by is not None, str(hit.valid_until)[:10]) == (False, True, "2026-05-01")
    assert moved.recall("live moved", as_of=MARCH, influence_only=True) == []


def test_an_earlier_version_is_recalled_at_its_time(keep: Keep, clock: Clock) -> None:
    memory = said(keep, "The office wifi is called Heron.")
    clock.advance(days=30)
    keep.update_memory(memory, "The office wifi is called Ibis.", via="user")
    clock.advance(days=30)
    moment = clock() - timedelta(days=45)
    (hit,) = keep.recall("Heron wifi", as_of=moment)
    assert (hit.text, hit.may_act, hit.memory.version) == ("The office wifi is called Heron.", False, 1)
    assert [entry["content"] for entry in keep.get_memories(as_of=moment)] == ["The office wifi is called Heron."]
    assert [hit.text for hit in keep.recall("office wifi", as_of=clock())] == ["The office wifi is called Ibis."]
    assert [hit.text for hit in keep.recall("Heron wifi")] == ["The office wifi is called Ibis."]


def test_versions_of_a_memory_can_be_listed(keep: Keep, clock: Clock) -> None:
    memory = said(keep, "The office wifi is called Heron.")
    clock.advance(days=30)
    keep.update_memory(memory, "The office wifi is called Ibis.", via="user")
    versions = keep.history(memory)
    assert [(one["version"], one["content"][-6:-1], one["retired"]) for one in versions] == [
        (1, "Heron", "changed"),
        (2, " Ibis", None),
    ]
    with pytest.raises(UnknownId):
        keep.history("mem_nothing")


def test_what_was_forgotten_is_forgotten_at_any_time(keep: Keep, clock: Clock) -> None:
    memory = said(keep, "The office wifi is called Heron.")
    clock.advance(days=30)
    keep.update_memory(memory, "The office wifi is called Ibis.", via="user")
    clock.advance(days=30)
    keep.delete_memory(memory, via="user")
    for days in (0, 15, 45):
        moment = clock() - timedelta(days=days)
        assert keep.recall("office wifi Heron Ibis", as_of=moment) == []
        assert keep.get_memories(as_of=moment) == []


def test_what_had_expired_since_is_recalled_at_its_time(keep: Keep, clock: Clock) -> None:
    start = clock()
    said(keep, "I am staying in Rome.", expires_at=start + timedelta(days=7))
    clock.advance(days=30)
    assert then(keep, clock(), "staying in Rome") == []
    assert then(keep, start + timedelta(days=1), "staying in Rome") == ["I am staying in Rome."]
    assert not keep.recall("staying in Rome", as_of=start + timedelta(days=1))[0].may_act


def test_a_change_that_lies_ahead_waits_for_its_day(keep: Keep, clock: Clock) -> None:
    said(keep, "My rent is 500 euros.")
    said(keep, "My rent is 600 euros since May 2026.")
    assert [memory["content"] for memory in keep.get_memories() if memory["may_act"]] == [
        "My rent is 500 euros.",
        "My rent is 600 euros since May 2026.",
    ]
    assert then(keep, JULY, "my rent") == ["My rent is 600 euros since May 2026."]
    clock.now = JULY
    assert [memory["content"] for memory in keep.get_memories()] == ["My rent is 600 euros since May 2026."]


def test_what_says_itself_that_it_has_ended_no_longer_acts(keep: Keep, clock: Clock) -> None:
    said(keep, "My rent is 500 euros until 31 March 2026.")
    assert keep.get_memories()[0]["may_act"]
    clock.now = MAY
    (memory,) = keep.get_memories()
    assert memory["may_act"] is False
    assert "2026-03-31" in memory["why"]


@pytest.mark.slow
def test_earlier_versions_are_screened_by_todays_rules(keep: Keep, clock: Clock, home: Path, tmp_path: Path) -> None:
    start = clock()
    memory = said(keep, "We met at the blue heron cafe.")
    clock.advance(days=30)
    keep.update_memory(memory, "We met at the station.", via="user")
    (tmp_path / "heron.yaml").write_text(RULE)
    write_registry(home, Registry().with_source(tmp_path / "heron.yaml", "enforce"))
    (hit,) = keep.recall("heron cafe", as_of=start)
    assert hit.blocked
    assert "cafe" not in hit.text + hit.memory.text
    assert [one["blocked"] for one in keep.history(memory)] == [True, False]


def test_hearsay_of_the_time_is_marked_and_capped(informed: Keep, clock: Clock) -> None:
    start = clock()
    said(informed, "The office is in Nitra.")
    for number in range(20):
        said(informed, f"The office is in Nitra, says number {number}.", "web")
    clock.advance(days=100)
    hits = informed.recall("office in Nitra", k=4, as_of=start)
    assert sum(hit.memory.standing == 0 for hit in hits) <= 2
    assert "The office is in Nitra." in [hit.text for hit in hits]


@pytest.mark.parametrize("moment", ["yesterday", datetime(2026, 1, 1), 5])
def test_a_moment_has_a_time_zone(keep: Keep, moment: object) -> None:
    with pytest.raises(InvalidRequest):
        keep.recall("x", as_of=moment)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest):
        keep.get_memories(as_of=moment)  # type: ignore[arg-type]


def test_a_page_of_what_was_replaced_is_not_the_end_of_the_list(keep: Keep) -> None:
    for number in range(12):
        said(keep, f"My rent is {500 + number} euros.")
    said(keep, "I like tea.")
    pages, last = [], None
    while page := keep.get_memories(after=last, limit=1):
        pages.append(page[0]["content"])
        last = page[-1]["id"]
    assert pages == ["My rent is 511 euros.", "I like tea."]


def test_a_person_brings_back_what_was_replaced(keep: Keep) -> None:
    old = said(keep, "I live in Praha.")
    said(keep, "I live in Brno.")
    assert keep.restore(old, via="user").code == "restored"
    assert [memory["content"] for memory in keep.get_memories()] == ["I live in Praha."]
    assert keep.audit.events(kinds=["memory.restored"])[-1].body["memory"] == old


def test_a_person_brings_back_an_earlier_version(keep: Keep) -> None:
    memory = said(keep, "The office wifi is called Heron.")
    keep.update_memory(memory, "The office wifi is called Ibis.", via="user")
    keep.restore(memory, via="user", version=1)
    found = keep.get_memory(memory)
    assert (found["content"], found["version"], found["may_act"]) == ("The office wifi is called Heron.", 3, True)
    assert [one["version"] for one in keep.history(memory)] == [1, 2, 3]
    assert keep.audit.verify().ok


def test_a_person_brings_back_what_was_forgotten(keep: Keep) -> None:
    memory = said(keep, "The office is in Nitra.")
    keep.delete_memory(memory, via="user")
    assert keep.restore(memory, via="user").accepted
    assert keep.get_memory(memory)["may_act"]
    assert keep.remember("The office is in Nitra.", via="user").accepted, "its tombstone is lifted with it"


def test_what_is_brought_back_stands_no_higher_than_before(informed: Keep) -> None:
    memory = said(informed, "The office is in Nitra.", "web")
    informed.delete_memory(memory, via="user")
    informed.restore(memory, via="user")
    assert informed.get_memory(memory)["standing"] == "hearsay"
    assert not informed.get_memory(memory)["may_act"]


@pytest.mark.parametrize("via", ["agent", "web"])
def test_only_people_bring_things_back(informed: Keep, via: str) -> None:
    memory = said(informed, "I live in Praha.")
    said(informed, "I live in Brno.")
    with pytest.raises(NotAllowed):
        informed.restore(memory, via=via)
    assert [entry["content"] for entry in informed.get_memories()] == ["I live in Brno."]


def test_what_todays_rules_block_is_not_brought_back(keep: Keep, home: Path, tmp_path: Path) -> None:
    memory = said(keep, "We met at the blue heron cafe.")
    keep.delete_memory(memory, via="user")
    (tmp_path / "heron.yaml").write_text(RULE)
    write_registry(home, Registry().with_source(tmp_path / "heron.yaml", "enforce"))
    assert not keep.restore(memory, via="user").accepted
    assert keep.get_memories() == []


def test_what_never_was_cannot_be_brought_back(keep: Keep) -> None:
    memory = said(keep, "I live in Praha.")
    for name, version in (("mem_nothing", None), (memory, 7), (memory, "1"), (5, None)):
        with pytest.raises((UnknownId, InvalidRequest)):
            keep.restore(name, via="user", version=version)  # type: ignore[arg-type]
