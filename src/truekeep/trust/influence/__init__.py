"""Influence: who may act, what counts as the same claim, and who independently states it. Pure."""

from truekeep.trust.influence.claims import (
    Claim,
    Relation,
    claim_key,
    claim_of,
    clause_keys,
    contradicts,
    relation,
    same_claim,
    valid_time,
)
from truekeep.trust.influence.corroboration import (
    Corroboration,
    Reader,
    Statement,
    corroboration,
    standing_for,
)
from truekeep.trust.influence.duplicates import kinship, standing_in
from truekeep.trust.influence.marks import hearsay_marks
from truekeep.trust.influence.may_act import Credits, Influence, MemoryFacts, Outcome, Shelf, credits_of, may_act
from truekeep.trust.influence.outdated import outdated, questions
from truekeep.trust.influence.succession import (
    UNRIVALLED,
    Rank,
    Rival,
    SuccessionPlace,
    may_retire,
    place,
    rank,
    replaces,
)

__all__ = [
    "UNRIVALLED",
    "Claim",
    "Corroboration",
    "Credits",
    "Influence",
    "MemoryFacts",
    "Outcome",
    "Rank",
    "Reader",
    "Relation",
    "Rival",
    "Shelf",
    "Statement",
    "SuccessionPlace",
    "claim_key",
    "claim_of",
    "clause_keys",
    "contradicts",
    "corroboration",
    "credits_of",
    "hearsay_marks",
    "kinship",
    "may_act",
    "may_retire",
    "outdated",
    "place",
    "questions",
    "rank",
    "relation",
    "replaces",
    "same_claim",
    "standing_for",
    "standing_in",
    "valid_time",
]
