"""Judge a call: allow, confirm or deny. This docstring is the table; the functions below follow its rows.

======= ======================================================================================== ==================
session call                                                                                     answer
======= ======================================================================================== ==================
clean   targets in the owner's messages, acting memories, own-system values, or composed         allow
clean   the operator says so; a target stands only in notes, only in remembered hearsay, only in confirm
        passages that would not prove it, or only where the owner asked about it
tainted reads own systems, or follows a link that stands whole in the owner's words or in one     allow
        result, is public, bears no token and looks like no known host's twin
tainted reads a place of secrets; composes what goes out from private values beyond the request  confirm; deny if
                                                                                                 the place is hearsay
tainted effect: a plan entry intended it                                                         allow
tainted effect: asked for, every target proved by one request with memories about its party, or  allow
        the id of the one own-system record bearing the owner's whole name for it (where money
        or access goes out, in a field the owner writes); content without links, addresses,
        accounts, codes or private values the request did not call for; where others wrote a
        value of it, or something goes to it, no word of the message is left over
tainted effect: a grant covers it                                                                allow
tainted effect: the id of one of several records that bear the name                              confirm, and a
                                                                                                 yes chooses it
tainted effect: a target from a document the owner pointed at                                    confirm; allow if
                                                                                                 the tool may
tainted effect: not asked, a target found nowhere, content not proved                            confirm
tainted effect: a target from hearsay only, in a call the owner asked for, nothing pointed at     confirm
tainted effect: a target from hearsay only, not asked for or outside what was pointed at          deny
======= ======================================================================================== ==================

Each target takes the first row that holds, the call the strictest of its answers. A grant replaces *asked*, nothing
else. A value that stands only in the agent's notes counts as found nowhere, unless foreign text holds it too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from truekeep.trust.flow.calls import ToolCall
from truekeep.trust.flow.commands import reads_only_commands
from truekeep.trust.flow.evidence import SessionEvidence, ValueOrigin
from truekeep.trust.flow.granted import by_grant
from truekeep.trust.flow.index import RARE, TextIndex, naming, places_of
from truekeep.trust.flow.leaks import (
    is_called_for,
    is_composed_host,
    is_private,
    link_fault,
    links_in,
    names_secret_place,
    telling_values,
)
from truekeep.trust.flow.moments import is_moment
from truekeep.trust.flow.reading import WEIGHTY, TextReading, disguised, has_hidden, read
from truekeep.trust.flow.requests import PROVING, ClauseSort, passage
from truekeep.trust.flow.roles import ArgumentLeaf, ArgumentRole, is_place, leaves, words_of
from truekeep.trust.flow.scope import RequestScope, reading_scopes, scopes
from truekeep.trust.flow.sql import is_sql, reads_only
from truekeep.trust.flow.structure import simple_commands
from truekeep.trust.flow.tools import Tool, names_a_record, tool_for
from truekeep.trust.flow.trial import EffectTrial
from truekeep.trust.flow.trials import (
    by_plan,
    by_request,
    doing,
    is_done,
    is_forbidden,
    repeats,
)


class Answer(StrEnum):
    """What the boundary says to a call."""

    ALLOW = "allow"
    CONFIRM = "confirm"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class CallJudgement:
    """The answer to a call: its code, the reasons, where each value is from, and what a ticket for it uses up."""

    answer: Answer
    code: str
    reasons: tuple[str, ...] = ()
    origins: Mapping[str, ValueOrigin] = field(default_factory=dict)
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Ids of the texts a value that is not proved stands in, by argument, for the dialog and for blame."""
    uses: Mapping[str, frozenset[str]] = field(default_factory=dict)


def judge(evidence: SessionEvidence, name: str, arguments: Mapping[str, Any]) -> CallJudgement:
    """The answer to one call of a tool, from nothing but the evidence."""
    return judge_call(evidence, taken_apart(evidence, name, arguments))


