"""Tell an owner's own words from what was pasted into a message.

A user who pastes a poisoned page or mail has not said what it says. What is recognised as somebody else's is cut
out of the message; the rest is what the owner said. From the first sign of a longer text on, all that follows is
somebody else's: where a mail ends and its reader goes on is the sender's to blur.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

from truekeep.data import read_table
from truekeep.text.fold import bare, folded
from truekeep.text.salient import names_a_target
from truekeep.trust.quote.announcing import announces, announces_within, refers_back, speaks_of_oneself
from truekeep.trust.quote.blocks import foreign_block

if TYPE_CHECKING:
    from truekeep.trust.quote.seen import SeenTexts

_MOST_LINES = 400
"""A message of so many lines is a document, and foreign as a whole."""
_LONG_LEAD = 200
"""Before a document stands at most so much of the owner's own."""
_SALUTATION = 60
_NEAR = 8
"""Lines within which a chat or a mail shows that it is one."""
_SEVERAL = 2
_NEAT = 80
"""Less than this is a list of one's own."""
_LONG_TEXT = 1_500
_SHORT_QUOTATION = 60
"""A few quoted words are how people talk; more may be somebody else's text."""
_QUOTED = re.compile(
    '(?<![^\\W_])"(?=\\S)[^"]{12,}?"(?![^\\W_])|[“„][^“”„]{12,}?[”“]|«[^«»]{12,}?»|»[^«»]{12,}?«|\u2039[^\u2039\u203a]{12,}?\u203a'
    "|[「『][^「」『』]{12,}?[」』]"
)
_HALF_WORD = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
# Apostrophes within words are neither.
_OPENING = re.compile(r"(?<![^\W_])['\u2018](?=\S)")
_CLOSING = re.compile(r"(?<=\S)['\u2019](?![^\W_])")
_LEAST_QUOTATION = 24
_MOST_QUOTATION = 2_000
"""Between single marks: further apart they are likelier apostrophes."""
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_HEADER = re.compile("\\s{0,3}\\**([^\\W\\d][\\w-]{0,20})\\**\\s{0,2}[:\uff1a]")
_QUOTE_LINE = re.compile(r"\s{0,3}[>|](?!>)")
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]{0,200}>|\]\(https?:|\*\*[^*\n]{1,80}\*\*:?")
_REFERENCE = re.compile(r"\w\[\d{1,3}\]|§\s?\d")
_CLOSED_TAG = re.compile(r"</[a-zA-Z][\w-]{0,20}>")
_STRUCTURE = re.compile(r"\s{0,3}(?:#{1,6}\s|\d{1,2}\.\d{1,2}[.)]?\s|\|.*\|)")
_DATE = r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d{1,6})?\s?(?:[AaPp]\.?[Mm]\.?|Z)?"
_STAMPED = re.compile(
    rf"\s{{0,3}}(?:[\[(]\s?(?:{_DATE}[,T ]{{0,3}})?{_CLOCK}|{_DATE}[,T ]{{1,3}}{_CLOCK}"  # a line of a chat or a log
    rf"|{_CLOCK}\s{{0,3}}[-\u2013|]?\s{{0,3}}[^\W\d][^:\n]{{0,30}}:\s"  # 18:04 Jude: …
    rf"|[^:\n]{{1,40}}[,\s]{{1,3}}(?:[\[(]|[\[(]?(?:{_DATE}|(?i:today|yesterday))[,T at]{{1,4}}){_CLOCK}[\])]?:?\s*$)"
)
_SPEAKER = re.compile("\\s{0,3}\\**@?([^\\W\\d_][^:\uff1a\\n]{0,24}?)\\**[:\uff1a]\\**\\s?\\S")
_SUBJECT = re.compile(r"\s*(?:fwd?|fw|wg|rv|enc|tr|pd)\s?:", re.I)
_TIMECODE = re.compile(r"\d{2}:\d{2}(?::\d{2})?[.,]\d{3}\s*-->")
_CODE = re.compile(
    r"\s*(?:(?:def|class|function|public|private|fn|func)\s\w.*[:{(;]|import\s[\w.{]+.*|from\s[\w.]+\simport\s.*|#include.*"
    r"|(?:const|let|var)\s\w+\s*=.*|[}\])]{1,3}[;,]?|.*[;{]|\"[^\"]{1,60}\":\s.*|at\s[\w.$<>]{3,80}\(.*\)|File\s\".*\",\sline\s.*"
    r"|\w{1,30}\(.*\);?|[A-Z_]{3,}=.*|\$\s\w.*)\s*$"
)
_DATA = re.compile(
    r"\{\s{0,20}[\"'][\w -]{1,60}[\"']\s?:|Traceback \(most recent|\bSELECT\b.{1,80}\bFROM\b"
    r"|\w\.\w{2,20}(?:Exception|Error)\b"
)
_COLUMNS = re.compile(r"\s*\S.*?(?:\s{4,}|\t)\S|[^,;\n]*\w([,;])\w[^,;\n]*\1\w")
# Nobody types these; they come with text that was copied, or that hides something.
_UNTYPED = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e0fff]")
Cut = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class _Signs:
    headers: frozenset[str]
    roles: frozenset[str]
    forwards: tuple[str, ...]
    wrote: tuple[str, ...]
    furniture: tuple[str, ...]
    decisive: tuple[str, ...]
    salutations: tuple[str, ...]


