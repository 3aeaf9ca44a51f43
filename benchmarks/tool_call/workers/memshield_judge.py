"""memshield without a language model: its keyword strategy looks at every result, and what it blocks is not shown.

It says nothing about calls. Its consensus strategy asks a model about every memory, which is not run here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from judging_loop import serve  # type: ignore[import-not-found]
from memshield import MemShield  # type: ignore[import-not-found]
from memshield.strategies import KeywordHeuristicStrategy  # type: ignore[import-not-found]


class Shield:
    """Results are what it calls documents."""

    def begin(self, _said: str, _tools: Sequence[Mapping[str, Any]]) -> None:
        self._shield = MemShield(strategy=KeywordHeuristicStrategy())

    def judged(self, _name: str, _arguments: Mapping[str, Any]) -> tuple[str, str]:
        return "allow", ""

    def confirmed(self, _name: str, _arguments: Mapping[str, Any]) -> None:
        """Nothing is asked."""

    def seen(self, _name: str, text: str) -> bool:
        return bool(self._shield.validate_reads([{"content": text}]))


serve(Shield())
