"""Try what could carry an effect in a tainted session: an open request or a plan entry; ``granted`` tries the grants.

A trial proves the call's targets one by one and then looks for faults. ``FAULTS`` is the list of them, in the order
in which they are reported; each is a question about one request and one call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise

from truekeep.trust.flow.calls import TARGETS, ToolCall
from truekeep.trust.flow.contents import content_not_called_for
from truekeep.trust.flow.evidence import PlanEntry, SessionEvidence, ValueOrigin
from truekeep.trust.flow.forms import OUTWARD, act_stems, act_words, acts_of, bare_letters, name_words
from truekeep.trust.flow.index import naming
from truekeep.trust.flow.moments import is_moment
from truekeep.trust.flow.omissions import (
    breaks_standing_wish,
    leaves_out_party,
    mentions_what_it_must_not,
    omits,
    says_as_dictated,
    tells_whom_it_must_not,
)
from truekeep.trust.flow.opposites import undoes
from truekeep.trust.flow.plainness import words_left_over
from truekeep.trust.flow.plans import planned
from truekeep.trust.flow.proof import first_proof, prove
from truekeep.trust.flow.reading import read, stem
from truekeep.trust.flow.requests import OwnerSaid
from truekeep.trust.flow.roles import ArgumentLeaf, ArgumentRole, currencies, money_words, words_of
from truekeep.trust.flow.scope import RequestScope, denied_in, denied_values, reading_scopes
from truekeep.trust.flow.trial import EffectTrial, parties

_CALLED = "()"
"""Behind the name of a tool, among the values that a request was used up with."""
_TO = frozenset({"to", "zu", "de", "di"})
"""What an infinitive follows that hangs on another verb."""
_UNSAID = frozenset({ValueOrigin.NEITHER, ValueOrigin.COMPOSED})


def repeats(used: frozenset[str], call: ToolCall) -> bool:
    """Whether a call does again what used a request up: the same tool, and nobody whom it did not go to."""
    done = _done_with(call)
    return len(done) > 1 and done <= used


def is_done(evidence: SessionEvidence, call: ToolCall) -> bool:
    """Whether a redeemed call did the same since the owner spoke last, whatever it was proved by."""
    return repeats(frozenset().union(*(evidence.spent.get(name, ()) for name in doing(evidence, call))), call)


def doing(evidence: SessionEvidence, call: ToolCall) -> dict[str, frozenset[str]]:
    """What a redeemed call did, under the message that it came after."""
    return {f"after {len(evidence.requests.messages)}: {call.name}": _done_with(call)}


def _done_with(call: ToolCall) -> frozenset[str]:
    """What a call is known by among those that used something up: its tool, and its tool with each party."""
    name = f"{call.name}{_CALLED}"
    return frozenset({name, *(f"{name} {party}" for party in parties(call))})


def by_request(scope: RequestScope, call: ToolCall) -> EffectTrial:
    """Try one open request: does it ask for this act, prove every target and call for what the content holds?"""
    trial = EffectTrial()
    found = {leaf.path: prove(scope, leaf) for leaf in call.targets}
    for leaf in call.targets:
        # Once more, because a time may lean on a day that a later argument proves.
        trial.settle(leaf, found[leaf.path] or (prove(scope, leaf) if is_moment(leaf.text) else None))
    trial.part(scope.evidence, call)
    trial.code = next((code for code, fault in FAULTS if fault(scope, call, trial)), "")
    trial.uses = _used(scope, call)
    trial.fit = _fit(scope, call)
    return trial


def _used(scope: RequestScope, call: ToolCall) -> dict[str, frozenset[str]]:
    """What a call uses up of a request."""
    return {name: _done_with(call) for name in scope.request.ids}


def _fit(scope: RequestScope, call: ToolCall) -> int:
    """How well a request's words fit a call: its verb, the values it names, the words that the call takes up."""
    given = {key for leaf in call.leaves for key in read(leaf.text).keys}
    named = sum(1 for value in scope.own.values_in(scope.clause) if value.key in given)
    return bool(call.acts & scope.clause.acts) + named + _standing_in_clause(scope, call.targets)


def _standing_in_clause(scope: RequestScope, targets: Iterable[ArgumentLeaf]) -> int:
    """How many values of a call have words in the request's own clause."""
    words = frozenset(map(stem, scope.clause.words))
    return sum(1 for leaf in targets if (found := read(leaf.text).stems) and found <= words)


