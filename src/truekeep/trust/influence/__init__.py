"""Influence: who may act, what counts as the same claim, and who independently states it. Pure."""

from truekeep.influence.claims import (
    Claim,
    Relation,
    claim_key,
    claim_of,
    clause_keys,
    contradicts,
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
from truekeep.influence.duplicates import kinship, standing_in
from truekeep.influence.marks import hearsay_marks
from truekeep.influence.may_act import Influence, InfluencePolicy, MemoryFacts, may_act
from truekeep.influence.outdated import outdated, questions
from truekeep.influence.shelf import Shelf
from truekeep.influence.succession import UNRIVALLED, Place, Rank, Rival, may_retire, place, rank, replaces
from truekeep.influence.valid_time import valid_time

__all__ = [
    "UNRIVALLED",
    "Claim",
    "Corroboration",
    "Credits",
    "Influence",
    "InfluencePolicy",
    "MemoryFacts",
    "Outcome",
    "Place",
    "Rank",
    "Reader",
    "Relation",
    "Rival",
    "Shelf",
    "Statement",
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
