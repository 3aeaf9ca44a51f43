"""Claude Code's settings file: truekeep's hooks put in and taken out, and everything else left as it is."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from truekeep import disk
from truekeep.adapters.claude_files import events
from truekeep.errors import InvalidRequest

_OURS = "hook claude-code"
_SECONDS = 60


def settings_path(project: Path | None) -> Path:
    """The settings of a project, or the user's."""
    if project is not None:
        return project.resolve() / ".claude" / "settings.json"
    moved = os.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(moved) if moved else Path.home() / ".claude") / "settings.json"


def command_line(keep_name: str, home: str | None) -> str:
    """The command that Claude Code runs for each event: by its whole path, so that no directory can put in another."""
    found = shutil.which("truekeep")
    program = [str(Path(found).absolute())] if found else [sys.executable, "-m", "truekeep"]
    where = ["--home", str(Path(home).expanduser().absolute())] if home else []
    return shlex.join([*program, *_OURS.split(), "--keep", keep_name, *where])


def read(path: Path) -> dict[str, Any]:
    """The settings as they are; none if there is no file. A file that is no settings is not overwritten."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("hooks", {}), dict):
        raise InvalidRequest(
            "The settings file cannot be read as settings.", code="settings_not_read", hint="Mend it, then try again."
        )
    return found


def with_hooks(settings: dict[str, Any], command: str) -> dict[str, Any]:
    """The settings with truekeep's hook for each event, once."""
    changed = without(settings)
    hooks = changed.setdefault("hooks", {})
    entry = {"type": "command", "command": command, "timeout": _SECONDS, "onFailure": "block"}
    for event in events():
        hooks.setdefault(event, []).append({"matcher": "*", "hooks": [dict(entry)]})
    return changed if changed != settings else settings


def without(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings without any hook of truekeep's."""
    changed = deepcopy(settings)
    hooks = changed.get("hooks", {})
    for event, matchers in list(hooks.items()):
        kept = [one for one in (_others(matcher) for matcher in matchers) if one is not None]
        hooks[event] = kept
        if not kept:
            del hooks[event]
    if not hooks:
        changed.pop("hooks", None)
    return changed


def _others(matcher: Any) -> Any:
    """A matcher without truekeep's command; nothing if that was all."""
    if not isinstance(matcher, dict) or not isinstance(matcher.get("hooks"), list):
        return matcher
    kept = [one for one in matcher["hooks"] if not _is_ours(one)]
    if kept == matcher["hooks"]:
        return matcher
    return {**matcher, "hooks": kept} if kept else None


def _is_ours(entry: Any) -> bool:
    command = entry.get("command") if isinstance(entry, dict) else None
    return isinstance(command, str) and "truekeep" in command and f" {_OURS} " in f"{command} "


def write(path: Path, settings: dict[str, Any]) -> Path | None:
    """Write the settings in one step; gives where the old ones are kept."""
    path.parent.mkdir(parents=True, exist_ok=True)
    backup = None
    if path.exists():
        backup = path.with_name(f"{path.name}.{datetime.now(UTC):%Y%m%dT%H%M%S%f}.bak")
        shutil.copy2(path, backup)
    content = json.dumps(settings, indent=2, ensure_ascii=False) + "\n"
    with disk.drafted(path, content.encode()) as draft:
        if backup is not None:
            shutil.copymode(backup, draft)
        draft.rename(path)
        disk.sync_directory(path.parent)
    return backup
