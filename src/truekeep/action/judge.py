"""The act boundary: judge a call by where each of its values came from. Pure, deterministic, without a model.

| the values come from                              | ordinary | consequential                               |
|---------------------------------------------------|----------|---------------------------------------------|
| the owner's messages; a fresh memory that may act | allow    | allow if asked for or granted, else confirm |
| nowhere; a document the owner pointed at          | allow    | confirm                                     |
| a memory that may act but is old and volatile     | allow    | confirm                                     |
| hearsay only                                      | confirm  | deny                                        |

The worst value decides. What cannot be traced is never proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from truekeep.action.arguments import Leaf, checked_name, leaves
from truekeep.action.consequence import is_consequential
from truekeep.action.kinds import role_of
from truekeep.action.model import PROVEN, ActionJudgement, Answer, Evidence, Provenance, Traced
from truekeep.action.requests import requests, verb_forms
from truekeep.action.segments import Segment
from truekeep.action.settings import ActionSettings, ActionsSettings, Grant
from truekeep.action.split import wholes
from truekeep.action.subject import Context
from truekeep.action.trace import Call, Found, find, is_known
from truekeep.action.wanted import wanted, words_of

_REASONS = {
    Provenance.EXEMPT: "is not traced, as the operator configured.",
    Provenance.OPERATOR: "is in a standing grant.",
    Provenance.OWNER: "comes from your messages.",
    Provenance.MEMORY: "comes from a memory that may act.",
    Provenance.STALE: "comes from a memory that may be out of date.",
    Provenance.DOCUMENT: "comes from a document you pointed at.",
    Provenance.COMPUTED: "was found in nothing you said and in no memory that may act.",
    Provenance.HEARSAY: "comes from hearsay only.",
}
_CONFIRM_CODES = {
    Provenance.STALE: "stale_values",
    Provenance.DOCUMENT: "document_values",
    Provenance.COMPUTED: "unproven_values",
}


def judge(
    name: str, arguments: Mapping[str, Any], evidence: Evidence, settings: ActionsSettings | None = None
) -> ActionJudgement:
    """Allow the call, ask the owner to confirm it, or deny it; with a stable code and a reason for every value."""
    checked_name(name)
    found = leaves(arguments)
    own = (settings or ActionsSettings()).of(name)
    consequential = is_consequential(name, own, found)
    asked = requests(name, own.asked_by, evidence.owner, evidence.spent, evidence.pasted)
    grant = _grant(own, arguments, evidence)
    call = _call(name, found, evidence, own, asked, grant)
    traced = _trace(found, call)
    worst = max((value.provenance for value in traced), default=Provenance.EXEMPT)
    request = call.focus[-1] if call.focus else None
    answer, code = _decide(worst, consequential, request is not None, grant is not None)
    reasons = tuple(value.reason for value in traced if value.provenance >= Provenance.STALE)
    if code == "not_asked":
        reasons = ("You did not ask for this action in this session.", *reasons)
    return ActionJudgement(
        answer,
        code,
        reasons,
        traced,
        consequential,
        request=(request.source, request.number) if request else None,
        grant=grant.name if grant else None,
    )


def _decide(worst: Provenance, consequential: bool, is_asked: bool, is_granted: bool) -> tuple[Answer, str]:
    if worst is Provenance.HEARSAY:
        return (Answer.DENY if consequential else Answer.CONFIRM), "hearsay_values"
    if not consequential:
        return Answer.ALLOW, "ordinary"
    if worst not in PROVEN:
        return Answer.CONFIRM, _CONFIRM_CODES[worst]
    if is_asked:
        return Answer.ALLOW, "asked"
    return (Answer.ALLOW, "granted") if is_granted else (Answer.CONFIRM, "not_asked")


def _grant(settings: ActionSettings, arguments: Mapping[str, Any], evidence: Evidence) -> Grant | None:
    uses = evidence.grant_uses or {}
    return next(
        (g for g in settings.grants if g.covers(arguments, evidence.now, uses.get(g.name, 0))),
        None,
    )


def _call(
    name: str,
    found: tuple[Leaf, ...],
    evidence: Evidence,
    settings: ActionSettings,
    asked: tuple[Segment, ...],
    grant: Grant | None,
) -> Call:
    parties = tuple(party for leaf in found if (party := _party(leaf)))
    naming = tuple(segment for segment in asked if any(party <= segment.words for party in parties))
    focus = naming or asked
    said = focus or tuple(s for source in evidence.owner.sources.values() for s in source.segments)
    words = frozenset(word for segment in said for word in (*segment.words, *segment.lexemes))
    verbs = verb_forms(name, settings.asked_by)
    return Call(settings, evidence, verbs, focus, Context(words, parties), grant)


def _party(leaf: Leaf) -> frozenset[str]:
    """The words of an argument that names somebody; an address or number names nobody by itself."""
    if role_of(leaf.name_words) != "party" or not isinstance(leaf.value, str) or "@" in leaf.value:
        return frozenset()
    words = words_of(leaf.value)
    return frozenset(words) if words and not any(char.isdigit() for char in leaf.value) else frozenset()


def _trace(found: tuple[Leaf, ...], call: Call) -> tuple[Traced, ...]:
    """Parties first: whom a proven one names is what the other values may be about."""
    results: dict[int, Found] = {}
    order = sorted(range(len(found)), key=lambda place: not _party(found[place]))
    for place in order:
        leaf = found[place]
        results[place] = _found(leaf, call)
        party = _party(leaf)
        if party and results[place].provenance in PROVEN - {Provenance.EXEMPT}:
            context = replace(call.context, words=call.context.words | party)
            call = replace(call, context=context)
    _reassemble(found, results, call)
    return tuple(
        Traced(leaf.path, results[place].provenance, _reason(leaf, results[place]), results[place].memory_id)
        for place, leaf in enumerate(found)
    )


def _found(leaf: Leaf, call: Call) -> Found:
    if call.settings.is_exempt(leaf.top):
        return Found(Provenance.EXEMPT)
    parts = [find(want, leaf, call) for want in dict.fromkeys(wanted(leaf))]
    if len(parts) > 1 and parts[0].provenance is Provenance.OWNER:
        # The owner said the whole of it in just these words, so its parts need no source of their own.
        return parts[0]
    return max(parts, key=lambda part: part.provenance)


def _reassemble(found: tuple[Leaf, ...], results: dict[int, Found], call: Call) -> None:
    traced = tuple(leaf for place, leaf in enumerate(found) if results[place].provenance is not Provenance.EXEMPT)
    places = [place for place in results if results[place].provenance is not Provenance.EXEMPT]
    places.sort()
    for one in wholes(traced):
        if not is_known(one.key, one.loose_key, call.evidence):
            continue
        pieces = [places[index] for index in one.places]
        if all(results[place].provenance in PROVEN for place in pieces):
            continue
        # A grant proves the argument that it lists, never what stands beside it.
        whole = find(one.wanted, traced[one.places[0]], replace(call, grant=None))
        if whole.provenance is Provenance.COMPUTED:
            continue
        for place in pieces:
            worse = whole.provenance > results[place].provenance
            unproven = results[place].provenance is Provenance.COMPUTED
            if worse or unproven:
                results[place] = whole


def _reason(leaf: Leaf, found: Found) -> str:
    return f"'{leaf.path}' {_REASONS[found.provenance]}"