def taken_apart(evidence: SessionEvidence, name: str, arguments: Mapping[str, Any]) -> ToolCall:
    """A call with the tool as it is declared here, and every value in it."""
    tool = tool_for(name, evidence.tools)
    return ToolCall(tool, name, leaves(tool, arguments))


def judge_call(evidence: SessionEvidence, call: ToolCall) -> CallJudgement:
    """The same for a call that is taken apart already."""
    tool, found = call.tool, call.leaves
    reading = tool.is_reading or _looks_up(evidence, tool, found) or _runs_reading(found)
    reading = reading and not any(_writes_sql(tool, leaf) for leaf in found)
    if tool.confirm:
        return CallJudgement(Answer.CONFIRM, "operator_asks", ("The operator has this tool confirmed.",))
    if evidence.clean:
        return _clean(evidence, call, reading)
    if reading:
        return _reading(evidence, tool, found)
    return _unhidden(_effect(evidence, call), found)


def _unhidden(judged: CallJudgement, found: tuple[ArgumentLeaf, ...]) -> CallJudgement:
    """No yes to an effect while a target is more than it looks like: a tool is given what nobody sees, too."""
    hidden = [
        leaf for leaf in found if leaf.role in (ArgumentRole.TARGET, ArgumentRole.WHOLE) and has_hidden(leaf.text)
    ]
    if judged.answer is not Answer.ALLOW or not hidden:
        return judged
    origins = {**judged.origins, **dict.fromkeys((leaf.path for leaf in hidden), ValueOrigin.NOWHERE)}
    why = ("A target has characters that are not seen.",)
    return replace(judged, answer=Answer.CONFIRM, code="hidden_characters", reasons=why, origins=origins)


def _looks_up(evidence: SessionEvidence, tool: Tool, found: tuple[ArgumentLeaf, ...]) -> bool:
    """Whether an undeclared tool is named like one record and given nothing but ids that results gave."""
    if tool.reads is not None or not names_a_record(tool.name):
        return False
    return bool(found) and all(leaf.text.strip().lower() in evidence.records.given for leaf in found)


def _runs_reading(found: tuple[ArgumentLeaf, ...]) -> bool:
    """Whether a call runs commands that only read, and does nothing else that needs the owner's word."""
    lines = [leaf for leaf in found if leaf.role is ArgumentRole.WHOLE]
    rest = [leaf for leaf in found if leaf.role is ArgumentRole.TARGET and not is_place(leaf.key)]
    return bool(lines) and not rest and all(reads_only_commands(leaf.text) for leaf in lines)


def _writes_sql(tool: Tool, leaf: ArgumentLeaf) -> bool:
    """Whether an argument is SQL that does more than read; a tool that runs it has effects, whatever it is called."""
    return _is_sql(tool, leaf) and not reads_only(leaf.text)


def _is_sql(tool: Tool, leaf: ArgumentLeaf) -> bool:
    return leaf.role is ArgumentRole.WHOLE and is_sql(tool.name, leaf.key, leaf.text)


# --- a clean session ---------------------------------------------------------------------------------------------


def _clean(evidence: SessionEvidence, call: ToolCall, reading: bool) -> CallJudgement:
    origins: dict[str, ValueOrigin] = {}
    sources: dict[str, tuple[str, ...]] = {}
    for leaf in call.leaves:
        if leaf.role not in (ArgumentRole.TARGET, ArgumentRole.WHOLE) or reading or not leaf.text.strip():
            continue
        parts = simple_commands(leaf.text) if leaf.role is ArgumentRole.WHOLE else [leaf.text]
        found_in = [_clean_origin(evidence, read(part, evidence.now)) for part in parts]
        if found_in:
            origins[leaf.path], sources[leaf.path] = max(found_in, key=lambda pair: list(ValueOrigin).index(pair[0]))
    doubtful = {path: origin for path, origin in origins.items() if origin in _DOUBTFUL}
    if not doubtful:
        # What is done while clean uses its request up, so that a page read later cannot have it done again.
        best = EffectTrial() if reading else _best(evidence, call, tuple(scopes(evidence, call.name)))
        best.uses |= {} if reading else doing(evidence, call)
        if code := _overdone(evidence, call, best, reading=reading):
            return CallJudgement(Answer.CONFIRM, code, (_REASONS[code],), origins, uses=best.uses)
        return CallJudgement(Answer.ALLOW, "clean", origins=origins, uses=best.uses)
    code, reason = _DOUBTFUL[max(doubtful.values(), key=list(ValueOrigin).index)]
    return CallJudgement(Answer.CONFIRM, code, (reason,), origins, sources)


