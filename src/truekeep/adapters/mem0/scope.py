"""Whose a mem0 call is: which keep and which session its ``user_id``, ``agent_id`` and ``run_id`` name.

Pure. A user is a keep, with its own key and file; an agent and a run within it are a session. No two users have one
keep, whatever their ids hold: plain ids name it, others are hashed under a prefix that no plain id can have.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from truekeep.errors import InvalidRequest

IDS = ("user_id", "agent_id", "run_id")
NOBODY = "mem0-nobody"
"""The keep of what has no user."""
_PLAIN, _HASHED = "mem0-u-", "mem0-h-"
_PLAIN_ID = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,79}", re.ASCII)
"""Small letters only: some file systems take others for the same."""
_OURS = re.compile(r"mem0-(?:nobody|u-[a-z0-9][a-z0-9._@+-]{0,79}|h-[0-9a-f]{64})", re.ASCII)
_LONGEST_ID = 512
"""An id is hashed and shown, so that it need not be long; mem0 itself sets no bound."""


@dataclass(frozen=True, slots=True)
class MemoryScope:
    """The ids of one call."""

    user: str | None = None
    agent: str | None = None
    run: str | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> MemoryScope:
        """The ids in a mapping; at least one is needed, as mem0 has it."""
        ids = [_checked(given.get(name)) for name in IDS]
        if not any(ids):
            raise ValueError("At least one of 'user_id', 'agent_id' or 'run_id' is needed.")
        return cls(*ids)

    @property
    def keep(self) -> str:
        """The name of the user's keep."""
        if self.user is None:
            return NOBODY
        if _PLAIN_ID.fullmatch(self.user):
            return f"{_PLAIN}{self.user}"
        return f"{_HASHED}{hashlib.sha256(self.user.encode()).hexdigest()}"

    @property
    def session(self) -> str:
        """The name of the session of an agent and a run: equal only if both are."""
        parts = "".join("-" if one is None else f"{len(one)}:{one}" for one in (self.agent, self.run))
        return f"mem0-{hashlib.sha256(parts.encode()).hexdigest()}"

    def fits(self, said: Mapping[str, Any]) -> bool:
        """Whether a memory with these ids is within the scope; what the scope does not name does not matter."""
        wanted = {"agent_id": self.agent, "run_id": self.run}
        return all(value is None or said.get(name) == value for name, value in wanted.items())

    def members(self) -> dict[str, str]:
        """The ids that are given."""
        named = zip(IDS, (self.user, self.agent, self.run), strict=True)
        return {name: value for name, value in named if value is not None}


def split_id(memory_id: object) -> tuple[str, str] | None:
    """The keep and the memory that an id names; nothing for what is no id of ours."""
    keep, _, own = memory_id.partition("/") if isinstance(memory_id, str) else ("", "", "")
    return (keep, own) if own and _OURS.fullmatch(keep) else None


def whole_id(keep: str, memory_id: str) -> str:
    """An id that names its keep as well: mem0's calls by id name no user."""
    return f"{keep}/{memory_id}"


def _checked(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST_ID or not _is_text(value):
        raise InvalidRequest(
            "An id cannot be used.",
            code="invalid_id",
            hint=f"Use text of 1 to {_LONGEST_ID} characters that is not only blanks.",
        )
    return value.strip()


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
