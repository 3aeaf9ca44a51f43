"""Imported by the process that all others are forked from: loads what the first write and recall load."""

from __future__ import annotations

import tempfile

from tests.crash import operations  # noqa: F401 - what the children run
from tests.crash.nursery import SETTINGS
from truekeep import Keep

with tempfile.TemporaryDirectory() as home, Keep.open("first", home=home, settings=SETTINGS) as keep:
    keep.remember("The gate is green.", via="user", session="s-1")
    item = keep.remember("The gate is blue.", via="web").item_id
    keep.recall("gate")
    keep.review.reject(str(item), by="eva", reason="no")
    keep.undo(keep.revoke(session="s-1", by="eva", reason="trying")["incident"], by="eva", reason="trying")
    keep.rewind(1, by="eva", reason="trying")
