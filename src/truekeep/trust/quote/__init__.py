"""Whose words a message holds: the owner's own, and what was pasted into it."""

from truekeep.trust.quote.paste import Parts, split_paste
from truekeep.trust.quote.seen import SeenTexts

__all__ = ["Parts", "SeenTexts", "split_paste"]
