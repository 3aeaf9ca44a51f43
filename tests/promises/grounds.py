"""The rule of influence over the symbolic record: on what grounds a memory could act, if on any.

A second, slow and literal reading of the rule, which knows facts instead of texts. It is an upper bound: what has no
grounds here may never act, whatever the product says; what has grounds may still be replaced by a newer fact.
"""

from __future__ import annotations

from itertools import combinations

from tests.promises.record import PromiseBroken, Written
from tests.promises.side import Side
from truekeep.read.reader import is_expired
from truekeep.trust.influence import Reader
from truekeep.types import Memory, Standing


def check_grounds(side: Side, memories: dict[str, Memory], acting: set[str], reader: Reader) -> None:
    """Everything that acts has grounds to."""
    for memory_id in acting:
        if not grounds(side, memories, memory_id, reader):
            known = side.written.get(memory_id)
            raise PromiseBroken(f"P1/P3: on the {side.name} side {known} acts for {reader} without grounds")


def grounds(
    side: Side, memories: dict[str, Memory], memory_id: str, reader: Reader, *, mind_hearsay: bool = True
) -> bool:
    """Whether the record gives the memory a reason to act for that reader."""
    known = side.written.get(memory_id)
    memory = memories.get(memory_id)
    if known is None or memory is None or is_expired(memory, side.clock()):
        return False
    if known.approval is not None:
        return _approved(side, known, reader)
    standing = standing_to(known, reader)
    if standing is not Standing.ENROLLED:
        return standing is Standing.OWNER
    if side.credits[memory_id, known.text] > 0:
        return True
    return known.channel != "agent" and _has_witnesses(side, memories, memory_id, reader, mind_hearsay=mind_hearsay)


def standing_to(known: Written, reader: Reader) -> Standing:
    """In a shared keep only one's own words are the owner's."""
    is_foreign = reader.is_shared_keep and (known.principal is None or known.principal != reader.principal)
    return Standing.ENROLLED if known.most is Standing.OWNER and is_foreign else known.most


def _approved(side: Side, known: Written, reader: Reader) -> bool:
    approval = known.approval
    assert approval is not None
    in_time = approval.until is None or approval.until > side.clock()
    return not approval.inform_only and in_time and approval.purpose in (None, reader.purpose)


def _has_witnesses(
    side: Side, memories: dict[str, Memory], memory_id: str, reader: Reader, *, mind_hearsay: bool
) -> bool:
    fact, now = side.written[memory_id].fact, side.clock()
    if fact is None or (mind_hearsay and side.repeats_hearsay(side.written[memory_id].text)):
        return False
    witnesses = [
        (known.principal or known.channel, side.lineage(other))
        for other, known in side.written.items()
        if other in memories
        and not is_expired(memories[other], now)
        and known.fact == fact
        and known.approval is None
        and known.channel != "agent"
        and standing_to(known, reader) is Standing.ENROLLED
        and not (mind_hearsay and side.repeats_hearsay(known.text))
    ]
    return any(one != two and lineage.isdisjoint(other) for (one, lineage), (two, other) in combinations(witnesses, 2))
