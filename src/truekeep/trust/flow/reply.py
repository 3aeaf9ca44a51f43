"""Take links and images out of the agent's answer that would carry private values to a place nobody named.

A picture in an answer is fetched without a click, so its address is a way out. What is taken out is replaced by its
text; the rest of the answer stays as it is, byte for byte.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from truekeep.trust.flow.leaks import link_fault
from truekeep.trust.flow.scope import reading_scopes

if TYPE_CHECKING:
    from truekeep.trust.flow.evidence import SessionEvidence

_MARKDOWN = re.compile(r"(!?)\[([^\]\n]{0,400})\]\(\s*<?([^)\s>]{1,4000})>?(?:\s+[^)\n]{0,400})?\)")
_REFERENCE = re.compile(r"^\s{0,3}\[([^\]\n]{1,200})\]:\s*<?(\S{1,4000}?)>?(?:\s+.*)?$", re.MULTILINE)
_HTML = re.compile(r"<(?:img|a|iframe|link|source|video|audio|object|embed|form)\b[^<>]{0,4000}>", re.IGNORECASE)
_HTML_PLACE = re.compile(r"(?:src|href|srcset|data|action|poster)\s*=\s*[\"']?([^\s\"'>]{1,4000})", re.IGNORECASE)
_BARE = re.compile(r"(?:https?|ftp)://[^\s<>\"')\]]{1,4000}", re.IGNORECASE)
_REMOVED = "[link removed]"
_MOST_LINKS = 100  # an answer with more is no answer for a person
_LONGEST_LINK = 1_000
"""Links of one answer that are looked at, and how long they may be; the others are taken out."""
# Outside an answer these faults decide on a fetch; in an answer a person sees the link before it is followed.
_SEEN_BY_OWNER = frozenset({"composed_link", "link_to_inner_place"})


@dataclass(frozen=True, slots=True)
class CheckedReply:
    """The answer that may be shown, and the places that were taken out of it with the reason's code."""

    text: str
    removed: tuple[tuple[str, str], ...]


def check_reply(evidence: SessionEvidence, text: str) -> CheckedReply:
    """The answer without links and images that carry private values; a clean session's answer as it is."""
    if evidence.clean:
        return CheckedReply(text, ())
    removed: list[tuple[str, str]] = []
    judged: list[str] = []
    open_scopes = reading_scopes(evidence)

    def fault(place: str, *, is_fetched: bool) -> bool:
        if len(judged) >= _MOST_LINKS or len(place) > _LONGEST_LINK:
            removed.append((place[:_LONGEST_LINK], "too_many_links"))
            return True
        judged.append(place)
        code = link_fault(evidence, "https:" + place if place.startswith("//") else place, open_scopes)
        if not code or (not is_fetched and code in _SEEN_BY_OWNER):
            return False
        removed.append((place, code))
        return True

    text = _MARKDOWN.sub(lambda m: (m[2] or _REMOVED) if fault(m[3], is_fetched=bool(m[1])) else m[0], text)
    text = _REFERENCE.sub(lambda m: f"[{m[1]}]: {_REMOVED}" if fault(m[2], is_fetched=True) else m[0], text)
    text = _HTML.sub(
        lambda m: _REMOVED if any(fault(p, is_fetched=True) for p in _HTML_PLACE.findall(m[0])) else m[0], text
    )
    text = _BARE.sub(lambda m: _REMOVED if fault(m[0], is_fetched=False) else m[0], text)
    return CheckedReply(text, tuple(removed))
