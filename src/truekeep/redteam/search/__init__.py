"""An attacker that searches: the cheapest sequence of public operations that makes a poison act or a truth vanish."""

from truekeep.redteam.search.cost import Budget, Cost
from truekeep.redteam.search.hunt import search
from truekeep.redteam.search.result import Found, Result, rows

__all__ = ["Budget", "Cost", "Found", "Result", "rows", "search"]
