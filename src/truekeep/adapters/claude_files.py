"""What Claude Code puts into a context beside its hooks: instruction files, mentioned files, attachments.

A file whose hash the operator has accepted is pinned and counts as the program's word; any other one is foreign text.
What cannot be read is reported as something that nobody could look at.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from truekeep import disk
from truekeep.adapters.reports import UNSEEN

_PINS = "claude-code.pins"
_MOST_FILES = 200  # of one project, or mentioned in one prompt; what is beyond is reported as not looked at
_MOST_BYTES = 90_000
"""Of one file; a longer one is cut, for what is reported of it only has to show whose the values in it are."""
_LONGEST_TRANSCRIPT = 20_000_000  # bytes that are read before a call; a longer one counts as not looked at
_MENTION = re.compile(r"(?:^|\s)@(\S{1,500})")


@cache
def table() -> Mapping[str, frozenset[str]]:
    """The names that Claude Code uses, from the data file."""
    found = tomllib.loads(files("truekeep.data").joinpath("claude/tools.toml").read_text("utf-8"))
    return {name: frozenset(words.split()) for name, words in found.items()}


def events() -> list[str]:
    """The events that are listened to."""
    return sorted(table()["events"])


def digest_of(text: bytes) -> str:
    """The hash that is pinned."""
    return hashlib.sha256(text).hexdigest()


def read_pins(config: Path) -> frozenset[str]:
    """The hashes that the operator has accepted; a file with anything else in it pins nothing."""
    try:
        lines = (config / _PINS).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return frozenset()
    hashes = [line.split(maxsplit=1)[0] for line in lines if line.strip()]
    return frozenset(hashes) if all(re.fullmatch(r"[0-9a-f]{64}", one) for one in hashes) else frozenset()


def add_pins(config: Path, paths: Iterable[Path]) -> list[tuple[str, Path]]:
    """Accept files as they are now; gives what was added."""
    known = read_pins(config)
    added = [(digest_of(path.read_bytes()), path.resolve()) for path in paths]
    fresh = [(digest, path) for digest, path in added if digest not in known]
    config.mkdir(parents=True, exist_ok=True, mode=0o700)
    with os.fdopen(disk.opened(config / _PINS, os.O_CREAT | os.O_APPEND | os.O_WRONLY), "a", encoding="utf-8") as out:
        out.writelines(f"{digest}  {json.dumps(str(path))}\n" for digest, path in fresh)
    return fresh


def instruction_files(cwd: Path) -> list[Path]:
    """The files that Claude Code may load by itself for that directory, the project's and the user's."""
    user = _user_folder() or Path.home() / ".claude"
    found = [path for folder in (cwd, *cwd.parents) for path in _matching(folder, table()["project_files"])]
    found += _matching(user, table()["user_files"])
    # Its own notes are in a folder that is named after the directory.
    found += _matching(user / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(cwd)), frozenset({"memory/*.md"}))
    return list(dict.fromkeys(path for path in found if path.is_file()))


def _matching(folder: Path, patterns: Iterable[str]) -> list[Path]:
    return [path for pattern in sorted(patterns) for path in sorted(folder.glob(pattern))]


def unpinned(paths: Iterable[Path], pins: frozenset[str]) -> Iterator[tuple[str, str]]:
    """The text and the name of each file that nobody has accepted as it is."""
    for place, path in enumerate(paths):
        if place >= _MOST_FILES:
            yield UNSEEN, "more files"
            return
        try:
            content = path.read_bytes()
        except OSError:
            yield UNSEEN, path.name
            continue
        if digest_of(content) not in pins:
            yield content[:_MOST_BYTES].decode("utf-8", "replace").strip() or UNSEEN, path.name


def _user_folder() -> Path | None:
    moved = os.environ.get("CLAUDE_CONFIG_DIR")
    return Path(moved) if moved else None


def configured_servers(cwd: Path) -> str:
    """The MCP servers that the user has configured: what they say of their tools is read before anything else."""
    try:
        settings = json.loads(((_user_folder() or Path.home()) / ".claude.json").read_text("utf-8"))
        here = settings.get("projects", {}).get(str(cwd), {})
        servers = {**settings.get("mcpServers", {}), **here.get("mcpServers", {})}
        return json.dumps(servers, sort_keys=True)[:_MOST_BYTES] if servers else ""
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, AttributeError, TypeError):
        return UNSEEN


def is_repository(cwd: Path) -> bool:
    """Whether Claude Code shows the model the state of a repository: names of branches and files, others' commits."""
    return any((folder / ".git").exists() for folder in (cwd, *cwd.parents))


def mentioned(prompt: str, cwd: Path) -> list[tuple[str, str]]:
    """What an owner's prompt brings in by mentioning it (``@path``): the text and the name of each."""
    found = []
    for name in _MENTION.findall(prompt)[:_MOST_FILES]:
        path = cwd / Path(name.rstrip(".,;:!?")).expanduser()
        try:
            text = path.read_bytes()[:_MOST_BYTES].decode("utf-8", "replace")
        except (OSError, ValueError):
            text = ""
        found.append((text.strip() or UNSEEN, "mentioned file"))
    return found


def attachments(transcript: Path) -> list[str]:
    """What a transcript says was put into the context that no hook reports; what cannot be read is one such thing."""
    try:
        if transcript.stat().st_size > _LONGEST_TRANSCRIPT:
            return [UNSEEN]
        lines = transcript.read_text("utf-8").splitlines()
        entries = [json.loads(line) for line in lines if '"attachment"' in line]
    except FileNotFoundError:
        return []  # nothing was written yet
    except (OSError, ValueError):
        return [UNSEEN]
    return [text for entry in entries if (text := _foreign(entry))]


def _foreign(entry: Any) -> str:
    found = entry.get("attachment") if isinstance(entry, dict) and entry.get("type") == "attachment" else None
    if not isinstance(found, dict):
        return ""
    is_known = found.get("type") in table()["known_attachments"]
    if is_known and not (found.get("type") == "session_context" and found.get("context")):
        return ""
    return json.dumps(found, ensure_ascii=False, sort_keys=True)[:_MOST_BYTES]
