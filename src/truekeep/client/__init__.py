"""A keep behind the service, with the methods of ``Keep``: ``connect(address, token)`` for ``Keep.open(name)``."""

from __future__ import annotations

from truekeep.client.asynchronous import AsyncKeep, connect_async
from truekeep.client.synchronous import ServedHandle, ServedKeep, ServedSession, connect

__all__ = ["AsyncKeep", "ServedHandle", "ServedKeep", "ServedSession", "connect", "connect_async"]
