"""Markdown notes, by headings and bullets: what a person reads as one thing becomes one entry.

A bullet with its continuation lines is an entry, a paragraph is one, and so is a block of code. The headings above it
are its topics. A bullet below one that ends with a colon carries that along, because it says little without. A date in
brackets before it, as exports of assistants write it, is since when it holds. Comments are not shown to whoever reads
the rendered notes, so nothing is made of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from truekeep.protect.migrate.entries import Read, Skipped, SourceEntry, moment

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.{1,500}?)[ \t]*#*[ \t]*$")
_BULLET = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+(.*)$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_RULE = re.compile(r" {0,3}(?:[-*_][ \t]*){3,}$")
_CHECKBOX = re.compile(r"\[[ xX]\][ \t]+")
_DATED = re.compile(r"\[?(\d{4}-\d{2}-\d{2})(?:[T ][\d:.]{4,16}Z?)?\]?[ \t]*(?::|-|\u2013|\u2014)?[ \t]+(?=\S)")
_BRACKETED = re.compile(r"\[(\d{4}-\d{2}-\d{2})\][ \t]*(?::|-|\u2013|\u2014)?[ \t]*(?=\S)")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TAB = 4


@dataclass
class _Open:
    """What is being read."""

    lines: list[str] = field(default_factory=list)
    indent: int = 0
    is_bullet: bool = False


def read(text: str) -> Read:
    """The entries of Markdown notes, and how many comments there were."""
    yield from (Skipped("comment") for _ in _COMMENT.finditer(text))
    reader = _Reader()
    lines = _COMMENT.sub("", text).splitlines()
    for line in lines[_after_front_matter(lines) :]:
        yield from reader.line(line)
    yield from reader.end()


def _after_front_matter(lines: list[str]) -> int:
    if not lines or lines[0].strip() != "---":
        return 0
    return next((at + 1 for at, line in enumerate(lines[1:200], 1) if line.strip() in ("---", "...")), 0)


class _Reader:
    def __init__(self) -> None:
        self._headings: list[tuple[int, str]] = []
        self._above: list[tuple[int, str]] = []
        """The bullets that the present one stands below, with their indents."""
        self._open = _Open()
        self._fence = ""

    def line(self, line: str) -> Iterator[SourceEntry]:
        """Read on by a line; gives what ended with it."""
        fence = _FENCE.match(line)
        if self._fence or fence:
            yield from self._code(line, fence[1] if fence else "")
        elif heading := _HEADING.match(line):
            yield from self.end()
            depth = len(heading[1])
            self._headings = [(level, name) for level, name in self._headings if level < depth]
            self._headings.append((depth, heading[2].strip()))
            self._above = []
        elif not line.strip() or _RULE.match(line):
            yield from self.end()
        elif bullet := _BULLET.match(line):
            yield from self.end()
            self._open = _Open([bullet[2]], len(bullet[1].expandtabs(_TAB)), is_bullet=True)
        else:
            self._open.lines.append(line.strip())

    def _code(self, line: str, fence: str) -> Iterator[SourceEntry]:
        if not self._fence:
            yield from self.end()
            self._fence = fence
        elif fence.startswith(self._fence):
            self._fence = ""
            yield from self.end(joint="\n")
        else:
            self._open.lines.append(line)

    def end(self, joint: str = " ") -> Iterator[SourceEntry]:
        """What was being read, as an entry."""
        done, self._open = self._open, _Open()
        text = joint.join(line for line in done.lines if line.strip()).strip()
        if not text:
            return
        if done.is_bullet:
            text = _CHECKBOX.sub("", text, count=1) if _CHECKBOX.match(text) else text
            self._above = [(indent, above) for indent, above in self._above if indent < done.indent]
            context = [above for _, above in self._above if above.endswith(":")]
            self._above.append((done.indent, text))
            if text.endswith(":"):
                return  # it is said with each of what stands below it
            text = " ".join([*context, text])
        dated = _BRACKETED.match(text) or (_DATED.match(text) if done.is_bullet else None)
        topics = tuple(name for _, name in self._headings)
        mapped = ("text", *(("date",) if dated else ()), *(("headings",) if topics else ()))
        yield SourceEntry(
            text=text[dated.end() :] if dated else text,
            as_of=moment(dated[1]) if dated else None,
            topics=topics,
            mapped=mapped,
        )
