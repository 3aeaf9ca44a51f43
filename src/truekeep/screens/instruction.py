"""Tells facts from orders: does a text describe, state a harmless preference, or direct with authority?"""

from __future__ import annotations

import re

from truekeep.screens.base import Screened
from truekeep.screens.grammar import Sentence, read
from truekeep.screens.judgement import Judgement, judge
from truekeep.text import View
from truekeep.types import Finding, Threat

SCREEN = "instruction"
# Text that imitates the frame around a conversation: a line that speaks as the system or its operator.
_SPEAKS_AS = re.compile(
    r"(?:^|[\n>.!?]\s*)[\W_]{0,6}(?:system|developer|admin(?:istrator)?|operator)[\s_-]?"
    r"(?:message|note|notice|prompt|override|instruction|update|alert)?s?\s{0,2}[:\]>)}]",
    re.I,
)
_ADDRESS = re.compile(
    r"[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]{2,63}|https?://|\bwww\.|\b[A-Z]{2}\d{2}[ A-Z0-9]{10,34}\b"
    r"|\b[\w-]{2,40}\.(?:com|net|org|io|dev|app|info|biz|ru|cn|example)\b|\b\d{1,3}(?:\.\d{1,3}){3}\b"
)


def readings(screened: Screened, field: str) -> tuple[View, ...]:
    """The readings in which words are looked for; the folded one stands for the raw text."""
    found = screened.views(field)
    return found[1:] if len(found) > 1 and found[1].name == "folded" else found


def instruction_like(screened: Screened) -> list[Finding]:
    """At most one finding of each kind for each field, the gravest first."""
    findings: list[Finding] = []
    for field in screened.fields:
        worst: dict[Threat, Finding] = {}
        for view in readings(screened, field):
            for finding in _judged(view, field):
                known = worst.get(finding.threat)
                if known is None or finding.severity > known.severity:
                    worst[finding.threat] = finding
        if len(worst) > 1:
            worst.pop(Threat.PREFERENCE, None)
        findings += sorted(worst.values(), key=lambda finding: -finding.severity)
    return findings


def _judged(view: View, field: str) -> list[Finding]:
    framed = _SPEAKS_AS.search(view.text) is not None
    found = []
    for sentence in read(view.text):
        near = view.text[max(0, sentence.first - 20) : sentence.last + 80]
        judgement = judge(sentence, framed=framed, reaches_out=_ADDRESS.search(near) is not None)
        if judgement is not None:
            found.append(_finding(judgement, view, sentence, field))
    return found


def _finding(judgement: Judgement, view: View, sentence: Sentence, field: str) -> Finding:
    span = view.raw_span(sentence.first, sentence.last)
    return Finding(
        judgement.rule_id, judgement.threat, judgement.severity, span, field, SCREEN, reason=judgement.reason
    )