def _opposite(scope: RequestScope, call: ToolCall, _: EffectTrial) -> bool:
    """The call undoes what the request wants done: "lock the gate" and ``unlock_door``."""
    spoken = [word for place in scope.request.clauses for word in scope.own.clauses[place].words]
    return undoes([word for word in spoken if stem(word) in scope.clause.heads], spoken, call)


def _another_act(scope: RequestScope, call: ToolCall, _: EffectTrial) -> bool:
    """The request's verb and the tool's name mean acts that have nothing in common, or another clause has the verb."""
    asked, verbs = scope.clause.acts, call.words & act_stems()
    own = {stem(word) for place in scope.request.clauses for word in scope.own.clauses[place].words[:2]} & act_stems()
    others = {stem(word) for clause in scope.own.clauses if clause.acts for word in clause.words[:2]} - own
    # "Fix 211, close 219": closing is asked for by the clause that says so, and by no other.
    if verbs & others and (own or not asked) and not (asked and scope.looks_back):
        return True
    if not all(map(partial(_takes_up, scope, call), scope.request.clauses if scope.request.others else ())):
        return True
    if call.words & scope.channels and "say" in call.acts:
        return False  # "order 40 of them by mail" is a mail.
    if scope.clause.heads & _preparing():
        return bool(call.acts - {"do"}) and not call.words & _preparing()
    # The "file" of "delete_file" is a thing there, and no act that "give me the file" could mean.
    if call.acts & _inner_acts(scope) and not scope.clause.heads & call.words and "say" not in asked & call.acts:
        return True  # "Remind Karl to unlock the door" unlocks nothing.
    is_removing = asked and "remove" not in asked and any(acts_of(word) == {"remove"} for word in name_words(call.name))
    return is_removing or _is_everyday(scope, call) or bool(call.acts and asked and not call.acts & asked)


def _inner_acts(scope: RequestScope) -> frozenset[str]:
    """What verbs mean that are the object of another one: "the plan to deploy", "essayer de payer"."""
    return frozenset(
        act
        for place in scope.request.clauses
        for before, word in pairwise(scope.own.clauses[place].words[1:])
        if before in _TO
        for act in act_words().get(bare_letters(word), ())
    )


def _takes_up(scope: RequestScope, call: ToolCall, place: int) -> bool:
    """Whether something that a clause names is in the call."""
    clause = scope.own.clauses[place]
    given = [read(leaf.text) for leaf in call.leaves]
    keys = {key for reading in given for key in reading.keys}
    words = frozenset().union(*(one.stems for one in given))
    named = clause.stems - clause.heads - frozenset(map(stem, name_words(call.name)))
    if not clause.heads & act_stems():
        return clause.stems <= words  # "the minutes to Jonas and the invoice to Edda" pairs each with its own.
    return any(value.key in keys for value in scope.own.values_in(clause)) or bool(named & words)


def _is_everyday(scope: RequestScope, call: ToolCall) -> bool:
    """Whether a verb of many meanings may mean another act than taking away or paying, and is not the tool's own.

    "Take the file along" and "kick off the meeting" take nothing away, "give Ruth 20 minutes" pays nothing.
    """
    asked, words = scope.clause.acts, pairwise(scope.clause.words)
    meant = call.acts & asked
    if "remove" in meant and not call.words & scope.clause.heads:
        following = {after for word, after in words if stem(word) in scope.clause.heads}
        return len(asked) > 1 or bool(following & words_of("particles"))
    is_vague = "pay" in meant and len(asked) > 1
    counts = {leaf.text for leaf in call.leaves if leaf.key.casefold().replace("_", "") in words_of("count")}
    amounts = (after for word, after in words if word.isdigit() and word not in counts)
    return is_vague and any(_counts_things(call, after) for after in amounts)


def _counts_things(call: ToolCall, word: str) -> bool:
    """Whether the word after a number is neither money nor anything that the call names."""
    given = call.words.union(*(read(leaf.text).stems for leaf in call.leaves))
    return bool(naming((word,), words_of("shared_words") | money_words()) - given)


@cache
def _preparing() -> frozenset[str]:
    return frozenset(map(stem, words_of("preparing")))


def _excluded(scope: RequestScope, call: ToolCall, _: EffectTrial) -> bool:
    """The owner's message forbids this act ("don't send"), or a thing that the call goes to ("not the draft")."""
    return is_forbidden(scope.evidence, scope.own, call) or _mentions(scope, call)


def _mentions(scope: RequestScope, call: ToolCall) -> bool:
    return any(mentions_what_it_must_not(scope, read(leaf.text)) for leaf in call.contents)


