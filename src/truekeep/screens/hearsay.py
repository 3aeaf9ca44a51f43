"""What was merely read and asks its reader for something that matters waits for a person.

Most of what is read asks for something: recipes, guides and mails are full of commands. Only those about money, access,
data that leaves, tools, silence or skipped checks matter to an agent, and rules that say how such things are done
from now on. All else is background, in whatever language or markup it comes.
"""

from __future__ import annotations

from collections import defaultdict

from truekeep.screens.grammar import Sentence
from truekeep.screens.instruction import phrases_of, readings, sentences_of
from truekeep.screens.lexicon import PhraseHit
from truekeep.screens.panel import Screened
from truekeep.types import Finding, Severity, Standing, Threat

SCREEN = "hearsay"
RULE = "asks_the_reader"
_MATTERS = frozenset({"money", "access", "leaving", "tool", "override", "secret", "skip"})
_EVASIVE = frozenset({"secret", "skip"})
_NAMED = frozenset({"addressee", "authority", "identity", "mode"})
_LASTING = frozenset({"standing", "condition"})
_AT_STAKE = frozenset({"money_noun", "access_noun", "user"})


def _asks(sentence: Sentence) -> bool:
    if sentence.overrides_rules or not (sentence.commands | sentence.says & _EVASIVE).isdisjoint(_MATTERS):
        return True
    told = bool(sentence.commands) or "must" in sentence.says
    return told and not sentence.says.isdisjoint(_NAMED | _LASTING) and not sentence.says.isdisjoint(_AT_STAKE | _NAMED)


def _sets_a_rule(hits: list[PhraseHit]) -> bool:
    """Something lasting about what is at stake, told by nobody to nobody."""
    said: dict[str, set[str]] = defaultdict(set)
    for hit in hits:
        said[hit.language].add(hit.category)
    return any(
        not spoken.isdisjoint(_LASTING) and not spoken.isdisjoint(_NAMED | _AT_STAKE) for spoken in said.values()
    )


def hearsay(screened: Screened) -> list[Finding]:
    """At most one finding for each field, and none for what the owner or an enrolled system said itself."""
    if screened.standing is not Standing.HEARSAY:
        return []
    return [_finding(field, text) for field, text in screened.fields.items() if _matters(screened, field)]


def _matters(screened: Screened, field: str) -> bool:
    if any(_asks(sentence) for _, sentences in sentences_of(screened, field) for sentence in sentences):
        return True
    return any(_sets_a_rule(phrases_of(screened, field, view)) for view in readings(screened, field))


def _finding(field: str, text: str) -> Finding:
    reason = "was merely read and asks its reader for something that matters"
    return Finding(RULE, Threat.DIRECTIVE, Severity.LOW, (0, len(text)), field, SCREEN, reason=reason)
