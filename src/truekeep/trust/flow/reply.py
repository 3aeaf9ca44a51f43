"""Take links and images out of the agent's answer that would carry private values to a place nobody named.

A picture in an answer is fetched without a click, so its address is a way out. What is taken out is replaced by its
text; the rest of the answer stays as it is, byte for byte. Places are judged as whoever shows the answer reads them:
with character references undone, without what browsers skip, and whether or not the markup around them is sound.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from truekeep.trust.flow.leaks import LinkCheck
from truekeep.trust.flow.reading import host_of
from truekeep.trust.flow.scope import reading_scopes
from truekeep.trust.flow.structure import link_parts

if TYPE_CHECKING:
    from truekeep.trust.flow.evidence import SessionEvidence

_QUOTED = r"""(?:"[^"]{0,4000}+"|'[^']{0,4000}+')"""
_FOUND = re.compile(
    r"""(?P<image>!?)\[(?P<words>[^\[\]]{0,400}+)\]\(\s*(?:<(?P<held>[^<>\n]{1,1200}+)>|(?P<place>[^)\s>]{1,1200}+))(?:\s[^)\n]{0,400}+)?\)"""
    r"""|^[ >*+\d.)-]{0,12}\[(?P<label>[^\]\n]{1,200}+)\]:\s*<?(?P<named>[^\s>]{1,1200}+)>?[^\n]*+$"""
    # An element, with values that hold a bracket, or with quotation marks that do not pair.
    rf"""|(?P<tag><[a-z/!?][^<>"']{{0,2000}}+(?:{_QUOTED}[^<>"']{{0,2000}}+){{1,40}}+>|<[a-z/!?][^<>]{{0,4000}}>)"""
    r"""|(?P<bare>(?<![\w:/\\])[/\\]{2}[^\s<>"')\]/\\][^\s<>"')\]]{0,4000}|\b[a-z][a-z0-9+.-]{1,20}:[/\\]{2}[^\s<>"')\]]{1,4000}"""
    r"""|(?<![\w@./%-])(?:[\w%-]{1,63}\.){1,20}[a-z]{2,24}(?:[/?#][^\s<>"')\]]{1,4000}|\b(?![\w@.-])))""",
    re.IGNORECASE | re.MULTILINE,
)
"""A link or an image in Markdown, the place that others refer to, an element of HTML, and a place by itself."""
_VALUE = re.compile(r"""([\w:-]{1,30})\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_PLACES = {
    "src",
    "href",
    "data",
    "action",
    "poster",
    "background",
    "formaction",
    "cite",
    "longdesc",
    "xlink:href",
    "ping",
}
_WITHIN = re.compile(
    r"""(?:url\(|url=|@import)\s*["']?\s*([^\s"'()]{1,4000})|((?:[a-z][a-z0-9+.-]{1,20}:)?[/\\]{2}[^\s"',()]+)"""
)
_FETCHING = ("](", "=", "]:", "url(")
"""What stands before a place that markup of whatever shape fetches by itself."""
_NAMED_PLACE = re.compile(r"[a-z][a-z0-9+.-]*:|[/\\]{2}|www\.", re.IGNORECASE)
_REMOVED = "[link removed]"
_MOST_LINKS = 100  # an answer with more is no answer for a person
_LONGEST_LINK = 1_000
"""Links of one answer that are looked at, and how long they may be; the others are taken out."""
# Outside an answer these faults decide on a fetch; in an answer a person sees the link before it is followed, and a
# token that stands in what was read tells nobody anything new.
_SEEN_BY_OWNER = frozenset({"composed_link", "link_to_inner_place", "token_in_link"})


@dataclass(frozen=True, slots=True)
class CheckedReply:
    """The answer that may be shown, and the places that were taken out of it with the reason's code."""

    text: str
    removed: tuple[tuple[str, str], ...]


def check_reply(evidence: SessionEvidence, text: str) -> CheckedReply:
    """The answer without links and images that carry private values; a clean session's answer as it is."""
    if evidence.clean:
        return CheckedReply(text, ())
    answer = _Answer(LinkCheck(evidence, reading_scopes(evidence)))
    found = list(_FOUND.finditer(text))
    answer.find_split(found)
    return CheckedReply("".join(answer.shown(text, found)), tuple(answer.removed))


@dataclass(slots=True)
class _Answer:
    """One answer: what was found about its links, each of which is judged once."""

    check: LinkCheck
    removed: list[tuple[str, str]] = field(default_factory=list)
    _faults: dict[str, str] = field(default_factory=dict)
    _splitting: set[str] = field(default_factory=set)
    """Hosts to which several links together carry a private value."""

    def find_split(self, found: Iterable[re.Match[str]]) -> None:
        """Note the hosts whose links carry together what none of them carries alone."""
        carried: dict[str, list[str]] = {}
        for match in islice(found, _MOST_LINKS):
            place = _shown(match["place"] or match["held"] or match["named"] or match["bare"] or "")[:_LONGEST_LINK]
            if place:
                carried.setdefault(_owner_of(host_of(place)), []).append("".join(link_parts(place)[-1:]))
        self._splitting = {host for host, parts in carried.items() if len(parts) > 1 and self.check.tells(parts)}

    def shown(self, text: str, found: Iterable[re.Match[str]]) -> Iterator[str]:
        """The answer piece by piece, each place as it stands or what stands for it."""
        done = 0
        for match in found:
            yield text[done : match.start()]
            yield self._instead(match)
            done = match.end()
        yield text[done:]

    def _instead(self, match: re.Match[str]) -> str:
        if match["tag"]:
            is_out = any(self._is_out(place, is_fetched=True) for place in _places_in(match["tag"]))
            return _REMOVED if is_out else match[0]
        if match["label"]:
            return f"[{match['label']}]: {_REMOVED}" if self._is_out(match["named"], is_fetched=True) else match[0]
        if match["bare"]:
            before = match.string[max(0, match.start() - 40) : match.start()].rstrip(" \t\r\n\"'<")
            is_fetched = before.endswith(_FETCHING) and bool(_NAMED_PLACE.match(match[0]))
            return _REMOVED if self._is_out(match[0], is_fetched=is_fetched) else match[0]
        is_out = self._is_out(match["held"] or match["place"], is_fetched=bool(match["image"]))
        return (match["words"] or _REMOVED) if is_out else match[0]

    def _is_out(self, place: str, *, is_fetched: bool) -> bool:
        code = self._fault(_shown(place))
        if not code or (not is_fetched and code in _SEEN_BY_OWNER):
            return False
        self.removed.append((place[:_LONGEST_LINK], code))
        return True

    def _fault(self, place: str) -> str:
        if place not in self._faults:
            if len(self._faults) >= _MOST_LINKS or len(place) > _LONGEST_LINK:
                return "too_many_links"
            is_split = _owner_of(host_of(place)) in self._splitting
            self._faults[place] = "private_value_in_link" if is_split else self.check.fault(place)
        return self._faults[place]


def _shown(place: str) -> str:
    """A place as a browser takes it: references undone, what it skips left out, with a scheme where it adds one."""
    plain = "".join(html.unescape(place).split()).replace("\\", "/")
    return "https:" + plain if plain.startswith("//") else plain


def _owner_of(host: str) -> str:
    """Whoever answers for a host: its last labels."""
    return ".".join(host.split(".")[-2:])


def _places_in(tag: str) -> Iterator[str]:
    """The places in an element: in attributes that have one, and wherever a value looks like one."""
    for name, *values in _VALUE.findall(tag):
        value = html.unescape(next(filter(None, values), ""))
        if name.lower() in _PLACES and value.strip():
            yield value
        else:
            yield from (first or second for first, second in _WITHIN.findall(value))
