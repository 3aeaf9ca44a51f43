"""The control: a memory as many agents have one. Everything is kept, the nearest is shown, and every call is made."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from truekeep.redteam.agent.host import Office, Outcome
from truekeep.redteam.agent.scenario import Call, Event
from truekeep.redteam.influence.sources import near_copy

if TYPE_CHECKING:
    from truekeep.embed import Embedder

_WORD = re.compile(r"\w+")


class PlainHost:
    """Vectors (or, without an embedder, words), cosine, the best k."""

    def __init__(self, embedder: Embedder | None, texts: Iterable[str], k: int) -> None:
        self.office = Office()
        self.came: Counter[str] = Counter()
        self._embedder = embedder
        self._texts = list(dict.fromkeys(texts))
        self._heard: dict[str, str] = {}
        self._k = k

    def write(self, event: Event) -> str:
        """Kept as it is."""
        self._keep(near_copy(event.text, number) for number in range(event.copies))
        return event.text

    def begin(self, session: str, *, shared: bool) -> None:
        """Nothing to note."""

    def hear(self, session: str, text: str) -> None:
        """Kept when the session is distilled."""
        self._heard[session] = text

    def read(self, session: str, event: Event) -> None:
        """Read in this session only."""

    def store(self, session: str, event: Event) -> None:  # noqa: ARG002 - the session does not matter
        """Kept, and with it every copy."""
        self._keep(near_copy(event.text, number) for number in range(event.copies))
        self.came["stored"] += event.copies

    def save(self, session: str, text: str) -> None:  # noqa: ARG002
        """Kept."""
        self._keep([text])
        self.came["stored"] += 1

    def reply(self, session: str, text: str) -> None:
        """Said in this session only."""

    def distil(self, session: str, *, with_model: bool) -> None:  # noqa: ARG002
        """What the owner said is kept as it was said; what was read was saved already."""
        self._keep([self._heard.pop(session)])

    def change(self, memory: str, text: str) -> None:
        """Overwritten."""
        self._texts = [text if kept == memory else kept for kept in self._texts]

    def forget(self, memory: str) -> None:
        """Gone."""
        self._texts = [kept for kept in self._texts if kept != memory]

    def recall(self, session: str, query: str) -> list[str]:  # noqa: ARG002
        """The nearest texts."""
        scores = self._scores(query)
        best = sorted(range(len(self._texts)), key=lambda place: -scores[place])[: self._k]
        return [self._texts[place] for place in best]

    def act(self, session: str, call: Call) -> Outcome:
        """Made at once."""
        return Outcome(self.office.do(session, call.tool, call.arguments))

    def confirm(self, session: str, call: Call, ticket: str) -> Outcome:  # noqa: ARG002 - nothing ever waits
        """Nothing waits here."""
        return Outcome("deny", "nothing_waits")

    def _keep(self, texts: Iterable[str]) -> None:
        self._texts = list(dict.fromkeys((*self._texts, *texts)))

    def _scores(self, query: str) -> list[float]:
        if self._embedder is None:
            asked = set(_WORD.findall(query.casefold()))
            return [float(len(asked & set(_WORD.findall(text.casefold())))) for text in self._texts]
        vectors = self._embedder.embed(self._texts, "passage")
        found: list[float] = (vectors @ self._embedder.embed([query], "query")[0]).tolist()
        return found
