"""Who may act: only one's own words, an approval, independent witnesses, or proven outcomes."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truekeep.trust.influence import (
    Corroboration,
    Credits,
    MemoryFacts,
    Outcome,
    Reader,
    Statement,
    corroboration,
    credits_of,
    may_act,
    standing_for,
)
from truekeep.types import Approval, Standing

NOW = datetime(2025, 3, 14, tzinfo=UTC)
READER = Reader()
TWO = Corroboration(("billing", "crm"))


def facts(standing: Standing, **more: object) -> MemoryFacts:
    base = MemoryFacts(standing, is_active=True, is_verified=True, is_blocked=False)
    return replace(base, **more)  # type: ignore[arg-type]


def approval(**more: object) -> Approval:
    return replace(Approval(by="eva", reason="checked", at=NOW), **more)  # type: ignore[arg-type]


def code(memory: MemoryFacts, reader: Reader = READER) -> tuple[bool, str]:
    answer = may_act(memory, reader, NOW)
    assert answer.why.endswith(".")
    return answer.may_act, answer.code


def test_ones_own_words_act_without_anybody_else() -> None:
    assert code(facts(Standing.OWNER)) == (True, "own_words")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"is_verified": False}, "unverified"),
        ({"is_active": False}, "not_active"),
        ({"expires_at": NOW}, "expired"),
        ({"expires_at": NOW - timedelta(days=1)}, "expired"),
        ({"is_blocked": True}, "blocked"),
    ],
)
@pytest.mark.parametrize("extra", [{}, {"approval": approval()}, {"credits": Credits(9, 0), "corroboration": TWO}])
def test_an_unfit_record_never_acts_whatever_speaks_for_it(
    change: dict[str, object], expected: str, extra: dict[str, object]
) -> None:
    assert code(facts(Standing.OWNER, **extra, **change)) == (False, expected)


def test_a_memory_of_which_nothing_is_known_does_not_act() -> None:
    assert not may_act(MemoryFacts(Standing.OWNER), READER, NOW).may_act


@pytest.mark.parametrize(
    ("limits", "reader", "expected"),
    [
        ({}, READER, (True, "approved")),
        ({"inform_only": True}, READER, (False, "approved_to_inform")),
        ({"until": NOW + timedelta(days=1)}, READER, (True, "approved")),
        ({"until": NOW}, READER, (False, "approval_ended")),
        ({"purpose": "Travel"}, Reader(purpose="travel"), (True, "approved")),
        ({"purpose": "travel"}, READER, (False, "approved_for_another_purpose")),
        ({"purpose": "travel"}, Reader(purpose="payments"), (False, "approved_for_another_purpose")),
    ],
)
@pytest.mark.parametrize("standing", Standing)
def test_an_approval_acts_within_its_limits_and_nothing_acts_beyond_them(
    limits: dict[str, object], reader: Reader, expected: tuple[bool, str], standing: Standing
) -> None:
    memory = facts(standing, approval=approval(**limits), corroboration=TWO, credits=Credits(5, 0))
    assert code(memory, reader) == expected


def test_a_lone_enrolled_source_does_not_act_and_two_independent_ones_do() -> None:
    assert code(facts(Standing.ENROLLED, corroboration=Corroboration(("crm",)))) == (False, "lone_witness")
    assert code(facts(Standing.ENROLLED, corroboration=TWO)) == (True, "corroborated")


def test_the_agents_notes_never_act() -> None:
    assert code(facts(Standing.ENROLLED, is_agents=True, corroboration=TWO)) == (False, "agents_note")
    assert code(facts(Standing.ENROLLED, is_agents=True, credits=Credits(9, 0))) == (False, "agents_note")


def test_a_system_acts_on_good_outcomes() -> None:
    assert code(facts(Standing.ENROLLED, credits=Credits(2, 1))) == (True, "credited")
    assert code(facts(Standing.ENROLLED, credits=Credits(2, 2))) == (False, "lone_witness")


def test_a_value_first_met_as_hearsay_is_not_corroborated_and_says_so() -> None:
    assert code(facts(Standing.ENROLLED, corroboration=TWO, repeats_hearsay=True)) == (False, "repeats_hearsay")


def test_hearsay_never_acts_however_many_copies_agree_or_turn_out_well() -> None:
    assert code(facts(Standing.HEARSAY, credits=Credits(3, 0), corroboration=TWO)) == (False, "hearsay")


def test_bad_outcomes_do_not_silence_ones_own_words_or_a_corroborated_fact() -> None:
    flood = Credits(0, 1000)
    assert code(facts(Standing.OWNER, credits=flood)) == (True, "own_words")
    assert code(facts(Standing.ENROLLED, corroboration=TWO, credits=flood)) == (True, "corroborated")


def test_in_a_shared_keep_another_members_words_are_enrolled_to_me() -> None:
    eva = Reader(principal="eva", is_shared_keep=True)
    assert code(facts(Standing.OWNER, principal="eva"), eva) == (True, "own_words")
    assert code(facts(Standing.OWNER, principal="tom"), eva) == (False, "lone_witness")
    assert code(facts(Standing.OWNER, principal=None), eva) == (False, "lone_witness")
    assert standing_for(Standing.HEARSAY, "eva", eva) is Standing.HEARSAY
    nobody = Reader(is_shared_keep=True)
    assert standing_for(Standing.OWNER, None, nobody) is Standing.ENROLLED


def test_type_label_metadata_and_wording_are_not_inputs() -> None:
    names = {field.name for field in fields(MemoryFacts)}
    assert not names & {"kind", "type", "mtype", "topics", "labels", "metadata", "text", "entities", "source", "role"}


def test_an_answer_that_says_no_is_false() -> None:
    assert not may_act(facts(Standing.HEARSAY), READER, NOW)
    assert may_act(facts(Standing.OWNER), READER, NOW)
    assert not Corroboration(("crm",))


def said(memory_id: str, principal: str | None, *ancestors: str, **more: object) -> Statement:
    base = Statement(memory_id, principal, Standing.ENROLLED, ancestors=frozenset(ancestors))
    return replace(base, **more)  # type: ignore[arg-type]


def enough(*statements: Statement, reader: Reader = READER) -> bool:
    return corroboration(statements, reader).is_enough


def test_two_principals_without_a_common_ancestor_corroborate() -> None:
    assert corroboration([said("a", "crm"), said("b", "billing")]).principals == ("billing", "crm")


@pytest.mark.parametrize(
    "pair",
    [
        (said("a", "crm"), said("b", "crm")),
        (said("a", "crm"), said("b", "billing", "a")),
        (said("a", "crm", "x"), said("b", "billing", "x")),
        (said("a", "crm", "x", "y"), said("b", "billing", "y", "z")),
        (said("a", "crm"), said("b", "billing", "x", heard_from=frozenset({"crm"}))),
        (
            said("a", "crm", "x", heard_from=frozenset({"erp"})),
            said("b", "billing", "y", heard_from=frozenset({"erp"})),
        ),
        (said("a", "crm"), said("b", None)),
        (said("a", "crm"), said("b", "agent", is_agents=True)),
        (said("a", "crm"), said("b", "evil.example", standing=Standing.HEARSAY)),
        (said("a", "crm"), said("b", "billing", repeats_hearsay=True)),
        (said("a", "crm"), said("b", "billing", is_active=False)),
        (said("a", "crm"), said("b", "alice", standing=Standing.OWNER)),
    ],
)
def test_what_is_not_independent_does_not_corroborate(pair: tuple[Statement, Statement]) -> None:
    assert not enough(*pair)
    assert not enough(*reversed(pair))


def test_three_hundred_copies_of_one_page_are_one_witness() -> None:
    copies = [said(f"m{n}", f"system{n}", "page") for n in range(300)]
    assert not enough(*copies)
    assert enough(*copies, said("own", "ledger"))


def test_a_summary_of_two_witnesses_does_not_tie_them_together() -> None:
    pair = [said("a", "crm"), said("b", "billing")]
    assert enough(said("s", "reports", "a", "b"), *pair)


def test_two_members_of_a_shared_keep_are_two_witnesses_for_a_third() -> None:
    reader = Reader(principal="eva", is_shared_keep=True)
    tom = said("a", "tom", standing=Standing.OWNER)
    assert not enough(tom, said("b", "tom", standing=Standing.OWNER), reader=reader)
    assert enough(tom, said("b", "ann", standing=Standing.OWNER), reader=reader)


statements = st.builds(
    Statement,
    memory_id=st.sampled_from("abcdefgh"),
    principal=st.sampled_from([None, "p", "q", "r"]),
    standing=st.sampled_from(Standing),
    is_agents=st.booleans(),
    ancestors=st.frozensets(st.sampled_from("abcxyz"), max_size=3),
    heard_from=st.frozensets(st.sampled_from("pqrs"), max_size=2),
    repeats_hearsay=st.booleans(),
    is_active=st.booleans(),
)


@given(st.lists(statements, max_size=8), st.lists(statements, max_size=6), st.randoms())
def test_what_cannot_witness_changes_nothing_wherever_it_is_added(
    base: list[Statement], added: list[Statement], random: object
) -> None:
    noise = [
        replace(statement, standing=Standing.HEARSAY) if index % 2 else replace(statement, is_agents=True)
        for index, statement in enumerate(added)
    ]
    mixed = base + noise
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert corroboration(mixed).is_enough == corroboration(base).is_enough


@given(st.lists(statements, max_size=8), statements)
def test_one_more_statement_never_takes_corroboration_away(base: list[Statement], more: Statement) -> None:
    assert not enough(*base) or enough(*base, more)


@given(st.lists(statements, max_size=8))
def test_corroboration_names_two_eligible_principals_or_is_none(base: list[Statement]) -> None:
    found = corroboration(base)
    eligible = {s.principal for s in base if s.standing is Standing.ENROLLED and not s.is_agents}
    assert set(found.principals) <= eligible
    assert found.is_enough == (len(set(found.principals)) >= 2)


def test_credit_counts_once_per_run_and_only_through_redeemed_tickets() -> None:
    used = {"run-1": frozenset({"m"}), "run-2": frozenset({"m"}), "run-3": frozenset({"other"})}
    outcomes = [
        Outcome("run-1", "good", by_authority=True),
        Outcome("run-1", "good", by_authority=True),
        Outcome("run-2", "bad", by_authority=True),
        Outcome("run-2", "good", by_authority=True),
        Outcome("run-3", "good", by_authority=True),
        Outcome("run-9", "good", by_authority=True),
        *[Outcome("run-1", "good", by_authority=False)] * 50,
    ]
    assert credits_of("m", outcomes, used) == Credits(good=1, bad=1)
    assert credits_of("recalled-only", outcomes, used) == Credits()


@given(st.lists(st.builds(Outcome, st.sampled_from(["r", "s", "t"]), st.sampled_from(["good", "bad"]), st.just(False))))
def test_the_agents_own_praise_counts_for_nothing(outcomes: list[Outcome]) -> None:
    used = dict.fromkeys(["r", "s", "t"], frozenset({"m"}))
    assert credits_of("m", outcomes, used) == Credits()