def _overdone(evidence: SessionEvidence, call: ToolCall, best: EffectTrial, *, reading: bool) -> str:
    """What a model that merely errs does: it repeats an act, or does what the same message excludes.

    Commands are run again and again, and what the owner asked for once more is done once more, as it is in a session
    that read something foreign.
    """
    if reading or any(leaf.role is ArgumentRole.WHOLE for leaf in call.leaves):
        return ""
    is_asked_anew = not best.missing and not best.code
    if is_done(evidence, call) or (not is_asked_anew and any(repeats(used, call) for used in evidence.spent.values())):
        return "request_used"
    forbidden = any(is_forbidden(evidence, message, call) for message in evidence.requests.messages[-1:])
    return "excluded_by_owner" if forbidden else ""


_DOUBTFUL = {
    ValueOrigin.MENTION: ("only_mentioned", "The owner mentioned a target, but did not ask for anything with it."),
    ValueOrigin.NOTE: ("only_in_notes", "A target stands only in the agent's notes or in what may not act."),
    ValueOrigin.HEARSAY: ("only_hearsay", "A target stands only in what others wrote."),
}


def _clean_origin(evidence: SessionEvidence, value: TextReading) -> tuple[ValueOrigin, tuple[str, ...]]:
    """Where a target of a clean session is from; only values that nobody writes by accident are doubted."""
    if evidence.is_confirmed(value.flat):
        return ValueOrigin.CONFIRMED, ()
    is_weighty = any(key.partition(":")[0] in WEIGHTY for key in value.sole) or len(value.words) > 1
    mentions = [
        message.sort_at(place) in PROVING
        for message in evidence.requests.messages
        for place in places_of(message.reading, value)
    ]
    mentions += [
        passage(held.raw, held.at).sort_at(place) in PROVING
        for held in evidence.memories.holding(value)
        for place in places_of(held.reading, value)
    ]
    if any(mentions) or not is_weighty:
        return ValueOrigin.REQUEST if mentions else ValueOrigin.COMPOSED, ()
    if mentions or _is_only_mentioned(evidence, value):
        return ValueOrigin.MENTION, ()
    if names := _ids(evidence.hearsay, value):
        return ValueOrigin.HEARSAY, names
    if names := _ids(evidence.notes, value):
        return ValueOrigin.NOTE, names
    return ValueOrigin.COMPOSED, ()


def _is_only_mentioned(evidence: SessionEvidence, value: TextReading) -> bool:
    """Whether a value that is spelt otherwise stands only where it would not prove: "12 - 34" for "is not 12-34"."""
    form = disguised(value.flat)
    texts = [*evidence.requests.messages, *(passage(held.raw, held.at) for held in evidence.memories.hinting(value))]
    sorts = [
        text.sort_at(found.start)
        for text in texts
        for found in text.reading.values
        if found.kind in WEIGHTY and disguised(found.form) == form
    ]
    return bool(sorts) and PROVING.isdisjoint(sorts)


def _ids(index: TextIndex, value: TextReading) -> tuple[str, ...]:
    return tuple(held.id for held in index.hinting(value))


# --- a tainted session: reading ------------------------------------------------------------------------------------


def _reading(evidence: SessionEvidence, tool: Tool, found: tuple[ArgumentLeaf, ...]) -> CallJudgement:
    open_scopes = reading_scopes(evidence)
    for leaf in found:
        if fault := _place_fault(evidence, tool, leaf, open_scopes):
            return _stopped(evidence, leaf, fault)
    for leaf in () if tool.own else found:
        if leak := _leak(evidence, leaf, open_scopes):
            return _stopped(evidence, leaf, leak)
    return CallJudgement(Answer.ALLOW, "reads")


