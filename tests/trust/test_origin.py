"""What a memory counts as is decided in one place, whether it is told by the memory or by its row."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from truekeep.claims.contradictions import tag
from truekeep.trust.origin import PROVABLE, is_hearsay, is_hearsay_tag, is_lasting, label_of
from truekeep.types import Approval, Memory, Origin, Standing

NOW = datetime(2026, 3, 1, tzinfo=UTC)
APPROVAL = Approval("eva", "seen the contract", NOW)


@pytest.mark.parametrize(
    ("standing", "approval", "label", "lasting"),
    [
        (Standing.HEARSAY, None, "hearsay", False),
        (Standing.HEARSAY, APPROVAL, "approved", True),
        (Standing.ENROLLED, None, "enrolled", False),
        (Standing.ENROLLED, APPROVAL, "approved", True),
        (Standing.OWNER, None, "owner", True),
        (Standing.OWNER, APPROVAL, "approved", True),
    ],
)
def test_only_hearsay_that_nobody_approved_is_hearsay(
    standing: Standing, approval: Approval | None, label: str, lasting: bool
) -> None:
    memory = Memory("mem_1", "x", standing, Origin("web"), NOW, NOW, approval=approval, keys=("k",))
    assert label_of(memory) == label
    assert is_hearsay(memory) == is_hearsay_tag(tag(memory)) == (label == "hearsay")
    assert is_hearsay(memory) != (label in PROVABLE)
    assert is_lasting(standing, approval) == lasting
