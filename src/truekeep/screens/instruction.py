"""Tells facts from orders: does a text describe, state a harmless preference, or direct with authority?"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from truekeep.screens.grammar import BEFORE, BEHIND, Sentence, read, unheard
from truekeep.screens.judgement import Judgement, judge
from truekeep.screens.lexicon import PhraseHit, find
from truekeep.screens.panel import Screened
from truekeep.text.view import GIVE_WAY, LONG, View
from truekeep.text.words import WordRow
from truekeep.types import Finding, Threat

SCREEN = "instruction"
# Text that imitates the frame around a conversation: a line that speaks as the system or its operator.
_SPEAKS_AS = re.compile(
    r"(?:^|[\n>.!?]\s*)[\W_]{0,6}(?:system|developer|admin(?:istrator)?|operator)[\s_-]?"
    r"(?:message|note|notice|prompt|override|instruction|update|alert)?s?\s{0,2}[:\]>)}]",
    re.I,
)
_SPEAKERS = ("system", "admin", "developer", "operator")
_ADDRESS = re.compile(
    # Each branch begins with a character that is rare in prose, so that all others are passed over quickly.
    r"@(?<=\w@)\w|https?://|www\.|[A-Z]{2}\d{2}[ A-Z0-9]{10}"
    r"|\.(?<=\w\.)(?:(?:com|net|org|io|dev|app|info|biz|ru|cn|example)\b|(?<=\d\.)\d{1,3}\.\d{1,3}\.\d)"
)


def readings(screened: Screened, field: str) -> tuple[View, ...]:
    """The readings in which words are looked for; the folded one stands for the raw text."""
    found = screened.views(field)
    return found[1:] if len(found) > 1 and found[1].name == "folded" else found


def sentences_of(screened: Screened, field: str) -> list[tuple[View, list[Sentence]]]:
    """Every reading of a field with what its sentences say, for this screen and the learned one."""
    return screened.once(f"sentences of {field}", lambda: list(_read_all(screened, field)))


def phrases_of(screened: Screened, field: str, view: View) -> list[PhraseHit]:
    """The lexicon's entries in one reading of a field, for this screen and the one of hearsay."""
    row = screened.read(field).row(view)
    return screened.once(f"phrases of {field} in {id(view)}", lambda: find(view.text, row))


def _read_all(screened: Screened, field: str) -> Iterator[tuple[View, list[Sentence]]]:
    """Each reading; of a long one only the sentences that no reading before it has in the same company."""
    seen: set[tuple[str, int, int]] = set()
    for view in readings(screened, field):
        GIVE_WAY.get()()
        if len(view.text) > LONG:
            text = unheard(view.text, seen)
            row = WordRow(text)
            yield view, list(read(text, row, find(text, row)))
        else:
            yield view, list(read(view.text, screened.read(field).row(view), phrases_of(screened, field, view)))


def instruction_like(screened: Screened) -> list[Finding]:
    """At most one finding of each kind for each field, the gravest first."""
    findings: list[Finding] = []
    for field in screened.fields:
        worst: dict[Threat, Finding] = {}
        for view, sentences in sentences_of(screened, field):
            for finding in _judged(view, sentences, field):
                known = worst.get(finding.threat)
                if known is None or finding.severity > known.severity:
                    worst[finding.threat] = finding
            if Threat.INJECTION in worst:
                break
        if len(worst) > 1:
            worst.pop(Threat.PREFERENCE, None)
        findings += sorted(worst.values(), key=lambda finding: -finding.severity)
    return findings


def _judged(view: View, sentences: list[Sentence], field: str) -> list[Finding]:
    lower = view.text.lower()
    framed = any(word in lower for word in _SPEAKERS) and _SPEAKS_AS.search(view.text) is not None
    addresses: list[int] | None = None
    # Whoever asks for a program says in the sentences after that what it should do.
    asks_for_code = any("specified" in sentence.says for sentence in sentences[:2])
    found = []
    for sentence in sentences:
        if asks_for_code:
            sentence.says.add("specified")
        if addresses is None:
            addresses = [match.start() for match in _ADDRESS.finditer(view.text)]
        near = bisect_right(addresses, sentence.last + BEHIND) > bisect_left(addresses, sentence.first - BEFORE)
        judgement = judge(sentence, framed=framed, reaches_out=near)
        if judgement is not None:
            found.append(_finding(judgement, view, sentence, field))
    return found


def _finding(judgement: Judgement, view: View, sentence: Sentence, field: str) -> Finding:
    span = view.raw_span(sentence.first, sentence.last)
    return Finding(
        judgement.rule_id, judgement.threat, judgement.severity, span, field, SCREEN, reason=judgement.reason
    )