@cache
def _signs() -> _Signs:
    table = read_table("quote", "paste.toml")
    return _Signs(
        frozenset(table["headers"]),
        frozenset(table["roles"]),
        *(tuple(table[name]) for name in ("forwards", "wrote", "furniture", "decisive", "salutations")),
    )


@dataclass(frozen=True, slots=True)
class Parts:
    """A message taken apart: what the owner said, what was pasted, and by which signs that was seen."""

    own: str
    pasted: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()


def split_paste(text: str, *seen: SeenTexts | None) -> Parts:
    """The owner's own words and the pasted ones. In doubt a passage counts as pasted."""
    if _UNTYPED.search(text):
        return Parts("", (text,), ("untyped_characters",))
    cuts: list[Cut] = [(start, end, "observed") for one in seen if one for start, end in one.sentences(text)]
    cuts += [(*match.span(), "fence") for match in _FENCE.finditer(text)]
    cuts += _quotations(text)
    cuts += _by_lines(text)
    if not cuts:
        return Parts(text)
    return _cut(text, sorted(cuts))


def _quotations(text: str) -> Iterator[Cut]:
    """What stands between quotation marks, unless it is a few words within a sentence of the owner's own."""
    for start, end in (*(match.span() for match in _QUOTED.finditer(text)), *_between_apostrophes(text)):
        quoted = text[start + 1 : end - 1]
        size = len(quoted) + len(_HALF_WORD.findall(quoted))
        # One value in quotation marks is named and not quoted: 'team-offsite-agenda.docx' is a file's name.
        is_value = size == len(quoted) and not any(map(str.isspace, quoted))
        is_text = not is_value and (size > _SHORT_QUOTATION or names_a_target(quoted))
        if size >= _LEAST_QUOTATION and (is_text or _stands_alone(text, (start, end))):
            yield start, end, "quotation"


def _between_apostrophes(text: str) -> Iterator[tuple[int, int]]:
    closing = [match.end() for match in _CLOSING.finditer(text)]
    done = 0
    for match in _OPENING.finditer(text):
        place = bisect_left(closing, match.end() + _LEAST_QUOTATION)
        if match.start() >= done and place < len(closing) and closing[place] - match.start() <= _MOST_QUOTATION:
            done = closing[place]
            yield match.start(), done


def _stands_alone(text: str, span: tuple[int, int]) -> bool:
    """Whether the owner's sentence neither leads to the quotation nor goes on after it."""
    before, after = text[: span[0]].rstrip(" "), text[span[1] :].lstrip(" ")
    return (not before or before[-1] in ".!?:\uff1a\u3002\n") and (not after or not after[0].islower())


def _cut(text: str, cuts: Sequence[Cut]) -> Parts:
    own: list[str] = []
    pasted: list[str] = []
    done = 0
    for start, end, _ in cuts:
        if end <= done:
            continue
        if start > done:
            own.append(text[done:start])
            pasted.append(text[start:end])
        elif pasted:
            pasted[-1] += text[done:end]
        else:
            pasted.append(text[start:end])
        done = end
    own.append(text[done:])
    signs = tuple(sorted({sign for _, _, sign in cuts}))
    return Parts("\n".join(part for part in own if part.strip()), tuple(pasted), signs)


def _by_lines(text: str) -> list[Cut]:
    """Quoted lines one by one; from a mail header, a forward or an announcement on, all that follows."""
    lines = text.splitlines(keepends=True)
    if len(lines) >= _MOST_LINES:
        return [(0, len(text), "document")]
    starts = [0, *accumulate(len(line) for line in lines)][: len(lines)]
    cuts: list[Cut] = [
        (start, start + len(line), "quoted_lines")
        for start, line in zip(starts, lines, strict=True)
        if _QUOTE_LINE.match(line)
    ]
    for place, line in enumerate(lines):
        sign, within = _begins_foreign(lines, place, line)
        if sign and starts[place] + within < len(text.rstrip()):
            return [*cuts, (starts[place] + within, len(text), sign)]
    if _is_unlike(lines):
        return [*cuts, (starts[1], len(text), "unlike_lines")]
    asked = next((place for place in range(len(lines) - 1, 0, -1) if lines[place].strip()), 0)
    if asked > 1 and not lines[asked - 1].strip() and refers_back(lines[asked]):
        return [*cuts, (0, starts[asked], "asked_about")]
    start, end = foreign_block(text)
    return [*cuts, (start, end, "block")] if end else cuts + _document(text, lines, starts)


