"""truekeep's own first edition, from its commit: consequential calls known by lists of names, proof by grammar."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from judging_loop import serve  # type: ignore[import-not-found]

from truekeep import Keep


class FirstEdition:
    """A keep for every session."""

    def begin(self, said: str, _tools: Sequence[Mapping[str, Any]]) -> None:
        self._home = tempfile.TemporaryDirectory()
        self._keep = Keep.open("run", home=Path(self._home.name), policy="inform", embedder=lambda: None)
        self._session = self._keep.session("s-1", mediated=True)
        self._session.observe("user", said)

    def judged(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, str]:
        answer = self._session.check_action(name, arguments)
        return str(answer.decision.value), answer.code

    def confirmed(self, _name: str, _arguments: Mapping[str, Any]) -> None:
        """A confirmed call is made."""

    def seen(self, name: str, text: str) -> bool:
        if text.strip():
            self._session.observe("tool", text[:7_900], principal=name)
        return True


serve(FirstEdition())