def _place_fault(
    evidence: SessionEvidence, tool: Tool, leaf: ArgumentLeaf, open_scopes: tuple[RequestScope, ...]
) -> str:
    """What speaks against reading the place that a value names: its code, or nothing."""
    if names_secret_place(leaf.text) and not evidence.requests.name(read(leaf.text)):
        return "secret_place"
    if _is_sql(tool, leaf) and _is_forbidden(evidence, read(leaf.text)):
        return "excluded_by_owner"
    if fault := next((fault for url in links_in(leaf.text) if (fault := link_fault(evidence, url, open_scopes))), ""):
        return fault
    if _is_lead(evidence, leaf):
        return "place_of_others"
    return "composed_link" if not tool.own and is_composed_host(evidence, leaf.text) else ""


_READ_REASONS = {
    "secret_place": "It reads a place where secrets are kept.",
    "excluded_by_owner": "A memory of the owner's excludes what it reads.",
    "place_of_others": "Only what others wrote names the place that it reads.",
    "private_words_in_query": "It would carry private values to somebody else's system.",
    "private_value_in_query": "It would carry private values to somebody else's system.",
    "unknown_code_in_query": "It would carry private values to somebody else's system.",
}
_LINK_REASON = "It follows a link that the owner's words and results do not give."


def _is_lead(evidence: SessionEvidence, leaf: ArgumentLeaf) -> bool:
    """Whether the owner named one room ("#garden") and the call reads another that stands in foreign prose alone."""
    value = read(leaf.text)
    mark = value.flat.strip()[:1]
    if mark not in _ROOM_MARKS or value.flat.strip() in evidence.records.given:
        return False
    named = (typed.form for message in evidence.requests.messages[-1:] for typed in message.reading.values)
    if not any(form.startswith(mark) for form in named) or evidence.requests.name(value):
        return False
    if any(True for _ in evidence.memories.holding(value)):
        return False
    return evidence.foreign.is_cut_short or bool(_ids(evidence.foreign, value))


_ROOM_MARKS = ("#", "@")


def _is_forbidden(evidence: SessionEvidence, query: TextReading) -> bool:
    """Whether a query speaks of something that an acting passage negates: "never touch the billing schema"."""
    words = naming(query.words, words_of("shared_words"))
    for held in evidence.memories.sharing(word for word in words if evidence.memories.counts(word) <= RARE):
        clauses = passage(held.raw, held.at).clauses
        if any(clause.sort is ClauseSort.STOPPED and clause.stems & words for clause in clauses):
            return True
    return False


def _leak(evidence: SessionEvidence, leaf: ArgumentLeaf, open_scopes: tuple[RequestScope, ...]) -> str:
    """What private value a query carries; a whole value that a result gave is how tools are chained, and none."""
    whole = read(leaf.text)
    if (not whole.flat.strip().count(" ") and whole.flat.strip() in evidence.records.given) or is_moment(leaf.text):
        return ""
    if whole.sole and any(True for index in (evidence.foreign, evidence.private) for _ in index.holding(whole)):
        return ""
    if " " in whole.flat.strip() and _tells_private(evidence, whole):
        return "private_words_in_query"
    for value, text in telling_values(leaf.text):
        spelt = read(text.flat[value.start : value.end])
        if is_called_for(evidence, open_scopes, value, text):
            continue
        if is_private(evidence, spelt):
            return "private_value_in_query"
        if value.kind == "code" and whole.flat != spelt.flat:
            return "unknown_code_in_query"
    return ""


_REMEMBERED, _LOOKED_UP = 3, 4
"""Words in one query that nobody said and that stand in memories, or in results of own systems: fewer are a topic.

An error message of an own system is looked up on the web word by word; a memory never is.
"""


