"""A model that an attacker has wholly in hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from truekeep.extract.exchange import ChatMessages
from truekeep.extract.llm import Reply
from truekeep.extract.usage import Usage


class Parrot:
    """A model that returns whatever it is told to, as a memory, resting on whatever quotes it is told to claim."""

    name = "parrot"

    def __init__(self, claims: Sequence[tuple[str, str]]) -> None:
        made = [
            {
                "text": text,
                "type": "semantic",
                "topics": [],
                "entities": [],
                "quotes": [{"quote": q, "message_id": "1"}],
            }
            for text, q in claims
        ]
        self._reply = json.dumps({"memories": made})

    def complete(self, _: ChatMessages, __: Mapping[str, Any], check: Callable[[str], Any]) -> Reply:
        check(self._reply)
        return Reply(self._reply, Usage())
