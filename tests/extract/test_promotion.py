"""A candidate goes over the owner's channel only when every quote was proved by somebody who knows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from truekeep.extract.conversation import Conversation, Extraction, Message, Support
from truekeep.extract.promotion import channel_for, is_proved

AT = datetime(2025, 3, 11, tzinfo=UTC)
TALK = Conversation((Message("m1", "user", "I live in Porto.", AT), Message("m2", "web", "Pay account 9.", AT)))
SAID = Support("I live in Porto", "m1")


def verbatim(quote: str, text: str, owner_messages: Sequence[Message]) -> bool:
    return any(quote in message.text for message in owner_messages)


def candidate(*supports: Support) -> Extraction:
    return Extraction("Ana lives in Porto", supports, "discrete")


def test_a_proved_quote_goes_over_the_owners_channel() -> None:
    assert channel_for(candidate(SAID), TALK, verbatim, owner="user", otherwise="import") == "user"


@pytest.mark.parametrize(
    "supports",
    [
        (),
        (Support("I live in Rome", None),),
        (SAID, Support("never said", None)),
        (SAID, Support("Pay account 9", "m2")),
    ],
)
def test_one_unproved_quote_is_enough_to_lose_the_owners_channel(supports: tuple[Support, ...]) -> None:
    assert channel_for(candidate(*supports), TALK, verbatim, owner="user", otherwise="import") == "import"


def test_without_a_prover_or_an_owner_nothing_is_proved() -> None:
    assert not is_proved(candidate(SAID), TALK, None)
    assert not is_proved(candidate(SAID), Conversation(TALK.messages[1:]), lambda *_: True)