def _tells_private(evidence: SessionEvidence, query: TextReading) -> bool:
    """Whether a query has words of private texts that stand neither in the owner's words nor in public ones."""
    said_words = frozenset(word for message in evidence.requests.messages for word in message.reading.stems)
    words = [
        word for word in naming(query.words, words_of("shared_words")) - said_words if not evidence.public.counts(word)
    ]
    remembered = sum(1 for word in words if evidence.memories.counts(word))
    return remembered >= _REMEMBERED or sum(1 for word in words if evidence.private.counts(word)) >= _LOOKED_UP


def _stopped(evidence: SessionEvidence, leaf: ArgumentLeaf, code: str) -> CallJudgement:
    """A read that is not let through; where hearsay names the place, it is denied."""
    value = read(leaf.text)
    places = {reading.flat: None for reading in (value, *map(read, _hosts(value)))}
    held = tuple(name for place in places for name in _ids(evidence.foreign, read(place)))
    leaks = code in ("private_value_in_link", "secret_place", "look_alike_host")
    answer = Answer.DENY if held and leaks else Answer.CONFIRM
    origin = ValueOrigin.HEARSAY if held else ValueOrigin.NOWHERE
    reason = _READ_REASONS.get(code, _LINK_REASON)
    return CallJudgement(answer, code, (reason,), {leaf.path: origin}, {leaf.path: held})


def _hosts(value: TextReading) -> list[str]:
    return [typed.form for typed in value.values if typed.kind == "host"]


# --- a tainted session: effects -------------------------------------------------------------------------------------


def _effect(evidence: SessionEvidence, call: ToolCall) -> CallJudgement:
    open_scopes = tuple(scopes(evidence, call.name))
    best = _best(evidence, call, open_scopes)
    if is_done(evidence, call):
        best.code = "request_used"
    if not best.missing and not best.code:
        return CallJudgement(Answer.ALLOW, "proved", origins=best.origins, uses=best.uses | doing(evidence, call))
    judged = _unproved(evidence, call.tool, best, bool(open_scopes))
    return replace(judged, uses={**judged.uses, **doing(evidence, call)})


def _best(evidence: SessionEvidence, call: ToolCall, open_scopes: tuple[RequestScope, ...]) -> EffectTrial:
    """The trial that carries the call furthest: of the plan, the open requests and the grants."""
    entries = [entry for entry in evidence.plan if entry.tool == call.name and entry.id not in evidence.spent]
    asked = [by_request(scope, call) for scope in open_scopes]
    # Of equals the first is used up: a plan entry with its request, rather than the request alone.
    tried = tuple(zip(open_scopes, asked, strict=True))
    trials = [*(by_plan(entry, call, tried, evidence) for entry in entries), *asked]
    trials += [by_grant(g, call, open_scopes, evidence) for g in evidence.grants if g.holds(call.name, evidence.now)]
    nothing = EffectTrial({}, [leaf for leaf in call.targets if leaf.text.strip()], "not_asked")
    return min(trials, key=lambda trial: trial.rank, default=nothing)


# --- what is not proved ----------------------------------------------------------------------------------------------


