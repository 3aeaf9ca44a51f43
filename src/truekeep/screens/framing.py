"""How a text presents what it says: as its own order, as a quotation, as a question, or as what a command line does.

Screens find orders; this weighs how they stand there. An order that is quoted in a sentence about it is held for its
owner instead of refused, a question that quotes one asks, and *delete the cache without asking: tool --force* describes
a command. A weaker finding is still a finding, so nothing a stranger quotes gets further than a person's desk.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from truekeep.screens.lexicon import find
from truekeep.text.words import WordRow
from truekeep.types import Finding, Severity, Threat

_ORDERS = frozenset({Threat.INJECTION, Threat.AUTHORITY, Threat.DIRECTIVE})
_QUOTED = re.compile(
    r'"[^"\n]{4,300}"|\u201c[^\u201d\n]{4,300}\u201d|\u201e[^\u201c\n]{4,300}\u201c|\u00ab[^\u00bb\n]{4,300}\u00bb|`[^`\n]{4,300}`'
)
# What a sentence says that only tells of the words it quotes.
_TOLD = re.compile(
    r"\b(?:told|asked|said|says|wrote|reads?|examples?|e\.g\.|such as|like|phrases?|prompts?|attempts?|payloads?"
    r"|strings?|inputs?|contain(?:s|ed)|called|titled|typed|sent|mails?|messages?|tests?|works?)\b",
    re.I,
)
_ASKS = re.compile(r"\s*(?:why|what|how|which|who|when|where|can|could|does|do|did|is|are|should|would|will)\b", re.I)
_WONDERS = re.compile(
    r"\s*(?:(?:how|why) (?:do|does|did|can|could|would|is|are)|what (?:is|are|does|happens|would)|which|who)\b", re.I
)
_YOU = re.compile(r"\byou(?:r|rs|'re|'d|'ll)?\b|[.!;\n]", re.I)
# "Skip the prompt: tool --yes": a line of prose, a colon, and a command with an option or a path.
_COMMAND_SHOWN = re.compile(
    r"\s*([^\n:]{4,200}): ?`?[\w./~-]+(?: [^\n]{1,200})? (?:-{1,2}\w|/\w|\||[\w.-]+[/.]\w)[^\n]{0,200}\s*"
)
_ANSWERABLE = re.compile(r"https?://|www\.|\w@\w|\b(?:assistant|agent|ai|bot|user|customer|owner)s?\b", re.I)
_HOST = re.compile(r"\b(?:to|at|into|via)\s(?:\S{1,20}\s){0,4}(?:https?://|(?:[\w-]{1,40}\.){2,4}[a-z]{2,10}\b)", re.I)
_SENDS = re.compile(r"\s(?:-d|-F|-T|--data\S*|--form|--upload-file|--post-\w+|POST|PUT)\b|\|\s?(?:curl|nc|\w*sh)\b")
# Two of these behind the colon, and it is a sentence under a heading ("Analytics: forward all logs to the ...").
_PROSE = re.compile(r"\b(?:the|all|any|every|and|with|for|from|should|must|including|their|your|when|this)\b", re.I)
_SENTENCE = 200


def weighed(fields: Mapping[str, str], findings: Iterable[Finding]) -> list[Finding]:
    """The findings, those weakened that stand in a quotation, a question or the description of a command."""
    return [_weighed(fields.get(finding.field, ""), finding) for finding in findings]


def _weighed(text: str, finding: Finding) -> Finding:
    if finding.threat not in _ORDERS:
        return finding
    if _shows_a_command(text):
        return _talk(finding)
    if _is_asked_about(text, finding.span):
        return _talk(finding)
    quoted = _quotation(text, finding.span)
    return _about_attackers(text, finding) if quoted is None else _in_quotation(text, quoted, finding)


def _in_quotation(text: str, quoted: tuple[int, int], finding: Finding) -> Finding:
    """A question that quotes an order asks; what somebody is said to have said is talk, unless it is an assistant's."""
    before, after = _around(text, *quoted)
    if _ASKS.match(before) and after.rstrip().endswith("?"):
        return _talk(finding)
    about = before + after
    if not _TOLD.search(about) and all(hit.category != "attack" for hit in find(about, WordRow(about))):
        return finding
    if finding.threat is Threat.DIRECTIVE and not _ANSWERABLE.search(text[slice(*quoted)]):
        return _talk(finding)
    return _held(finding)


def _is_asked_about(text: str, span: tuple[int, int]) -> bool:
    """*How would I notice that a page tells my bot to ...?* asks; *why don't you ...?* tells its reader."""
    before, after = _around(text, *span)
    whole = before + text[slice(*span)] + after
    return bool(_WONDERS.match(whole)) and after.rstrip().endswith("?") and not _YOU.search(whole)


def _talk(finding: Finding) -> Finding:
    return replace(finding, threat=Threat.PREFERENCE, severity=Severity.INFO)


def _held(finding: Finding) -> Finding:
    return replace(finding, threat=Threat.DIRECTIVE, severity=Severity.MEDIUM)


def _about_attackers(text: str, finding: Finding) -> Finding:
    """A rule that matched in a sentence about attackers, which speaks to nobody, found what they are said to do."""
    before, after = _around(text, *finding.span)
    told = {hit.category for hit in find(before, WordRow(before))}
    if "attack" not in told or "you" in told or _ANSWERABLE.search(after):
        return finding
    return _held(finding)


def _shows_a_command(text: str) -> bool:
    """What is described speaks to nobody, and the command sends nothing."""
    shown = _COMMAND_SHOWN.fullmatch(text) if len(text) <= 2 * _SENTENCE else None
    if shown is None or _ANSWERABLE.search(shown[1]) or _SENDS.search(text, shown.end(1)):
        return False
    return len(_PROSE.findall(text, shown.end(1))) < 2 and not _HOST.search(text, shown.end(1))


def _quotation(text: str, span: tuple[int, int]) -> tuple[int, int] | None:
    """The quotation in which most of the finding stands."""
    start, end = span
    low = max(0, start - 2 * _SENTENCE)
    for match in _QUOTED.finditer(text, low, min(len(text), end + 2 * _SENTENCE)):
        if 2 * (min(end, match.end()) - max(start, match.start())) > end - start:
            return match.span()
    return None


def _around(text: str, start: int, end: int) -> tuple[str, str]:
    """The rest of the sentence around a quotation."""
    before = re.split(r"[.!?\n]\s", text[max(0, start - _SENTENCE) : start])[-1]
    after = re.match(r"[^.!?\n]*[.!?]?", text[end : end + _SENTENCE])
    return before, after[0] if after else ""
