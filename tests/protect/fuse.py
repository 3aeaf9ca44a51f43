"""A fuse: counts the steps of a process, and kills it hard at one of them."""

from __future__ import annotations

import os
import signal
from typing import Any


class Fuse:
    """Counts down at each step; at the last one the process is gone."""

    def __init__(self, at: int) -> None:
        self.left = at

    def step(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def before(self, owner: Any, name: str) -> None:
        """Have every call of a method be a step before it does anything."""
        plain = getattr(owner, name)

        def called(*arguments: Any, **options: Any) -> Any:
            self.step()
            return plain(*arguments, **options)

        setattr(owner, name, called)

    def around(self, owner: Any, name: str) -> None:
        """Have every call of a method be a step before it, and one after it."""
        plain = getattr(owner, name)

        def called(*arguments: Any, **options: Any) -> Any:
            self.step()
            result = plain(*arguments, **options)
            self.step()
            return result

        setattr(owner, name, called)