def _begins_foreign(lines: Sequence[str], place: int, line: str) -> tuple[str, int]:
    """By which sign somebody else's text begins in a line or after it, and where in the line."""
    sign = _foreign_line(lines, place, line)
    if sign:
        return sign, 0
    within = announces_within(line)
    if within:
        return "announced", within
    has_more = any(rest.strip() for rest in lines[place + 1 :])
    if has_more and announces(line, lines[place + 1], is_first=place == 0):
        return "announced", len(line)
    return "", 0


def _foreign_line(lines: Sequence[str], place: int, line: str) -> str:
    """By which sign a line itself is the first of somebody else's text."""
    low, signs, name = folded(line), _signs(), _HEADER.match(line)
    label = name[1].casefold() if name else ""
    if any(mark in low for mark in signs.forwards) or low.endswith(signs.wrote) or _SUBJECT.match(line):
        return "forwarded"
    if label in signs.roles:
        return "roles"
    if label in signs.headers and _headers_near(lines, place) >= _SEVERAL:
        return "mail_headers"
    near = lines[place : place + _NEAR]
    stamped = _STAMPED.match(line) and sum(_STAMPED.match(one) is not None for one in near) >= _SEVERAL
    return "chat" if stamped or (_speaker(line) and _is_conversation(near)) else ""


def _speaker(line: str) -> str:
    found = _SPEAKER.match(line)
    return found[1].casefold() if found else ""


def _is_conversation(lines: Sequence[str]) -> bool:
    """Whether somebody speaks again after somebody else did. A list of one's own names everything once."""
    speakers = [name for line in lines if (name := _speaker(line))]
    return len(set(speakers)) >= _SEVERAL and any(name in speakers[:place] for place, name in enumerate(speakers))


def _is_unlike(lines: Sequence[str]) -> bool:
    """Whether a first line in lower case is followed by lines in clean writing, as from another hand."""
    below = [line.strip() for line in lines[1:] if line.strip()]
    if len(below) < _SEVERAL or not lines[0][:1].islower() or speaks_of_oneself(lines[0]):
        return False
    neat = [line for line in below if not line[0].islower() and line[0] not in "-*\u2022\u2013"]
    return len(neat) >= _SEVERAL and neat[0] is below[0] and sum(map(len, neat)) >= _NEAT


def _headers_near(lines: Sequence[str], place: int) -> int:
    near = lines[place : place + _NEAR]
    named = (_HEADER.match(line) for line in near)
    headers = sum(match is not None and match[1].casefold() in _signs().headers for match in named)
    return headers + any(folded(line).endswith(_signs().wrote) for line in near)


def _document(text: str, lines: Sequence[str], starts: Sequence[int]) -> list[Cut]:
    """A text with the furniture of a document is a copy, but for a short lead of the owner's own."""
    low = bare(text)
    kinds = sum(mark in low for mark in _signs().furniture)
    kinds += 2 * (any(mark in low for mark in _signs().decisive) or len(_REFERENCE.findall(text)) >= 2)
    kinds += len(_MARKUP.findall(text)) >= 2
    kinds += sum(_STRUCTURE.match(line) is not None for line in lines) >= 3
    kinds += 2 * (sum(_CODE.match(line) is not None for line in lines) >= 3 or _DATA.search(text) is not None)
    kinds += 2 * (len(_CLOSED_TAG.findall(text)) >= 2)
    kinds += sum(_COLUMNS.match(line) is not None for line in lines) >= 3
    kinds += sum(_is_heading(line) for line in lines) >= 2
    kinds += 2 * any(map(_TIMECODE.search, lines))
    kinds += any(_salutes(line) for line in lines[1:])
    kinds += len(text) > _LONG_TEXT
    if kinds < 2:
        return []
    lead = _lead(lines, starts)
    return [(lead, len(text), "document")]


def _lead(lines: Sequence[str], starts: Sequence[int]) -> int:
    """Where a document begins: after the first blank line, unless what stands before is too long to be a lead."""
    blank = next((place for place, line in enumerate(lines) if place and not line.strip()), None)
    if blank is None or starts[blank] > _LONG_LEAD:
        return 0
    is_part = any(_is_heading(line) or _CODE.match(line) or _TIMECODE.search(line) for line in lines[1:blank])
    return starts[1] if is_part else starts[blank]


def _salutes(line: str) -> bool:
    """Whether a line is how a letter begins, and nothing else."""
    low = bare(line)
    return len(low) <= _SALUTATION and low.endswith((",", "!", ":")) and low.startswith(_signs().salutations)


def _is_heading(line: str) -> bool:
    """Whether a line is in capitals, as titles are."""
    letters = [char for char in line if char.isalpha()]
    return len(letters) >= 4 and line.isupper() and len(line) <= 80
