"""What instruction files import: ``@notes/style.md`` puts that file into the prompt as if it stood there.

So a harmless CLAUDE.md can carry what a file of any name says, and that file has to be looked at as well.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

HOPS = 5
"""How many files deep agents follow imports; further ones do not reach a prompt."""
_MOST_IN_ONE = 200
"""Imports of one file: each is a question to the disk, and no honest file has so many."""
_MADE_UP = ("proc", "sys")
"""What the system makes up as it is read is no file, and some of it is gone once it was read."""
_IMPORT = re.compile(r"(?<!\S)@((?:~?/|\.{0,2}/)?[\w.-][^\s`<>\"'|*?]{0,300})")
_FENCED = re.compile(r"^ {0,3}(```+|~~~+)[^\n]*\n.*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`[^`\n]*`")


def imported_files(folder: Path, text: str) -> Iterator[Path]:
    """The files that a text in that folder imports and that are there; an ``@name`` that is none is a person."""
    for written in imports(text):
        path = Path(os.path.realpath(folder / os.path.expanduser(written)))  # noqa: PTH111 - before it is joined
        try:
            if path.is_file() and path.parts[1] not in _MADE_UP:
                yield path
        except (OSError, ValueError):
            continue


def imports(text: str) -> list[str]:
    """The paths that a text imports, as they are written; in code an ``@`` means something else."""
    if "@" not in text:
        return []
    plain = _INLINE.sub("", _FENCED.sub("", text))
    written = (match.rstrip(".,;:!)") for match in _IMPORT.findall(plain))
    return list(dict.fromkeys(one for one in written if one))[:_MOST_IN_ONE]
