"""What the two sides are compared for after every step: P1 and P2, to the letter.

**Memories.** The set of memories that may act, by text and principal, is the same on both sides, for every reader. That
it is not larger with the hearsay is P1, that it is not smaller is P2. What extra hearsay wrote never acts at all, even
under a text that acts by somebody else's word. What stands above hearsay is still there, in the same words, and so are
the review items of other sources.

**The documented exception to P2.** A value first met as hearsay blocks its corroboration by enrolled systems: that
costs availability, never integrity. A memory is excused only if the record, which keeps its own book of who mentioned
what first, says that it would act but for such a value; a memory that acted before the hearsay came has its value in
that book already and is never excused. The excuse is not left standing: the owner says the words, or in a shared keep
a reviewer approves them, as the design promises that helps, and from then on the comparison is strict again. It goes
both ways: what the owner's word had cleared on the one side may be met as hearsay later on the other, where there was
nothing to clear when the owner spoke.

**Recall.** ``recall(influence_only=True)`` answers the same texts in the same order on both sides, and finds what may
act by its own words.

**Calls.** See ``compare_answers``.
"""

from __future__ import annotations

from tests.promises.grounds import check_grounds, grounds
from tests.promises.record import PromiseBroken
from tests.promises.side import Side
from tests.promises.twins import TicketPair, Twins
from tests.promises.world import PAYING
from truekeep.read.reader import Shown
from truekeep.trust.flow.decide import Answer
from truekeep.trust.influence import Reader
from truekeep.trust.origin import is_hearsay
from truekeep.types import Memory

_QUERIES = ("What is Northwind's account?", "plan of Northwind", "Eva email", "Acme account 7741-90")
Face = tuple[str, str | None]


