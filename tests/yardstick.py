"""A yardstick for CPU time: a bound in seconds means the same amount of work on every machine.

A fixed piece of plain Python, which the package has no part in, is timed in the same process after what is bounded. As
much slower as it runs than where the bounds were set, so much longer is a bound; it is never shorter than it was set.
"""

from __future__ import annotations

import re
import time
from collections import Counter

_SET_AT = 0.0021
"""Seconds that the piece took at its quickest on the two-core virtual machine where the bounds were set."""
_WORD = re.compile(r"[a-z]+|\d+")
_TEXT = " ".join(f"word{number % 97} and {number * 7919 % 1009}" for number in range(600))


def _piece() -> int:
    counted: Counter[str] = Counter()
    for place, word in enumerate(_WORD.findall(_TEXT)):
        counted[word[: 1 + place % 5].casefold()] += len(word)
    ranked = sorted(counted.items(), key=lambda one: (-one[1], one[0]))
    total = 0
    for number in range(12_000):
        total = (total * 31 + number) % 1_000_003
    return total + len(ranked)


def slowness() -> float:
    """How many times slower this machine is now than where the bounds were set; at least 1."""
    best = 9.0
    for _ in range(9):
        began = time.thread_time()
        _piece()
        best = min(best, time.thread_time() - began)
    return max(1.0, best / _SET_AT)


def allowed(seconds: float) -> float:
    """A bound of CPU seconds, as long as it is on this machine now: ``assert took < allowed(2)``."""
    return seconds * slowness()
