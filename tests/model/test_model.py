"""The specification holds in every state it has, and the code answers every row as the specification does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.model.asked import (
    TicketsOfTheCode,
    WritersOfTheCode,
    answer_of_the_code,
    code_acts,
    code_derives,
    lease_of_the_code,
)
from tests.model.spec import (
    ENROLLED,
    HEARSAY,
    OWNER,
    PROVED_BY_ASKING,
    STEPS,
    WORK,
    WRITING,
    Answered,
    Approved,
    Lease,
    Place,
    Situation,
    Ticket,
    Writing,
    acts,
    all_facts,
    answered,
    derived,
    is_possible,
    situations,
    wrote,
)
from truekeep.config import Paths, Settings
from truekeep.stores.files import open_ledger
from truekeep.stores.ledger import Ledger
from truekeep.stores.sqlite import SqliteBackend, translated
from truekeep.trust.flow.evidence import ValueOrigin
from truekeep.trust.influence import MemoryFacts, may_act
from truekeep.trust.origin import standing_of
from truekeep.types import Standing

_MOMENT = datetime(2027, 3, 8, 10, tzinfo=UTC)
_FLAGS = (False, True)
_PARENTS = [parents for count in range(3) for parents in combinations_with_replacement(range(3), count)]
_DERIVED = [*product(range(3), _FLAGS, _FLAGS, _FLAGS, _PARENTS)]

# The specification against itself: what an auditor would ask of it.


def test_nothing_derived_stands_above_any_of_what_it_is_derived_from() -> None:
    for channel, agent, clean, relayed, parents in _DERIVED:
        stands = derived(channel, is_agent=agent, is_clean=clean, is_relayed=relayed, parents=parents)
        assert all(stands <= parent for parent in parents)
        assert stands == HEARSAY or not relayed
        assert not agent or stands <= (ENROLLED if clean else HEARSAY)


def test_hearsay_and_the_agents_notes_act_only_by_a_persons_approval() -> None:
    for facts in all_facts():
        if acts(facts) and facts.approved is Approved.NO:
            assert facts.standing > HEARSAY
            assert not facts.is_agents or (facts.standing == OWNER and facts.is_readers_own)
        if facts.approved not in (Approved.NO, Approved.YES, Approved.FOR_THIS):
            assert not acts(facts)


def test_more_witnesses_never_take_away_and_doubt_never_gives() -> None:
    for facts in all_facts():
        assert acts(replace(facts, repeats_hearsay=True)) <= acts(replace(facts, repeats_hearsay=False))
        assert acts(replace(facts, witnesses=1)) <= acts(replace(facts, witnesses=2))
        assert acts(replace(facts, is_fit=False)) <= acts(facts)


def test_taint_and_foreign_text_only_ever_make_an_answer_stricter() -> None:
    for made in situations():
        for other in (replace(made, is_tainted=True), replace(made, is_in_foreign=True, is_tainted=True)):
            if is_possible(other):
                assert answered(other) >= answered(made), (made, other)


def test_a_target_that_nothing_of_the_owners_gives_is_never_let_through_in_a_tainted_session() -> None:
    for made in situations():
        if made.is_tainted and not made.is_reading and answered(made) is Answered.ALLOW:
            is_asked_for = made.place in PROVED_BY_ASKING and made.is_asked
            assert is_asked_for or made.place in (Place.PLAN, Place.GRANT)


def test_a_grant_never_covers_what_only_others_wrote_and_an_operators_question_is_always_put() -> None:
    for made in situations():
        if made.operator_asks:
            assert answered(made) is Answered.CONFIRM
        elif made.place is Place.GRANT and made.is_in_foreign and not made.is_reading:
            assert answered(made) is not Answered.ALLOW


def test_a_ticket_is_used_at_most_once_and_never_without_the_boundarys_or_the_owners_yes() -> None:
    for is_waiting in _FLAGS:
        for path in product(STEPS, repeat=4):
            ticket, used, confirmed, ended = Ticket(is_waiting), 0, False, False
            for name in path:
                before = ticket
                ticket, done = ticket.step(name)
                if done and name.startswith("redeem"):
                    used += 1
                    assert name == "redeem"
                    assert not ended
                    assert confirmed or not (is_waiting or before.is_withdrawn)
                confirmed |= done and name == "confirm"
                ended |= name == "wait" or (done and name == "decline")
            assert used <= 1


def test_a_job_has_at_most_one_holder_and_is_never_lost() -> None:
    for path in product(WORK, repeat=4):
        lease = Lease()
        for name in path:
            before = lease
            lease, done = lease.step(name)
            assert not (done and name.startswith("take") and before.left), path
        resting = lease.step("a lease's time")[0]
        assert resting.is_done or resting.step("take by a")[1]


def test_a_keep_has_one_writer_and_whoever_was_cut_off_commits_nothing() -> None:
    for path in product(WRITING, repeat=5):
        state = Writing()
        for name in path:
            before = state
            state, done = state.step(name)
            assert not (done and name.endswith("begins") and before.holder), path
            assert state.committed[: len(before.committed)] == before.committed
            assert state.committed == before.committed or before.holder == state.last == name[0]
            assert state.epoch - before.epoch == (state.committed != before.committed and before.last != state.last)
        assert state.step("a begins")[1] or state.step(f"{state.holder} is cut off")[0].step("a begins")[1]


# The code against the specification: every row is asked.


def test_the_code_derives_as_the_specification_does() -> None:
    for channel, agent, clean, relayed, parents in _DERIVED:
        expected = derived(channel, is_agent=agent, is_clean=clean, is_relayed=relayed, parents=parents)
        found = code_derives(channel, is_agent=agent, is_clean=clean, is_relayed=relayed, parents=parents)
        assert found == expected, (channel, agent, clean, relayed, parents)


def test_the_code_lets_act_what_the_specification_lets_act() -> None:
    asked = Counter(code_acts(facts) == acts(facts) for facts in all_facts())
    assert asked == {True: 1_728}


@pytest.mark.parametrize("place", Place, ids=lambda place: place.name.lower())
def test_the_code_answers_calls_as_the_specification_does(place: Place) -> None:
    differing = [
        (made, answered(made).name, found.name)
        for made in situations()
        if made.place is place and (found := answer_of_the_code(made)) is not answered(made)
    ]
    assert not differing


def test_the_code_leases_jobs_as_the_specification_does() -> None:
    for path in product(WORK, repeat=3):
        assert lease_of_the_code(path) == list(_walked(Lease(), path)), path


def _unlike(home: Path, length: int) -> list[tuple[str, ...]]:
    """The paths of two writers on one file that the code walks otherwise than the specification."""
    settings = Settings(embedder="none", busy_seconds=0.01)

    def opened() -> Ledger:
        return open_ledger(Paths.resolve(home), "model", lambda: _MOMENT, settings)

    code = WritersOfTheCode(opened, lambda ledger: ledger._backend._db.execute("ROLLBACK"))  # type: ignore[attr-defined]
    unlike = [path for path in product(WRITING, repeat=length) if code.walk(path) != wrote(path)]
    code.close()
    return unlike


@pytest.mark.slow
def test_the_code_has_one_writer_as_the_specification_does(tmp_path: Path) -> None:
    assert not _unlike(tmp_path, 4)


def test_a_commit_whose_failure_is_overlooked_differs_from_the_specification(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def writing(self: SqliteBackend) -> Iterator[None]:
        with translated(self._db):
            self._db.execute("BEGIN IMMEDIATE")
            yield
            with suppress(apsw.Error):
                self._db.execute("COMMIT")

    monkeypatch.setattr(SqliteBackend, "writing", writing)
    assert _unlike(tmp_path, 3)


@pytest.mark.slow
def test_the_code_uses_tickets_up_as_the_specification_does(tmp_path: Path) -> None:
    code = TicketsOfTheCode(tmp_path)
    for is_waiting, *path in product(_FLAGS, STEPS, STEPS, ("redeem",)):
        assert code.walk(path, is_waiting=is_waiting) == list(_walked(Ticket(is_waiting), path)), (is_waiting, path)
    code.close()


def _walked(state: Ticket | Lease, path: Iterable[str]) -> Iterator[bool]:
    for name in path:
        state, done = state.step(name)
        yield done


# Rules that are broken on purpose: the specification has to differ from each.

_BROKEN = {
    "hearsay is asked about instead of denied": ("truekeep.trust.flow.decide._is_denied", lambda *_: False),
    "what only others wrote is proved": ("truekeep.trust.flow.granted.first_proof", lambda *_: ValueOrigin.REQUEST),
    "a request is good for any target": ("truekeep.trust.flow.trials.prove", lambda *_: ValueOrigin.REQUEST),
    "a plan is good for any target": ("truekeep.trust.flow.trials.planned", lambda *_: True),
    "a grant covers what others wrote": ("truekeep.trust.flow.index.TextIndex.hinting", lambda *_: iter(())),
    "a request for one act carries another": ("truekeep.trust.flow.trials.FAULTS", ()),
}


@pytest.mark.parametrize("broken", _BROKEN)
def test_a_rule_that_is_broken_on_purpose_differs_from_the_specification(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*_BROKEN[broken])
    assert any(answer_of_the_code(made) is not answered(made) for made in situations())


def test_standing_that_ignores_parents_differs_from_the_specification(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "tests.model.asked.standing_of", lambda channel, **known: standing_of(channel, **known | {"parents": ()})
    )
    differing = [
        row
        for row in _DERIVED
        if code_derives(row[0], is_agent=row[1], is_clean=row[2], is_relayed=row[3], parents=row[4])
        != derived(row[0], is_agent=row[1], is_clean=row[2], is_relayed=row[3], parents=row[4])
    ]
    assert differing


def test_hearsay_that_acts_by_credit_differs_from_the_specification(monkeypatch: pytest.MonkeyPatch) -> None:
    def acts_by_credit(facts: MemoryFacts, *given: Any) -> Any:
        return may_act(replace(facts, standing=max(facts.standing, Standing.ENROLLED)), *given)

    monkeypatch.setattr("tests.model.asked.may_act", acts_by_credit)
    assert any(code_acts(facts) != acts(facts) for facts in all_facts())


def test_a_job_that_is_taken_while_it_is_leased_differs_from_the_specification(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("truekeep.extract.jobs.is_leased", lambda *_: False)
    assert any(lease_of_the_code(path) != list(_walked(Lease(), path)) for path in product(WORK, repeat=3))


def test_every_situation_is_asked() -> None:
    counted = Counter(made.place for made in situations())
    assert sum(counted.values()) == len({*situations()})
    assert set(counted) == set(Place)
    assert Situation(True, False, True, Place.PARTY, True, False, False) in {*situations()}
