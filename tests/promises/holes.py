"""Which broken gate breaks which promise, and which rules of the machine lead to its hole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import strategies as st

from tests.promises import broken, broken_at_rest, broken_between
from tests.promises.acting import CarryOut
from tests.promises.attempts import TurnDown
from tests.promises.looking import Freeze, ListAll
from tests.promises.machine import EVERYTHING, Rules
from tests.promises.neighbours import LookOver, Trespass
from tests.promises.operations import numbers, one_of, parents, people, sessions, systems
from tests.promises.screening import Rule
from tests.promises.tampering import Alter, Drop, RollBack
from tests.promises.vocabulary import HONEST, ODD, wordings
from tests.promises.world import ALONE, INFORMED, World
from tests.promises.writing import Delete, Remember


@dataclass(frozen=True)
class Broken:
    """A gate with one hole."""

    break_it: Callable[[pytest.MonkeyPatch], None]
    rules: tuple[str, ...]
    world: World = ALONE
    promise: str = "P1"
    directed: Rules | None = None

    @property
    def name(self) -> str:
        return self.break_it.__name__

    @property
    def table(self) -> Rules:
        """The rules that lead to the hole, as one: otherwise hypothesis would leave some of so few out at random."""
        named = [EVERYTHING[name] for name in self.rules]
        return {"step": one_of(*named, *(self.directed or {}).values())}


_FIRST = st.sampled_from(wordings(HONEST[0]))
_SYSTEMS_COPY: Rules = {"system_copies": st.builds(Remember, systems, _FIRST, parents=parents | st.just((0,)))}
_UNCREDITED: Rules = {"carry_out": st.builds(CarryOut, sessions, numbers, st.none())}
_REJECTED: Rules = {"rejects": st.builds(TurnDown, numbers)}
_ODD: Rules = {"owner_says": st.builds(Remember, people, st.sampled_from(ODD))}
_NOTED: Rules = {
    "lists": st.builds(ListAll, sessions),
    "notes": st.builds(Remember, st.just("agent"), _FIRST, session=sessions),
}
_BESIDE: Rules = {"looks_over": st.builds(LookOver, sessions)}
_TRESPASSES: Rules = {"trespasses": st.builds(Trespass, st.integers(0, 50))}
_RULED: Rules = {"rules": st.builds(Rule, st.just(True))}
_FROZEN: Rules = {"freezes": st.builds(Freeze, sessions, st.just(False))}
_ANEW: Rules = {"freezes": st.builds(Freeze, sessions, st.just(True)), "deletes": st.builds(Delete, numbers, people)}
_DELETED: Rules = {"deletes": st.builds(Delete, numbers, people)}
_ALTERED: Rules = {"alters": st.builds(Alter, numbers)}
_DROPPED: Rules = {"drops": st.builds(Drop, numbers)}
_ROLLED: Rules = {"rolls_back": st.builds(RollBack)}

BROKEN = (
    Broken(broken.labels_are_believed, ("extra_read",), promise="P3"),
    Broken(broken.wording_is_believed, ("extra_read", "extra_agent"), promise="P3"),
    Broken(broken.the_memory_type_is_believed, ("extra_read",), promise="P3"),
    Broken(broken.relayed_text_is_its_carriers, ("extra_relayed",), promise="P3"),
    Broken(broken.parents_are_forgotten, ("is_read", "owner_says", "system_says"), INFORMED, "P3"),
    Broken(broken.sources_are_counted, ("system_says", "extra_read"), INFORMED),
    Broken(broken.echoes_are_witnesses, ("extra_echo",)),
    Broken(broken.copies_add_up, (), promise="P1/P3", directed=_SYSTEMS_COPY),
    Broken(broken.the_agent_holds_credit, ("owner_says", "extra_attempt"), directed=_UNCREDITED),
    Broken(broken.a_quote_proves_the_wording, ("agent_misquotes",), promise="P3"),
    Broken(broken.a_quote_replaces_another_memory, ("owner_says", "agent_misquotes"), promise="P3"),
    Broken(broken.anybody_deletes, ("owner_says", "extra_change"), promise="P2"),
    Broken(broken.the_newest_word_wins, ("owner_says", "extra_read"), INFORMED, "P2"),
    Broken(broken.the_newest_word_ends_the_elders, ("owner_says", "extra_read"), INFORMED, "P2"),
    Broken(broken.anybody_changes_anything, ("owner_says", "extra_change"), promise="P2"),
    Broken(broken.one_queue_for_all, ("extra_read",), promise="P2", directed=_ODD),
    Broken(broken.a_rejected_lie_silences_the_owner, ("owner_says", "extra_read"), promise="P2", directed=_REJECTED),
    Broken(broken.recall_filters_too_late, ("owner_says", "extra_read"), INFORMED, "P1/P2"),
    Broken(broken.shown_hearsay_leaves_no_trace, ("begin", "is_read"), INFORMED, "P3", directed=_NOTED),
    Broken(broken.read_hearsay_leaves_no_trace, ("begin", "extra_observed", "agent_writes"), promise="P3"),
    Broken(broken.roles_are_believed, ("extra_observed", "distil"), promise="P3"),
    Broken(broken_between.ids_are_found_next_door, (), promise="P4", directed=_TRESPASSES),
    Broken(broken_between.errors_tell_whose_it_is, (), promise="P4", directed=_TRESPASSES),
    Broken(broken_between.one_list_for_all, ("owner_says",), promise="P4", directed=_BESIDE),
    Broken(broken_between.a_write_lands_next_door, ("owner_says",), promise="P4", directed=_BESIDE),
    Broken(broken_between.yesterdays_rules_serve, ("owner_says",), promise="P5", directed=_RULED),
    Broken(broken_between.what_was_let_in_is_shown, ("owner_says",), promise="P5", directed=_RULED),
    Broken(broken_between.the_owner_is_not_screened, ("owner_says",), promise="P5", directed=_ODD),
    Broken(broken_between.reads_may_go_anywhere, ("owner_says", "leak"), promise="P9"),
    Broken(broken_between.asking_once_asks_for_all, ("owner_says", "leak"), promise="P9"),
    Broken(broken_between.answers_are_shown_as_they_are, ("owner_says", "leak"), promise="P9"),
    Broken(broken_at_rest.snapshots_follow_the_memories, ("owner_says",), promise="P6", directed=_FROZEN),
    Broken(broken_at_rest.a_write_drops_snapshots, ("owner_says",), promise="P6", directed=_FROZEN),
    Broken(broken_at_rest.snapshots_list_the_deleted, ("owner_says",), promise="P6", directed=_ANEW),
    Broken(broken_at_rest.rows_are_believed, ("owner_says",), promise="P7", directed=_ALTERED),
    Broken(broken_at_rest.gaps_are_overlooked, ("owner_says",), promise="P7", directed=_DROPPED),
    Broken(broken_at_rest.anchors_are_not_asked, ("owner_says",), promise="P7", directed=_ROLLED),
    Broken(broken_at_rest.the_store_tidies_up, ("owner_says",), promise="P8"),
    Broken(broken_at_rest.deletions_are_private, ("owner_says",), promise="P8", directed=_DELETED),
    Broken(broken_at_rest.nobody_else_writes, ("elsewhere",), promise="P8"),
)