def _unproved(evidence: SessionEvidence, tool: Tool, trial: EffectTrial, asked: bool) -> CallJudgement:
    """Confirm or deny, by where the values that nothing proved come from."""
    sources: dict[str, tuple[str, ...]] = {}
    for leaf in trial.missing:
        value = read(leaf.text)
        held = () if _is_slight(leaf, value) else (*_ids(evidence.foreign, value), *_ids(evidence.hearsay, value))
        sources[leaf.path] = held
        trial.origins[leaf.path] = _unproved_origin(evidence, held)
    hearsay = [path for path, origin in trial.origins.items() if origin is ValueOrigin.HEARSAY]
    # A tool that nobody declared and whose name says no act may be a read after all: that is for the owner to say.
    is_effect = tool.reads is False or bool(ToolCall(tool, tool.name, ()).acts)
    # To note a value down must not make an action harder: what only the agent itself wrote is for the owner to judge.
    heard = [sources[path] for path in hearsay if not all(map(evidence.is_bare_note, sources[path]))]
    if heard and is_effect and _is_denied(evidence, asked, heard):
        reason = "A target comes only from what others wrote, in a call the owner did not ask for."
        return CallJudgement(Answer.DENY, "hearsay_target", (reason,), trial.origins, sources)
    code = trial.code or ("hearsay_target" if hearsay else "target_not_proved")
    if not trial.code and tool.trust_pointed and _all_pointed(evidence, trial, sources):
        return CallJudgement(Answer.ALLOW, "pointed_at", (), trial.origins, sources, trial.uses)
    # That somebody else gave a value is said first, whatever else is wrong with the call.
    why = dict.fromkeys((*(("hearsay_target",) if hearsay else ()), code))
    uses = {} if trial.code in _UNRELATED else trial.uses
    return CallJudgement(Answer.CONFIRM, code, tuple(map(_REASONS.__getitem__, why)), trial.origins, sources, uses)


_UNRELATED = frozenset({"another_act", "excluded_by_owner", "not_asked", "request_used", "left_out"})
"""Faults of a call that no open request is about: confirming it carries none of them out."""
_REASONS = {
    "hearsay_target": "A target comes only from what others wrote.",
    "target_not_proved": "A target does not stand in the owner's request or in a memory about its party.",
    "not_asked": "The owner did not ask for this.",
    "another_act": "The owner asked for another act.",
    "excluded_by_owner": "The owner's message excludes this.",
    "set_by_others": "Foreign text names this tool, or says what an argument shall be.",
    "request_used": "The request was carried out already.",
    "left_out": "The call leaves out something the owner asked for.",
    "words_left_over": "The owner's words are more than a plain request, or came before words that are not understood.",
    "content_not_called_for": "The content carries links, addresses, accounts or codes the owner did not call for.",
}


def _is_slight(leaf: ArgumentLeaf, value: TextReading) -> bool:
    """Whether a value could stand anywhere by accident: a flag or a small number says nothing about its origin."""
    return leaf.role is ArgumentRole.FLAG or len(value.flat.strip()) < 3


def _unproved_origin(evidence: SessionEvidence, held: tuple[str, ...]) -> ValueOrigin:
    if not held:
        return ValueOrigin.NOWHERE
    return ValueOrigin.POINTED if all(_is_pointed(evidence, name) for name in held) else ValueOrigin.HEARSAY


def _is_pointed(evidence: SessionEvidence, name: str) -> bool:
    """Whether the owner pointed at a text: its origin stands whole in the owner's words."""
    held = evidence.foreign.texts.get(name)
    if held is None or not held.origin:
        return False
    # A text is read only if it can stand there: a session may hold hundreds of them.
    spelt = " ".join(held.origin.lower().split())
    near = any(spelt[:_FEW_LETTERS] in message.reading.flat for message in evidence.requests.messages)
    return near and evidence.requests.name(read(held.origin))


_FEW_LETTERS = 8


def _is_denied(evidence: SessionEvidence, asked: bool, sources: Iterable[tuple[str, ...]]) -> bool:
    """Not asked for, or outside what was pointed at; a message nobody understands is no proof of either."""
    last = evidence.requests.messages[-1:]
    if not asked:
        # A clause that opens like a request but proves nothing ("do what the page says") is still the owner's wish.
        clear = bool(last) and last[0].is_understood
        return clear and not any(c.acts or c.adds or c.sort is ClauseSort.FRAGMENT for c in last[0].clauses)
    pointed = any(_is_pointed(evidence, name) for name in evidence.foreign.texts)
    return pointed and any(not any(_is_pointed(evidence, name) for name in held) for held in sources)


def _all_pointed(evidence: SessionEvidence, trial: EffectTrial, sources: Mapping[str, tuple[str, ...]]) -> bool:
    return bool(trial.missing) and all(
        any(_is_pointed(evidence, name) for name in sources[leaf.path]) for leaf in trial.missing
    )
