"""Visible: text as a person is shown it in a question, so that nothing in it hides, moves or speaks for truekeep.

Pure. Clients show a question as plain text or as Markdown, in a box that may be small. Whatever could be displayed as
something else than it is — controls, direction marks, fillers, look-alike letters, tags, links, entities, long blanks,
the marks of the fence itself — is written out as ``{U+202E}``. A text in which nothing had to be written out is
*plain*: the person reads just what will be stored.
"""

from __future__ import annotations

import re
import unicodedata

from truekeep.text.fold import INVISIBLE

OPENING, CLOSING = "⟦", "⟧"
"""The marks between which a question quotes; no quoted text holds either."""

_JOINING = "\u200c\u200d\ufe0e\ufe0f"
# Joiners and emoji selectors shape what stands before them. Alone, or several in a row, they only hide.
_SHAPES = re.compile(rf"(?<=[^\x00-\x7f{INVISIBLE}])[{_JOINING}](?![{_JOINING}])")
_RENDERED = re.compile(
    r"<(?=[\w/!?])"  # a tag or a comment
    r"|(?<=\])[(\[]|!(?=\[)"  # a link or a picture, which show other words than they hold
    r"|&(?=#?\w{1,32};)"  # an entity
    r"|\\(?=[A-Za-z(\[])"  # a command of a formula
    r"|\{(?=U\+|\d+ spaces)"  # what is written out here
)
_SPACES = re.compile(r" {2,}")
_WORD = re.compile(r"[^\W_]+")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_LOOK_ALIKE = re.compile(r"[\u0370-\u058f\u13a0-\u13ff\uab70-\uabbf]")
_MARKS = re.compile(r"(?<=[\u0300-\u036f]{2})[\u0300-\u036f]+")


def visible(text: str) -> str:
    """The text with everything written out that a reader might not see, or might see as something else."""
    if text.isascii() and text.isprintable() and not _RENDERED.search(text) and "  " not in text:
        return text
    text = _RENDERED.sub(_written_out, text)
    text = _WORD.sub(_without_look_alikes, text)
    text = _MARKS.sub(_written_out, text)
    text = _SPACES.sub(lambda run: f"{{{len(run[0])} spaces}}", text)
    shaping = {found.start() for found in _SHAPES.finditer(text)}
    return "".join(mark if at in shaping or _is_seen(mark) else _code(mark) for at, mark in enumerate(text))


def one_paragraph(text: str) -> str:
    """The text on one line with single spaces: how a memory is shown, and how it is stored when a person said yes."""
    return " ".join(text.split())


def is_plain(text: str) -> bool:
    """Whether a person who is shown this text reads just what it says."""
    return visible(text) == text


def quoted(text: str) -> str:
    """The visible text between marks that nothing in it can imitate."""
    return f"{OPENING}{visible(text)}{CLOSING}"


def _is_seen(mark: str) -> bool:
    if mark in (OPENING, CLOSING) or mark == "\u2800" or re.match(f"[{INVISIBLE}]", mark):
        return False
    category = unicodedata.category(mark)
    return mark == " " or category[0] not in ("C", "Z")


def _written_out(found: re.Match[str]) -> str:
    return "".join(map(_code, found[0]))


def _without_look_alikes(word: re.Match[str]) -> str:
    """Letters of another alphabet inside a Latin word are there to be mistaken for Latin ones."""
    if not (_LATIN.search(word[0]) and _LOOK_ALIKE.search(word[0])):
        return word[0]
    return _LOOK_ALIKE.sub(_written_out, word[0])


def _code(mark: str) -> str:
    return f"{{U+{ord(mark):04X}}}"
