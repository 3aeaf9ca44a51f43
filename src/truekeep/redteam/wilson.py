"""The 95 % interval of a share; it is honest about small groups and about 0 and 100 %."""

from __future__ import annotations

import math

_Z = 1.96


def wilson(hits: int, total: int) -> tuple[float, float]:
    """Between which shares the true one lies (Wilson); nothing is known of an empty group."""
    if not total:
        return 0.0, 1.0
    share = hits / total
    middle = (share + _Z * _Z / (2 * total)) / (1 + _Z * _Z / total)
    half = _Z * math.sqrt(share * (1 - share) / total + _Z * _Z / (4 * total * total)) / (1 + _Z * _Z / total)
    return max(0.0, middle - half), min(1.0, middle + half)