def compare(twins: Twins, step: int) -> None:
    """Everything that has to be equal after a step."""
    twins.match_items()
    plain, laden = twins.prune()
    clear_first_met(twins, plain, laden)
    _same_contents(twins, plain, laden)
    _same_items(twins)
    for reader in _readers(twins):
        on_plain, on_laden = acting(twins.plain, reader), acting(twins.laden, reader)
        _same_faces(on_plain, on_laden, reader)
        extra = [one for one in on_laden if (known := twins.laden.written.get(one.memory.id)) and known.is_extra]
        if extra:
            raise PromiseBroken(f"P1: hearsay acts for {reader}: {extra[0].text!r}, {extra[0].why}")
        check_grounds(twins.plain, plain, {one.memory.id for one in on_plain}, reader)
        check_grounds(twins.laden, laden, {one.memory.id for one in on_laden}, reader)
        if reader.principal is None and reader is not PAYING and on_laden and step % 4 == 0:
            _finds(twins.laden, on_laden[step % len(on_laden)].memory.text)
    if step % 2:
        _same_recall(twins, _QUERIES[step // 2 % len(_QUERIES)], 3 if step % 4 == 1 else 50)


def _readers(twins: Twins) -> list[Reader]:
    """For whom to compare; a purpose makes a difference only where something was approved for one."""
    approved = any(known.approval is not None for known in twins.laden.written.values())
    return [reader for reader in twins.world.readers if reader is not PAYING or approved]


def acting(side: Side, reader: Reader) -> list[Shown]:
    """What may act for a reader, as listed."""
    return [shown for shown in side.keep._way_out.reader.listed(whom=reader) if shown.may_act]


def _same_faces(plain: list[Shown], laden: list[Shown], reader: Reader) -> None:
    without, given = {_face(one.memory) for one in plain}, {_face(one.memory) for one in laden}
    if added := given - without:
        raise PromiseBroken(f"P1: with hearsay these also act for {reader}: {sorted(map(str, added))}")
    if removed := without - given:
        raise PromiseBroken(f"P2: with hearsay these no longer act for {reader}: {sorted(map(str, removed))}")


def _face(memory: Memory) -> Face:
    return memory.text, memory.origin.principal


def _same_contents(twins: Twins, plain: dict[str, Memory], laden: dict[str, Memory]) -> None:
    for pair in twins.pairs:
        one, other = plain[pair.plain], laden[pair.laden]
        if is_hearsay(one) and is_hearsay(other):
            continue
        if (one.text, one.standing, one.expires_at) != (other.text, other.standing, other.expires_at):
            raise PromiseBroken(f"P2: hearsay changed {one.text!r} into {other.text!r}")


def _same_items(twins: Twins) -> None:
    if not twins.items:
        return
    plain = {item.id: item.state for item in twins.plain.keep.review.list(None)}
    laden = {item.id: item.state for item in twins.laden.keep.review.list(None)}
    for pair in twins.items:
        if plain.get(pair.plain) != laden.get(pair.laden):
            raise PromiseBroken(f"P2: hearsay made a review item {laden.get(pair.laden)}, not {plain.get(pair.plain)}")
    twins.items = [pair for pair in twins.items if pair.plain in plain]


def clear_first_met(twins: Twins, plain: dict[str, Memory], laden: dict[str, Memory]) -> None:
    """Let the owner clear the values that hearsay mentioned first, where only that keeps a memory from acting."""
    texts: list[str] = []
    for reader in twins.world.readers:
        for pair in twins.pairs:
            one, other = (twins.plain, plain, pair.plain), (twins.laden, laden, pair.laden)
            if _is_blocked(*other, reader, *one) or _is_blocked(*one, reader, *other):
                fact = twins.laden.written[pair.laden].fact
                texts += [known.text for known in twins.laden.written.values() if known.fact == fact]
    for text in dict.fromkeys(texts):
        for side in twins.sides:
            side.clear(text)


def _is_blocked(
    side: Side,
    memories: dict[str, Memory],
    memory_id: str,
    reader: Reader,
    there: Side,
    others: dict[str, Memory],
    other_id: str,
) -> bool:
    """Whether a memory acts there, and here does not for a value that hearsay mentioned first alone."""
    return (
        side.repeats_hearsay(side.written[memory_id].text)
        and grounds(there, others, other_id, reader)
        and not grounds(side, memories, memory_id, reader)
        and grounds(side, memories, memory_id, reader, mind_hearsay=False)
    )


def _same_recall(twins: Twins, query: str, k: int) -> None:
    if twins.has_echo:
        return  # an enrolled echo is no hearsay to the index: it counts among the words of what could act
    plain, laden = (_recalled(side, query, k) for side in twins.sides)
    if plain != laden:
        raise PromiseBroken(f"P1/P2: {query!r} is answered {plain} without hearsay and {laden} with it")


def _recalled(side: Side, query: str, k: int) -> list[Face]:
    return [_face(hit.memory) for hit in side.keep.recall(query, k=k, influence_only=True)]


def _finds(side: Side, text: str) -> None:
    """Nothing that is not proven hides what is: not even a copy."""
    plainly = {hit.memory.text for hit in side.keep.recall(text, k=50)}
    if text in plainly and text not in {found for found, _ in _recalled(side, text, 50)}:
        raise PromiseBroken(f"P2: {text!r} may act but is not recalled")


def compare_answers(twins: Twins, ticket: TicketPair) -> None:
    """What hearsay may do to a call, and what not.

    It never lets one through that would not go through without it (P1). It may make an answer stricter: a session that
    took it in is tainted, a value that it holds is known as hearsay's, and the owner's copy of it proves nothing.
    """
    plain, laden = ticket.plain, ticket.laden
    if laden.decision is Answer.ALLOW and plain.decision is not Answer.ALLOW:
        raise PromiseBroken(f"P1: with hearsay {ticket.call} is allowed, without it {plain.decision} ({plain.code})")
    if plain.decision is Answer.DENY and laden.decision is Answer.CONFIRM:
        raise PromiseBroken(f"P1: with hearsay {ticket.call} can be confirmed, without it it is denied ({plain.code})")
