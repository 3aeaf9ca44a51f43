"""Whether SQL only reads: by its statement, the words in it and the functions that it calls.

``data/act/sql.toml`` lists what is known to read. A statement or function that is not there, or a word that
writes, has effects, whatever the tool that runs it is called; the database's own role is what bounds it in the end.
"""

from __future__ import annotations

import re
from functools import cache

from truekeep.trust.flow.forms import name_words
from truekeep.trust.flow.reading import read_table

_TOKEN = re.compile(
    r"(?P<text>'(?:[^'\\]|'')*')|(?P<name>\"[^\"\\]*\"|`[^`\\]*`)|(?P<word>[^\W\d][\w$]*)|(?P<number>\d[\w.]*|\?|\$\d+)"
    r"|(?P<blank>\s+)|(?P<mark>[(),.*+<>=!%:;\[\]|/-])"
)
"""The closed set of what a plain query is made of; a comment, an escape or another kind of quotation is none of it."""
_COMMENTS = ("--", "/*", "*/")
_Token = tuple[str, str]


def is_sql(tool: str, argument: str, text: str) -> bool:
    """Whether an argument is SQL: by its name or the tool's, or by how it begins."""
    if not text.strip():
        return False
    names = name_words(argument)
    by_name = "sql" in names or (
        bool(_listed("arguments") & set(names)) and bool(_listed("names") & set(name_words(tool)))
    )
    bare = text.lower().lstrip("( \t\r\n")
    return by_name or bare.startswith(_COMMENTS) or bare.startswith(tuple(_listed("beginnings")))


def reads_only(sql: str) -> bool:
    """Whether a text is one statement that only reads, as far as its words and functions are all known to."""
    tokens = _tokens(sql.strip())
    while tokens and tokens[-1] == ("mark", ";"):
        tokens.pop()
    if not tokens or ("mark", ";") in tokens:
        return False
    words = [text for kind, text in tokens if kind == "word"]
    first = tokens[0][1]
    if first in _listed("about"):
        # What they show is named, never computed.
        return len(words) == len(tokens) - sum(kind == "mark" and text == "." for kind, text in tokens)
    if first == "explain":
        place = next((n for n, (_, text) in enumerate(tokens) if n and text not in _listed("explaining")), 0)
        tokens = tokens[place:]
        first = tokens[0][1]
    if first not in _listed("reads") or not _listed("acts").isdisjoint(words):
        return False
    return all(_calls_known(*three) for three in zip([("mark", "("), *tokens], tokens, tokens[1:], strict=False))


def _calls_known(before: _Token, token: _Token, following: _Token) -> bool:
    """Whether a bracket follows something that is known to compute, and that nobody gave a home of its own."""
    kind, text = token
    if following != ("mark", "("):
        return True
    if kind == "word":
        return text in _listed("functions") | _listed("before_brackets") and before != ("mark", ".")
    return kind == "mark" and text not in ("]", ")", ".")


def _tokens(sql: str) -> list[_Token]:
    """The words, names, texts and marks of a statement without what separates them; none if anything else is in it."""
    found: list[_Token] = []
    end = 0
    while end < len(sql):
        match = _TOKEN.match(sql, end)
        if match is None or sql.startswith(_COMMENTS, end):
            return []
        end = match.end()
        if match.lastgroup and match.lastgroup != "blank":
            found.append((match.lastgroup, match[0].lower()))
    return found


@cache
def _listed(table: str) -> frozenset[str]:
    return frozenset(read_table("act", "sql.toml")[table].split())
