"""Writes: what an agent wants to put into a memory server goes through the gate of the sidecar keep first.

All of a call is let in or nothing reaches the server. What the sidecar knows already is weighed again with today's
rules and not stored a second time, so a write that was cut off between the sidecar and the server can be repeated.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from truekeep.types import Decision, Verdict

if TYPE_CHECKING:
    from truekeep.keep import Keep

REFUSED = (
    "Not written: {reason} ({code}). Nothing of this call reached the memory server. Do not try it in other words; "
    "tell the owner. What is held waits in 'truekeep review list'."
)
_MOST_TEXTS = 500
"""Texts of one call: they are judged in one transaction, which others wait for."""
_one_at_a_time = threading.Lock()
"""Two calls with the same text must not both find that it is new."""


def admitted(keep: Keep, session: str, texts: Sequence[str]) -> Verdict | None:
    """The first verdict that keeps a write from the server, or nothing if all of it is let in."""
    if len(texts) > _MOST_TEXTS:
        return Verdict(Decision.REJECT, "too_many_texts", "A call has more texts than are judged together.")
    with _one_at_a_time:
        return _judged(keep, session, texts)


def _judged(keep: Keep, session: str, texts: Sequence[str]) -> Verdict | None:
    known = [text for text in texts if keep.review.known(text) is not None]
    for text in known:
        weighed = keep.weigh(text, via="agent", session=session)
        if not weighed.accepted:
            return weighed
    fresh = [text for text in texts if text not in set(known)]
    verdicts = keep.remember_many(fresh, via="agent", session=session) if fresh else []
    return next((one for one in verdicts if not one.accepted), None)
