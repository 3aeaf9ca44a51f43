"""What the operating system's refusals are called here: no space, no permission, or a disk that fails."""

from __future__ import annotations

import errno

from truekeep.errors import StoreError, StoreFull, StoreIOError, StoreReadOnly

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


def failure(number: int | None, message: str, otherwise: type[StoreError] = StoreIOError) -> StoreError:
    """The error for an ``errno``; the hint of each kind sends people to another place, so they are kept apart."""
    if number in _FULL:
        return StoreFull(message)
    if number in _FORBIDDEN:
        return StoreReadOnly(message)
    return StoreIOError(message) if number == errno.EIO else otherwise(message)
