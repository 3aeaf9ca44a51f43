"""Take markup away: HTML tags, comments and entities, Markdown emphasis and links."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from truekeep.text.view import LONG, Edit, View, excerpt, rewrite

_MARKUP = re.compile(
    # One class of signs first, so that letters are passed over quickly; each branch looks back at its own sign.
    r"[<\-&!\[\\*_~`|](?:"
    r"(?P<comment>(?<=<)!--|(?<=-)->)"
    r"|(?P<tag>(?<=<)/?[A-Za-z][A-Za-z0-9-]{0,20}(?:\s[^<>]{0,300})?/?>)"
    r"|(?P<entity>(?<=&)(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});)"
    r"|(?P<link>(?:(?<=!)\[|(?<=\[))(?P<label>[^\[\]]{0,300})\]\([^()\s]{0,500}\))"
    r"|(?P<escape>(?<=\\)[!-/:-@\[-`{-~])"
    r"|(?P<emphasis>(?<=\*)\*{0,2}|(?<=_)_{1,2}|(?<=~)~|(?<=`)`{0,2}|(?<=\|)\|))"
)
_INLINE = re.compile(r"</?(?:a|abbr|b|bdi|bdo|code|em|font|i|kbd|mark|q|s|small|span|strong|sub|sup|tt|u|wbr)\b", re.I)
_SIGNS = frozenset("<&[*_~`|\\")


def _edits(text: str) -> Iterator[Edit]:
    for match in _MARKUP.finditer(text):
        kind = match.lastgroup
        start, end = match.span()
        if kind == "entity":
            plain = html.unescape(match[0])
            yield start, end, plain if plain != match[0] else match[0]
        elif kind in {"label", "link"}:
            yield start, end, match["label"]
        elif kind == "escape":
            yield start, end, match[0][1]
        elif kind == "tag" and not _INLINE.match(match[0]):
            yield start, end, " "
        else:
            yield start, end, ""


def unmark(base: View) -> tuple[View, View] | None:
    """The text as a browser would show it, to read and to go on with; ``None`` if there is no markup."""
    if _SIGNS.isdisjoint(base.text):
        return None
    edits = list(_edits(base.text))
    if not edits:
        return None
    whole = rewrite(base, "markup", edits)
    if whole.text == base.text:
        return None
    return (whole if len(base.text) <= LONG else excerpt(base, "markup", edits)), whole
