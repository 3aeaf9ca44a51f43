"""The prompt library as sealed rows: what was reviewed under a version can never become another text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from truekeep.extract.library import PromptVersion, require_step
from truekeep.stores.records import stored

if TYPE_CHECKING:
    from truekeep.stores.ledger import Ledger, Sealed

_PROMPT = stored(PromptVersion)


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
            entry.set("prompts", row_id, _PROMPT.write(version), tag=version.hash)
            entry.event(
                f"prompt.{version.state.value}",
                prompt=version.name,
                version=version.version,
                hash=version.hash,
                by=version.decided_by or version.added_by,
                reason=version.reason,
            )


def _version(sealed: Sealed) -> PromptVersion | None:
    return _PROMPT.read(json.loads(sealed.row.body)) if sealed.verified else None
