"""Quote proof: is a memory what the owner said, and is a message the owner's own or pasted. Pure."""

from truekeep.quote.paste import Parts, SeenTexts, split_paste
from truekeep.quote.proof import REWORDED, OwnerMessage, Proof, Spoken, Understood, prove_quote, understood

__all__ = [
    "REWORDED",
    "OwnerMessage",
    "Parts",
    "Proof",
    "SeenTexts",
    "Spoken",
    "Understood",
    "prove_quote",
    "split_paste",
    "understood",
]
