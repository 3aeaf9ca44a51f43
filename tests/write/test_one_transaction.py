"""What one transaction writes is seen by the reads inside it."""

from __future__ import annotations

import pytest

from truekeep import Keep


@pytest.mark.parametrize("via", ["web", "user", "import"])
def test_a_batch_whose_texts_share_a_value_is_stored(informed: Keep, via: str) -> None:
    shared = ["Northwind's account is 7741-90.", "The account of Acme is 7741-90.", "Northwind's account is 7741-90."]
    assert all(verdict.memory_id for verdict in informed.remember_many(shared, via=via))
    assert informed.audit.verify().ok
