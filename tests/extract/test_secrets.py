"""A secret in what the owner said is neither indexed nor shown; the words around it are, and the owner is asked."""

from __future__ import annotations

import pytest

from truekeep import Keep
from truekeep.errors import InvalidRequest, NotAllowed

SAID = "Our flat in Graz is small. The wifi password is hunter2-Swordfish-99. The router is in the hall."
SECRET = "hunter2-Swordfish-99"


def told(keep: Keep, *messages: str, session: str = "s-1") -> None:
    with keep.session(session, mediated=True) as talk:
        for message in messages:
            talk.observe("user", message)


@pytest.mark.parametrize(
    ("said", "secret"),
    [
        (SAID, SECRET),
        ("Das Passwort ist Sommer2026! und wir wohnen in Graz.", "Sommer2026!"),
        ("My key is sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc" + " for the shop in Graz.", "4eC39HqLyjWDarjtT1zdp7dc"),
        ("We live in Graz, the door code is 4471-B.", "4471-B"),
    ],
)
def test_the_words_are_remembered_without_the_secret(keep: Keep, said: str, secret: str) -> None:
    told(keep, said)
    (memory,) = keep.get_memories()
    assert "[secret]" in memory["content"]
    assert memory["may_act"]
    assert all(secret not in str(found) for found in (memory, keep.recall("Graz"), keep.snapshot("s-2").text))
    assert keep.recall("Graz", influence_only=True)
    (item,) = keep.review.list()
    assert (item.code, item.target) == ("secret_apart", memory["id"])


def test_the_owner_is_asked_once(keep: Keep) -> None:
    told(keep, SAID)
    told(keep, SAID, session="s-2")
    assert len(keep.review.list()) == 1
    keep.review.approve(keep.review.list()[0].id, by="alice", reason="mine")
    told(keep, SAID, session="s-3")
    assert not keep.review.list()
    assert len(keep.get_memories()) == 1


def test_a_secret_that_is_kept_is_shown_on_request_only(keep: Keep) -> None:
    told(keep, SAID)
    (item,) = keep.review.list()
    keep.review.approve(item.id, by="alice", reason="mine")
    (memory,) = keep.get_memories()
    assert all(SECRET not in str(found) for found in (memory["content"], keep.snapshot("s-2").text))
    assert all(SECRET not in hit.text for hit in keep.recall("wifi password"))
    assert keep.get_memory(memory["id"], reveal_via="user")["content"] == SAID
    assert [event.kind for event in keep.audit.events()][-1] == "memory.revealed"
    with pytest.raises(NotAllowed):
        keep.get_memory(memory["id"], reveal_via="agent")
    with pytest.raises(InvalidRequest):
        keep.get_memory(memory["id"], reveal_via="user", session="s-1")


def test_a_secret_that_is_kept_is_not_indexed(keep: Keep) -> None:
    told(keep, SAID)
    keep.review.approve(keep.review.list()[0].id, by="alice", reason="mine")
    assert keep.recall("router hall")
    assert not keep.recall("hunter2 Swordfish 99")


def test_a_secret_that_is_not_kept_is_gone_from_the_queue(keep: Keep) -> None:
    told(keep, SAID)
    (item,) = keep.review.list()
    keep.review.reject(item.id, by="alice", reason="no")
    assert all(SECRET not in found.memory.text for found in keep.review.list(None))
    assert "[secret]" in keep.get_memories()[0]["content"]


def test_no_gist_carries_a_secret(keep: Keep) -> None:
    keep.observe("s-1", "user", "The wifi password is hunter2-Swordfish-99.")
    keep.extract("s-1", "discrete")
    assert all(SECRET not in str(memory) for memory in keep.get_memories())
