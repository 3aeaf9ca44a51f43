"""Try a grant, the owner's standing permission: it stands for the asking, within its patterns and its caps."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from truekeep.trust.flow.calls import ToolCall
from truekeep.trust.flow.contents import content_not_called_for
from truekeep.trust.flow.evidence import SessionEvidence, StandingGrant, ValueOrigin
from truekeep.trust.flow.patterns import fits
from truekeep.trust.flow.proof import first_proof
from truekeep.trust.flow.reading import read
from truekeep.trust.flow.roles import ArgumentLeaf, ArgumentRole
from truekeep.trust.flow.scope import RequestScope
from truekeep.trust.flow.trial import EffectTrial


def by_grant(
    grant: StandingGrant, call: ToolCall, scopes: tuple[RequestScope, ...], evidence: SessionEvidence
) -> EffectTrial:
    """Try a grant: it stands for the asking; values that only others wrote never satisfy it."""
    trial = EffectTrial(uses={f"grant:{grant.id}": frozenset()})
    is_within = all(_keeps_cap(call, name, most) for name, most in grant.cap.items())
    for leaf in call.targets:
        value = read(leaf.text)
        is_heard = any(True for index in (evidence.foreign, evidence.hearsay) for _ in index.hinting(value))
        # What was not read may hold it: a grant then waits for the owner.
        granted = is_within and _covers(grant, leaf) and not (is_heard or evidence.foreign.is_cut_short)
        trial.settle(leaf, ValueOrigin.GRANT if granted else first_proof(scopes, leaf))
    trial.part(evidence, call)
    if ValueOrigin.GRANT not in trial.origins.values():
        trial.code = "not_asked"
    elif content_not_called_for(evidence, call, scopes):
        trial.code = "content_not_called_for"
    return trial


def _keeps_cap(call: ToolCall, name: str, most: str) -> bool:
    """Whether the call gives the capped argument, and all that it gives there together is no more than the cap.

    An argument that is left out is not capped by anything: the tool then takes whatever it takes by itself.
    """
    given = [leaf for leaf in call.leaves if leaf.top == name]
    numbers = [_number(leaf.text) for leaf in given if not _is_unit(leaf)]
    limit, known = _number(most), [number for number in numbers if number is not None]
    if limit is None or not known or len(known) < len(numbers):
        return False
    return min(known) >= 0 and sum(known) <= limit


def _is_unit(leaf: ArgumentLeaf) -> bool:
    """Whether a value beside an amount only says how it is meant: a currency."""
    return leaf.role is ArgumentRole.NEITHER and isinstance(leaf.value, str) and _number(leaf.text) is None


def _number(text: str) -> Decimal | None:
    """A plain number; nothing that compares with no other."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _covers(grant: StandingGrant, leaf: ArgumentLeaf) -> bool:
    """Whether a target fits the pattern for its argument."""
    pattern = grant.where.get(leaf.top)
    return pattern is not None and fits(leaf.text, pattern, is_command=leaf.role is ArgumentRole.WHOLE)
