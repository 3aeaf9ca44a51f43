"""Influence: who may act, what counts as the same claim, and who independently states it. Pure."""

from truekeep.influence.claims import (
    Claim,
    Relation,
    claim_key,
    claim_of,
    contradicts,
    hearsay_marks,
    relation,
    same_claim,
)
from truekeep.influence.corroboration import (
    Corroboration,
    Reader,
    Statement,
    corroboration,
    standing_for,
)
from truekeep.influence.credit import Credits, Outcome, credits_of
from truekeep.influence.may_act import Influence, InfluencePolicy, MemoryFacts, may_act

__all__ = [
    "Claim",
    "Corroboration",
    "Credits",
    "Influence",
    "InfluencePolicy",
    "MemoryFacts",
    "Outcome",
    "Reader",
    "Relation",
    "Statement",
    "claim_key",
    "claim_of",
    "contradicts",
    "corroboration",
    "credits_of",
    "hearsay_marks",
    "may_act",
    "relation",
    "same_claim",
    "standing_for",
]