def is_forbidden(evidence: SessionEvidence, message: OwnerSaid, call: ToolCall) -> bool:
    """Whether a negated clause names a thing of the call; one that names no thing forbids the acts it names."""
    words = (word for leaf in call.leaves if leaf.role in TARGETS for word in read(leaf.text).words)
    things = naming(words, words_of("shared_words"))
    is_named = any(
        (named - act_stems()) & things or (not named - act_stems() and named & call.words)
        for named in denied_in(message)
    )
    return is_named or _is_kept_from(evidence, message, call)


def _is_kept_from(evidence: SessionEvidence, message: OwnerSaid, call: ToolCall) -> bool:
    """Whether the call chooses a record that the owner excluded, or tells somebody what they are not to know."""
    return _bears_denied(evidence, message, call) or tells_whom_it_must_not(evidence, call.leaves)


def _bears_denied(evidence: SessionEvidence, message: OwnerSaid, call: ToolCall) -> bool:
    """Whether a record that the call chooses has a value that the owner excluded: a slot on "not on Tuesday"."""
    denied = denied_values(message)
    ids = {leaf.text.strip().lower() for leaf in call.targets} if denied else set()
    return any(record.values & denied for record in evidence.records.records if not ids.isdisjoint(record.ids.values()))


def _not_asked(scope: RequestScope, call: ToolCall, trial: EffectTrial) -> bool:
    """Nothing but content ties the call to the request, or the request's verb is in no table and not in the name."""
    asked = scope.clause.acts
    if not asked:
        # A word that no table knows asks for a tool that bears it, unless the tool's own verb is another.
        is_named = not call.acts and bool(call.words & scope.clause.heads)
        return not is_named and not _is_spelled_out(scope, call, trial)
    return not call.words & scope.stems and (set(trial.origins.values()) <= _UNSAID and "say" not in call.acts & asked)


def _is_spelled_out(scope: RequestScope, call: ToolCall, trial: EffectTrial) -> bool:
    """Whether a clause whose verb no table knows gives all that the call needs, and nobody else has a say in it.

    Nothing is taken away for such a clause, and money and access go only where a memory or a record says.
    """
    said = [leaf for leaf in call.targets if trial.origins.get(leaf.path) not in _UNSAID]
    foreign = scope.evidence.foreign
    is_heard = any(True for leaf in said for _ in foreign.hinting(read(leaf.text))) or foreign.is_cut_short
    if trial.missing or len(said) < _SPELLED_OUT or is_heard or "remove" in call.acts:
        return False
    return not call.acts & OUTWARD or not any(
        trial.origins[leaf.path] is ValueOrigin.REQUEST and read(leaf.text).sole and isinstance(leaf.value, str)
        for leaf in said
    )


_SPELLED_OUT = 2
"""Values that a clause without a known verb has to give."""


def _request_used(scope: RequestScope, call: ToolCall, _: EffectTrial) -> bool:
    """A redeemed ticket used this request already, and the call is another act or goes to nobody else whom it names."""
    used = frozenset().union(*(scope.evidence.spent.get(name, ()) for name in scope.request.ids))
    others = {act for name in used if name.endswith(_CALLED) for act in acts_of(name)} - {"do"}
    # "Send" was carried out as writing, so it is not paying as well; to move a ticket and to tag it may be one wish.
    is_other = f"{call.name}{_CALLED}" not in used and bool(others and call.acts - {"do"})
    return is_other or repeats(used, call)


def _left_out(scope: RequestScope, call: ToolCall, _: EffectTrial) -> bool:
    """The request, or a standing wish about its party, has a value or an option that the call leaves out."""
    options = call.tool.schema.get("properties", {})
    given = {leaf.top for leaf in call.leaves}
    for name, about in options.items() if isinstance(options, Mapping) else ():
        words = naming(name_words(name), frozenset())
        is_flag = isinstance(about, Mapping) and about.get("type") == "boolean"
        if is_flag and name not in given and words and words <= scope.stems:
            return True
    if any(leaf.text.strip() for leaf in call.contents) and not says_as_dictated(scope, call.leaves):
        return True
    if call.acts & OUTWARD and leaves_out_party(scope, call.leaves):
        return True
    is_broken = breaks_standing_wish(scope, call.name, call.leaves)
    return is_broken or _in_other_money(scope, call) or omits(scope, call.leaves)


