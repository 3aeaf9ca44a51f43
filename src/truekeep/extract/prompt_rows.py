"""The prompt library as sealed rows: what was reviewed under a version can never become another text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from truekeep.extract.library import PromptVersion, State, require_step
from truekeep.stores.ledger import Ledger, Sealed
from truekeep.types import utc_moment, utc_text

FORMAT = 1


class SealedPrompts:
    """A ``PromptStore`` in one keep. A version whose row was altered is not there: nobody approved what it says now."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def all(self) -> Sequence[PromptVersion]:
        """Every version of every prompt, oldest first."""
        found = (_version(sealed) for sealed in self._ledger.all("prompts"))
        return [version for version in found if version is not None]

    def put(self, version: PromptVersion) -> None:
        """Keep a version, replacing its earlier state; a step that its state does not allow is refused."""
        row_id = f"{version.name} {version.version}"
        with self._ledger.writing() as entry:
            known = self._ledger.get("prompts", row_id)
            require_step(_version(known) if known else None, version)
            if known is None:
                entry.put("prompts", row_id, _body(version), tag=version.hash)
            else:
                entry.replace("prompts", known.row, _body(version), tag=version.hash)
            entry.event(
                f"prompt.{version.state.value}",
                prompt=version.name,
                version=version.version,
                hash=version.hash,
                by=version.decided_by or version.added_by,
                reason=version.reason,
            )


def _body(version: PromptVersion) -> dict[str, Any]:
    return {
        "v": FORMAT,
        "name": version.name,
        "version": version.version,
        "text": version.text,
        "hash": version.hash,
        "state": version.state.value,
        "added_by": version.added_by,
        "added_at": utc_text(version.added_at),
        "decided_by": version.decided_by,
        "decided_at": None if version.decided_at is None else utc_text(version.decided_at),
        "reason": version.reason,
    }


def _version(sealed: Sealed) -> PromptVersion | None:
    if not sealed.verified:
        return None
    body = json.loads(sealed.row.body)
    if body["v"] != FORMAT:
        return None
    decided = body["decided_at"]
    return PromptVersion(
        name=body["name"],
        version=body["version"],
        text=body["text"],
        hash=body["hash"],
        state=State(body["state"]),
        added_by=body["added_by"],
        added_at=utc_moment(body["added_at"]),
        decided_by=body["decided_by"],
        decided_at=None if decided is None else utc_moment(decided),
        reason=body["reason"],
    )
