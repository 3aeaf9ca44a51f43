"""Where a held text came from, and what it could do if it were let in."""

from __future__ import annotations

from truekeep import Keep
from truekeep.claims.lineage import Chain


def names(chain: Chain) -> list[list[tuple[str, str, str]]]:
    return [
        [(node.kind, node.channel, node.name if node.kind != "this" else "") for node in column]
        for column in chain.columns
    ]


def test_what_was_read_on_a_page_came_from_its_domain(keep: Keep) -> None:
    item_id = keep.remember("The rent is 900 euros.", via="web", principal="https://a.example.com/x").item_id
    assert item_id
    chain = keep.review.chain(item_id)
    assert names(chain) == [[("source", "web", "example.com")], [("this", "web", "")]]
    assert chain.edges == [("source web example.com", "this")]


def test_what_the_agent_wrote_came_from_what_its_session_had_read(keep: Keep) -> None:
    session = keep.session("s-1", mediated=True)
    session.observe("user", "Look that up, please.")
    session.observe("web", "The rent is 900 euros.", principal="https://example.com")
    item_id = session.remember("The rent is 900 euros.", via="agent").item_id
    session.observe("web", "Later.", principal="https://later.example")
    assert item_id
    assert names(keep.review.chain(item_id)) == [
        [("source", "user", ""), ("source", "web", "example.com"), ("source", "web", "later.example")],
        [("session", "agent", "s-1")],
        [("this", "agent", "")],
    ]


def test_what_is_derived_leads_back_to_what_it_was_derived_from(keep: Keep) -> None:
    parent = keep.remember("The rent is 640 euros.", via="user").memory_id
    assert parent
    item_id = keep.remember("The rent is low.", via="web", principal="https://example.com", parents=[parent]).item_id
    assert item_id
    assert names(keep.review.chain(item_id)) == [
        [("source", "user", "")],
        [("memory", "user", parent)],
        [("this", "web", "")],
    ]


def test_a_long_list_of_sources_is_cut_and_says_so(keep: Keep) -> None:
    session = keep.session("s-1", mediated=True)
    for number in range(9):
        session.observe("web", f"Page {number}.", principal=f"https://p{number}.example")
    item_id = session.remember("There were nine pages.", via="agent").item_id
    assert item_id
    chain = keep.review.chain(item_id)
    assert (len(chain.columns[0]), chain.left_out) == (5, 4)


def test_the_outlook_says_what_an_approval_would_do_and_changes_nothing(keep: Keep) -> None:
    elder = keep.remember("Eva's phone number is 111-222.", via="user").memory_id
    item_id = keep.remember("Eva's phone number is 333-444.", via="web", principal="https://example.com").item_id
    assert item_id
    before = keep.audit.events()[-1].seq
    outlook = keep.review.outlook(item_id, by="eva")
    assert (outlook.may_act, [shown.memory.id for shown in outlook.concerned]) == (True, [elder])
    assert not keep.review.outlook(item_id, by="eva", inform_only=True).may_act
    assert keep.audit.events()[-1].seq == before
    assert keep.review.approve(item_id, by="eva", reason="she told me").accepted
    assert [one["may_act"] for one in keep.get_memories()] == [True]