def _in_other_money(scope: RequestScope, call: ToolCall) -> bool:
    """Whether the call is in one currency and the request names another."""
    flat = scope.own.reading.flat
    said = {code for code, words in currencies().items() if words & {*scope.own.reading.words, *_SIGNS.findall(flat)}}
    given = {leaf.text.upper() for leaf in call.leaves} & currencies().keys()
    return bool(said and given) and not given <= said


_SIGNS = re.compile(r"[€$£]")


def _set_by_others(scope: RequestScope, call: ToolCall, _: EffectTrial) -> bool:
    """Foreign text names the tool, or assigns a value of the call to its argument: ``notes=''``, ``private: false``."""
    if _is_chosen_by_others(scope.evidence, call):
        return True
    for leaf in call.leaves:
        key, value = leaf.key.lower(), leaf.text.lower()
        if leaf.role is ArgumentRole.CONTENT and value.strip():
            continue
        spellings = [f"{key}{mark}{value}" for mark in ("=", '="', "='", ": ", ":") if value or mark != ": "]
        foreign = scope.evidence.foreign
        held = foreign.sharing(read(key).stems)
        if any(spelt in text.reading.flat for text in held for spelt in spellings) or any(
            map(foreign.left_say, spellings)
        ):
            return True
    return False


def _is_chosen_by_others(evidence: SessionEvidence, call: ToolCall) -> bool:
    """Whether a tool's name stands in what others wrote, remembered or read, and not in the owner's words."""
    words = name_words(call.name)
    if len(words) < 2:
        return False
    # Two words in a row are how people write ("check in", "send mail"); three with the tool's own order are its name.
    spelt = {call.name, "".join(words), *(mark.join(words) for mark in (" ", "-") if len(words) > 2)}
    names = list(map(read, sorted(spelt)))
    if any(map(evidence.requests.name, names)):
        return False
    indexes = evidence.foreign, evidence.hearsay
    heard = any(True for name in names for index in indexes for _ in index.holding(name))
    return heard or any(evidence.foreign.left_say(name.flat) for name in names)


def _content(scope: RequestScope, call: ToolCall, _: EffectTrial) -> bool:
    return content_not_called_for(scope.evidence, call, (scope,))


def _left_over(scope: RequestScope, call: ToolCall, trial: EffectTrial) -> bool:
    return words_left_over(scope, call, trial.origins)


FAULTS: tuple[tuple[str, Callable[[RequestScope, ToolCall, EffectTrial], bool]], ...] = (
    ("another_act", _opposite),
    ("another_act", _another_act),
    ("excluded_by_owner", _excluded),
    ("not_asked", _not_asked),
    ("request_used", _request_used),
    ("left_out", _left_out),
    ("set_by_others", _set_by_others),
    ("content_not_called_for", _content),
    ("words_left_over", _left_over),
)


def by_plan(
    entry: PlanEntry, call: ToolCall, tried: Sequence[tuple[RequestScope, EffectTrial]], evidence: SessionEvidence
) -> EffectTrial:
    """Try a plan entry: its literals, fields of results, and for the rest what the open requests prove."""
    trial = EffectTrial(uses={entry.id: frozenset({f"{call.name}{_CALLED}"})}, fit=1)
    last = len(evidence.requests.messages) - 1
    scopes = [scope for scope, _ in tried]
    newest = [scope for scope in scopes if scope.request.message == last and not scope.request.others]
    for leaf in call.targets:
        is_planned = planned(evidence, entry, leaf)
        # Where the plan says a literal, another value is another call, whoever else it would suit.
        is_open = "literal" not in entry.arguments.get(leaf.top, {})
        trial.settle(leaf, ValueOrigin.PLAN if is_planned else first_proof(scopes, leaf) if is_open else None)
    trial.part(evidence, call)
    if newest:
        # The request that was planned for is carried out with it, and by no other call.
        best = min((one for one in tried if one[0] in newest), key=lambda one: one[1].rank)
        trial.uses |= best[1].uses
    if content_not_called_for(evidence, call, (*scopes, *reading_scopes(evidence))):
        trial.code = "content_not_called_for"
    if any(repeats(evidence.spent.get(name, frozenset()), call) for scope in newest for name in scope.request.ids):
        trial.code = "request_used"
    if any(_mentions(scope, call) or _is_kept_from(evidence, scope.own, call) for scope in newest):
        trial.code = "excluded_by_owner"
    if any(breaks_standing_wish(scope, call.name, call.leaves) for scope in newest):
        trial.code = "left_out"
    return trial
