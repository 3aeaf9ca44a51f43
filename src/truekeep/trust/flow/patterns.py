"""What the pattern of a grant covers. ``*`` stands for plain characters, ``**`` for folders too, as in a shell.

A wildcard covers what its owner would call one thing of that kind: one whole address, one host, plain words of a
command, ordinary files below a folder. What can be more than that has to stand in the pattern itself: names that begin
with a dot, files that agents read as instructions, options and assignments, places elsewhere.
"""

from __future__ import annotations

import re
import shlex
from fnmatch import fnmatchcase
from functools import cache
from itertools import pairwise
from urllib.parse import unquote

from truekeep.trust.flow.commands import is_harmless_option, is_text_option, runs_others, runs_what_follows
from truekeep.trust.flow.leaks import telling_values
from truekeep.trust.flow.reading import has_hidden, read_table
from truekeep.trust.flow.structure import simple_commands

_WILD = re.compile(r"[*?\[]")
_ADDRESS = re.compile(r"[\w.+'-]+@[\w.-]+")
"""One address and nothing else: no second one, no route over another host, no link."""
_LINK = re.compile(r"([a-z][a-z0-9+.-]*://)([^/?#\\]*)(.*)", re.IGNORECASE | re.DOTALL)
_HOST = re.compile(r"[\w.:-]*")
_ONE_VALUE = re.compile(r"[^\s,;?&=<>|@#\\]*")
"""What has no blank in its pattern is one value: nothing follows it, as another one or as a parameter of it."""
_SEPARATORS = re.compile(r"[/\\]")
_IN_COMMAND = re.compile(r"[/\\\s=:,]")
_WORD = re.compile(r"(?:~/|\.{0,2}/)?[\w][\w./+,%-]*|\.|/")
_SHORT_NAME = re.compile(r".*~\d+")
"""How some file systems spell a name a second time: ``GIT~1``."""
_FIGURES = re.compile(r"\.\d+")
_MOST_LAYERS = 3
"""Of percent signs that are undone before a path is looked at; nothing decodes more often."""


def fits(text: str, pattern: str, *, is_command: bool) -> bool:
    """Whether a value fits the pattern for its argument; of a command line each command has to."""
    if has_hidden(text):
        return False
    parts = simple_commands(text)
    if not _WILD.search(pattern):
        return bool(parts) and all(part == pattern for part in parts)
    fits_one = _fits_command if is_command or _is_command(pattern) else _fits_value
    return all(_fits_letters(part, pattern) and fits_one(part, pattern) for part in parts)


def _is_command(pattern: str) -> bool:
    """Whether a pattern is several words of which the first is said: ``make *``."""
    first, _, rest = pattern.partition(" ")
    return bool(rest) and not _WILD.search(first) and "/" not in first


def _fits_letters(text: str, pattern: str) -> bool:
    return fnmatchcase(text, pattern.replace("**", "*")) and ("**" in pattern or text.count("/") == pattern.count("/"))


def _layers(text: str) -> list[str] | None:
    """A text as it is and with percent signs undone, or None if there is no end to them."""
    found = [text]
    for _ in range(_MOST_LAYERS):
        plain = unquote(found[-1])
        if plain == found[-1]:
            return found
        found.append(plain)
    return None


# --- addresses, links, paths, words ------------------------------------------------------------------------------


def _fits_value(text: str, pattern: str) -> bool:
    if "@" in pattern and "/" not in pattern and " " not in pattern:
        return _ADDRESS.fullmatch(text) is not None
    layers = _layers(text)
    if layers is None or any(has_hidden(layer) or not _fits_letters(layer, pattern) for layer in layers[1:]):
        return False
    if not all(_is_ordinary(_SEPARATORS.split(layer), pattern) for layer in layers):
        return False
    link, wanted = _LINK.fullmatch(text), _LINK.fullmatch(pattern)
    if wanted is not None:
        # What stands for a part of a host is none of its path: "evil.example/.firm.example" ends like a host.
        return link is not None and _HOST.fullmatch(link[2]) is not None and fnmatchcase(link[2], wanted[2])
    is_any = not pattern.strip("*")
    return is_any or "/" in pattern or " " in pattern or all(map(_ONE_VALUE.fullmatch, layers))


def _is_ordinary(segments: list[str], pattern: str) -> bool:
    """Whether no part of a path leads upwards or is a place that a wildcard does not cover."""
    return all(_is_ordinary_name(name.strip(" \t'\"").rstrip(". ") or name.strip(), pattern) for name in segments)


def _is_ordinary_name(name: str, pattern: str) -> bool:
    if name == "..":
        return False
    is_plain = not name.startswith(".") or name == "." or _FIGURES.fullmatch(name)
    if is_plain and not _SHORT_NAME.fullmatch(name) and not _is_instruction(name):
        return True
    said = _IN_COMMAND.split(pattern)
    return name in said or (name.startswith(".") and any(p.startswith(".") and fnmatchcase(name, p) for p in said))


def _is_instruction(name: str) -> bool:
    return any(fnmatchcase(name.casefold(), known) for known in _instructions())


@cache
def _instructions() -> frozenset[str]:
    """Names that agents read as instructions or keep as memory, wherever they lie; those with a dot are not plain."""
    rows = read_table("protect", "instruction_files.toml")["repository"]
    names = {path.casefold().split("/")[0] for row in rows for path in row["paths"]}
    return frozenset(name for name in names if not name.startswith((".", "*")))


# --- commands ----------------------------------------------------------------------------------------------------


def _fits_command(line: str, pattern: str) -> bool:
    """Whether each word that a wildcard stands for is a plain word, a path or an option known to be harmless."""
    said = pattern.split()
    try:
        words = shlex.split(line)
    except ValueError:
        return False
    if any(runs_what_follows(before) and _WILD.match(word) for before, word in pairwise(said)):
        return False  # "env *" would run anything: the program behind it has to be said.
    is_text = False
    for place, word in enumerate(words):
        if is_text:
            # What is written there is content, and carries nothing to anybody.
            if any(True for _ in telling_values(word)):
                return False
            is_text = False
        elif word in said:
            continue
        elif is_text_option(words, place):
            is_text = True
        elif not _is_plain(word, pattern) and not is_harmless_option(words, word):
            return False
    return True


def _is_plain(word: str, pattern: str) -> bool:
    if not _WORD.fullmatch(word) or runs_others(word.rpartition("/")[2]):
        return False
    return _layers(word) == [word] and _is_ordinary(_IN_COMMAND.split(word), pattern)
