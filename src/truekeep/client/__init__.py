"""The client: a keep that another process serves, with the methods of an embedded ``Keep``, blocking and async.

>>> from truekeep.client import Keep
>>> keep = Keep("https://memory.example", token=token)   # doctest: +SKIP

Code moves between the two by changing that line. It needs the extra ``client``.
"""

from collections.abc import Iterable
from typing import Any

from truekeep.client.aio import AsyncHandle, AsyncKeep, AsyncSession
from truekeep.client.blocking import ServedHandle as Handle
from truekeep.client.blocking import ServedKeep as Keep
from truekeep.client.blocking import ServedSession as Session

__all__ = ["AsyncHandle", "AsyncKeep", "AsyncSession", "Handle", "Keep", "Session", "connect", "connect_async"]


def connect(address: str, token: str | Iterable[str], **options: Any) -> Keep:
    """``Keep`` as a function, for code that passes the token by place."""
    return Keep(address, token=token, **options)


def connect_async(address: str, token: str | Iterable[str], **options: Any) -> AsyncKeep:
    """``AsyncKeep`` as a function."""
    return AsyncKeep(address, token=token, **options)
