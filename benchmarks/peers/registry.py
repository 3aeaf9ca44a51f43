"""The defences that are measured side by side with ours: what to install, which worker, which configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from benchmarks.peers.environments import interpreter, is_installed
from benchmarks.peers.peer_store import ANSWER_SECONDS, WORKERS, PeerStore
from truekeep.redteam.figures import CannotRun

if TYPE_CHECKING:
    from truekeep.embed import Embedder

_FILE = Path(__file__).with_name("defences.yaml")


@dataclass(frozen=True, slots=True)
class Defence:
    """Somebody else's memory or guard in one configuration."""

    name: str
    """As it stands in reports, with its version."""
    worker: str
    packages: tuple[str, ...]
    environment: str
    note: str
    """What was chosen, and where its gate is."""
    options: Mapping[str, Any] = field(default_factory=dict)
    needs_encoder: bool = False
    most: int = 0
    """The largest store it is run with; 0 where there is no such bound."""

    def python(self, cache_dir: Path) -> Path:
        """The interpreter that runs its worker, installed at the first need; raises ``CannotRun``."""
        return interpreter(self.environment, self.packages, cache_dir)

    def is_ready(self, cache_dir: Path) -> bool:
        """Whether it can be run without installing anything."""
        return is_installed(self.environment, self.packages, cache_dir)


@cache
def defences() -> Mapping[str, Defence]:
    """Every defence by name, in the order of the file."""
    found = [_defence(members) for members in yaml.safe_load(_FILE.read_text(encoding="utf-8"))["defences"]]
    return {defence.name: defence for defence in found}


def opened(
    name: str, embed: Embedder | None, cache_dir: Path, *, size: int = 0, seconds: float = ANSWER_SECONDS
) -> PeerStore:
    """An empty store of that defence, fed by this encoder, to hold ``size`` memories; raises ``CannotRun``."""
    defence = defences()[name]
    if defence.needs_encoder and embed is None:
        raise CannotRun("it has no search by keywords")
    if defence.most and size > defence.most:
        raise CannotRun(f"too slow for more than {defence.most:,} memories")
    script = WORKERS / f"{defence.worker}_worker.py"
    return PeerStore(name, defence.python(cache_dir), script, embed, defence.options, seconds)


def _defence(members: Mapping[str, Any]) -> Defence:
    return Defence(**{"environment": members["worker"], **members, "packages": tuple(members["packages"])})
