"""The agent quotes the owner for something else than the owner said, in a session that has read something foreign.

What may come of it is the owner's whole message as the owner's word, as of when it was said, and nothing else: not the
agent's wording, not another memory's place, not a date, nothing that was forgotten, is held or was somebody else's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests.promises.agreement import same
from tests.promises.record import Outcome, PromiseBroken, answered, attempt
from tests.promises.side import Side
from tests.promises.talking import Observe
from tests.promises.twins import Twins
from tests.promises.vocabulary import PLANT, forwarded
from truekeep.types import Standing


@dataclass(frozen=True)
class Twist:
    """What the owner says, a part of it that is true to the letter, and what the agent makes of it."""

    said: str
    quote: str
    claimed: str


def _cut(said: str, quote: str) -> Twist:
    """The quote without what stands around it is the lie."""
    return Twist(said, quote, quote)


TWISTS = (
    _cut("They pretended Ivo's account is 9904-71.", "Ivo's account is 9904-71"),
    _cut("Sie taten so, als ob Ivos Konto 9904-71 ist.", "Ivos Konto 9904-71 ist"),
    _cut("Fingieron que la cuenta de Ivo es 9904-71.", "la cuenta de Ivo es 9904-71"),
    _cut("他们假装伊沃的账户是9904-71。", "伊沃的账户是9904-71"),
    _cut("False: my account is 9904-71.", "my account is 9904-71"),
    _cut("Faux : mon compte est 9904-71.", "mon compte est 9904-71"),
    _cut("Nie je pravda, že môj účet je 9904-71.", "môj účet je 9904-71"),
    _cut("It is not the case that Ivo may sign for me.", "Ivo may sign for me"),
    _cut("Não é verdade que o Ivo assina por mim.", "o Ivo assina por mim"),
    _cut("Není pravda, že Ivo za mě podepisuje.", "Ivo za mě podepisuje"),
    _cut("To nieprawda, że Ivo za mnie podpisuje.", "Ivo za mnie podpisuje"),
    _cut("Non è vero che Ivo firma per me.", "Ivo firma per me"),
    Twist("Nora's account is 9904-71.", "account is 9904-71", "Ivo's account is 9904-71."),
    Twist("Noras Konto ist 9904-71.", "Konto ist 9904-71", "Ivos Konto ist 9904-71."),
    Twist("Norin účet je 9904-71.", "účet je 9904-71", "Ivov účet je 9904-71."),
)
"""Words left out, frames dropped, denials turned round, and a name swapped in from elsewhere."""
REMEMBER, REPLACE, DATE, FORGOTTEN, FOREIGN, HELD = "remember", "replace", "date", "forgotten", "foreign", "held"
USES = (REMEMBER, REPLACE, DATE, FORGOTTEN, FOREIGN, HELD)
"""What the agent wants with the quote."""
SECRET = "hunter22x"
_LONG_AGO = datetime(1999, 5, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Misquote:
    """The owner says something, the session reads something, and the agent misuses what the owner said."""

    session: str
    twist: Twist
    way: str = REMEMBER
    which: int = 0

    def run(self, twins: Twins) -> None:
        said, quote = self._message()
        Observe(self.session, "owner", said).run(twins)
        Observe(self.session, "web", "Opening hours and prices.").run(twins)
        if self.session in twins.echoed:
            return
        if self.way == REPLACE:
            self._replace(twins, said, quote)
            return
        twins.wrote(*twins.both(lambda side: self._quote(side, said, quote)), self)
        if self.way == FORGOTTEN:
            same(twins.both(lambda side: attempt(lambda: self._reawaken(side, said, quote))), self)

    def _message(self) -> tuple[str, str]:
        if self.way == HELD:
            return f"{self.twist.said} {PLANT}", PLANT
        if self.way == FOREIGN:
            return forwarded(_not_said(self.twist.said)), _not_said(self.twist.quote)
        return self.twist.said, self.twist.quote

    def _quote(self, side: Side, said: str, quote: str) -> Outcome:
        """The agent quotes; nothing but the whole of what was said may come of it, and nothing goes."""
        asked: dict[str, Any] = {"quote": quote}
        if self.way == DATE:
            asked |= {"as_of": _LONG_AGO, "expires_at": _LONG_AGO.replace(year=2099), "topics": ["verified"]}
        before = _acting(side)
        outcome = attempt(lambda: side.keep.remember(self.twist.claimed, via="agent", session=self.session, **asked))
        after, stored = _acting(side), side.stored(outcome)
        if before - after:
            raise PromiseBroken(f"P2: quoting {quote!r} took away {sorted(before - after)}")
        if added := after - before - self._whole(said):
            raise PromiseBroken(f"P3: quoting {quote!r} lets act what the owner did not say: {sorted(added)}")
        if stored is not None and stored.as_of.year == _LONG_AGO.year:
            raise PromiseBroken(f"P3: the agent chose the date of {stored.text!r}")
        return self._noted(side, outcome, said)

    def _whole(self, said: str) -> set[str]:
        """What of a message may act: all of it, and its sentences beside a secret; nothing of what was handed on."""
        if self.way == HELD:
            return {self.twist.said, *(text.replace(SECRET, "[secret]") for text in (said, PLANT))}
        return set() if self.way == FOREIGN else {said}

    def _noted(self, side: Side, outcome: Outcome, said: str) -> Outcome:
        """Write down what came of it: the owner's only if it is what the owner said, whole."""
        stored = side.stored(outcome)
        text = stored.text if stored is not None else self.twist.claimed
        held = {said, PLANT} if self.way == HELD else set()
        is_owners = text in self._whole(said) | held or side.is_passage(self.session, self._message()[1], text)
        most = Standing.OWNER if is_owners else Standing.HEARSAY
        return side.took(outcome, text, "agent", self.session, {}, extra=False, most=most)

    def _reawaken(self, side: Side, said: str, quote: str) -> str:
        """The owner forgets what was said; quoting it brings nothing back before the owner wants it back."""
        via = side.world.speaker(self.session)
        ids = [one.id for one in side.memories().values() if one.text == said and one.standing is Standing.OWNER]
        told = side.keep.forget(ids, via=via) if ids else None
        if told is None or not told.done:
            return "nothing to forget"
        again = answered(side.keep.remember(self.twist.claimed, via="agent", session=self.session, quote=quote))
        if said in _acting(side):
            raise PromiseBroken(f"P3: quoting {quote!r} brings back what the owner forgot")
        if again.memory_id is not None:
            side.keep.delete_memory(again.memory_id, via=via)
        told.undo()
        return again.code

    def _replace(self, twins: Twins, said: str, quote: str) -> None:
        pair = twins.pick(self.which)
        if pair is None:
            return

        def change(side: Side) -> Outcome:
            aim = getattr(pair, side.name)
            words = side.memories()[aim].text
            options: dict[str, Any] = {"via": "agent", "session": self.session, "quote": quote}
            outcome = attempt(lambda: side.keep.update_memory(aim, self.twist.claimed, **options))
            if side.memories()[aim].text != words:
                raise PromiseBroken(f"P3: a true quote let the agent put {self.twist.claimed!r} over {words!r}")
            return self._noted(side, outcome, said)

        twins.wrote(*twins.both(change), self)


def _not_said(text: str) -> str:
    """The same about somebody else, which the owner only ever hands on."""
    return text.replace("9904-71", "3306-18").replace("Ivo", "Udo")


def _acting(side: Side) -> set[str]:
    reader: Callable[..., Any] = side.keep._way_out.reader.listed
    return {shown.memory.text for reads in side.world.readers for shown in reader(whom=reads) if shown.may_act}
