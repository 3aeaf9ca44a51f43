"""Command lines taken apart by their structure: programs that only read, and programs that the owner's word asks for.

``data/act/commands.toml`` lists both. Operands are proved like any other value; an option that is not listed, a pipe, a
redirection or a substitution leaves the whole line to be proved by the owner's whole wording.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from truekeep.trust.flow.leaks import telling_values
from truekeep.trust.flow.reading import read_table, stem
from truekeep.trust.flow.structure import has_substitution

_LONG_OPTION = re.compile(r"--|-\w{5}|-o")
_NEXT = re.compile(r"&&|;")
_OTHER_OPERATORS = re.compile(r"[|<>&\n`\\]|\$")


@dataclass(frozen=True, slots=True)
class KnownCommand:
    """One program with its subcommand: the words that ask for it, and what it may be given."""

    words: tuple[str, ...]
    said: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    free: frozenset[str] = frozenset()
    text: frozenset[str] = frozenset()
    known: bool = False
    """Whether its operands need only stand in the owner's words or memories: going to a place does nothing."""


@cache
def _commands() -> tuple[KnownCommand, ...]:
    rows = read_table("act", "commands.toml")["command"]
    return tuple(
        KnownCommand(
            words=tuple(row["words"].split()),
            said=frozenset(map(stem, row.get("said", "").split())),
            flags=frozenset(row.get("flags", "").split()),
            free=frozenset(row.get("free", "").split()),
            text=frozenset(row.get("text", "").split()),
            known=row.get("known", False),
        )
        for row in rows
    )


@cache
def _reading() -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(words.split()) for words in read_table("act", "commands.toml")["reads"])


def parts_of(line: str) -> list[list[str]] | None:
    """The words of each command of a line, or None where it is more than commands one after the other."""
    parts = [part.strip() for part in _NEXT.split(line)]
    if has_substitution(line) or not all(parts) or any(_OTHER_OPERATORS.search(part) for part in parts):
        return None
    try:
        return [shlex.split(part) for part in parts]
    except ValueError:
        return None


def reads_only_commands(line: str) -> bool:
    """Whether every command of a line only reads; going to a directory on the way changes nothing."""
    parts = parts_of(line)
    return bool(parts) and all(map(_reads, parts or ()))


def _reads(words: list[str]) -> bool:
    known = next((known for known in _reading() if tuple(words[: len(known)]) == known), None)
    if known is None:
        return words[0] == "cd"
    given = words[len(known) :]
    # Long options write files and start other programs (--output, --pre); a place with a scheme is somewhere else.
    return not any(_LONG_OPTION.match(word) and word not in _harmless() for word in given) and not any(
        ":" in word for word in given
    )


@cache
def _harmless() -> frozenset[str]:
    return frozenset(read_table("act", "commands.toml")["harmless"].split())


def is_asked_for(line: str, said: frozenset[str], proved: Callable[[str], bool], known: Callable[[str], bool]) -> bool:
    """Whether the owner's words ask for every command of a line, and prove or know what it is given."""
    parts = parts_of(line)
    return bool(parts) and all(_is_asked(words, said, proved, known) for words in parts or ())


def _is_asked(
    words: list[str], said: frozenset[str], proved: Callable[[str], bool], known: Callable[[str], bool]
) -> bool:
    command = _known(words)
    if command is None or (command.said and not command.said & said):
        return False
    given = iter(words[len(command.words) :])
    for word in given:
        if word in command.text:
            if any(True for _ in telling_values(next(given, ""))):
                return False
        elif word.startswith("-"):
            if word not in command.flags:
                return False
        elif word not in command.free and not (known(word) if command.known else proved(word)):
            return False
    return True


_FIGURE_OPTION = re.compile(r"-[A-Za-z]?\d{1,6}")
"""An option that is a number, or a letter with one: there is no program in it."""


def is_harmless_option(words: list[str], word: str) -> bool:
    """Whether an option of a command is known to change nothing but how it goes about what it does."""
    command = _known(words)
    if word in _harmless() or (command is not None and word in command.flags) or _FIGURE_OPTION.fullmatch(word):
        return True
    return len(word) > 1 and word[0] == "-" and _listed("letters").issuperset(word[1:])


def is_text_option(words: list[str], place: int) -> bool:
    """Whether the word at a place of a command is an option that is followed by text."""
    command = _known(words)
    return command is not None and words[place] in command.text


def runs_what_follows(word: str) -> bool:
    """Whether a program runs the command that it is given behind its name."""
    return word.rpartition("/")[2] in _listed("runners")


def runs_others(word: str) -> bool:
    """Whether a word among a command's makes it run another program, or is one that runs whatever it reads."""
    return runs_what_follows(word) or word.rpartition("/")[2] in _listed("shells")


@cache
def _listed(table: str) -> frozenset[str]:
    return frozenset(read_table("act", "commands.toml")[table].split())


def _known(words: list[str]) -> KnownCommand | None:
    return next((one for one in _commands() if tuple(words[: len(one.words)]) == one.words), None)
