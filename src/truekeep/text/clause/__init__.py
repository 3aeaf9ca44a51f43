"""Clauses: the subject, attribute and values of each sentence of a text, in canonical words."""

from truekeep.text.clause.model import Clause
from truekeep.text.clause.parse import clauses
from truekeep.text.clause.terms import SELF

__all__ = ["SELF", "Clause", "clauses"]
