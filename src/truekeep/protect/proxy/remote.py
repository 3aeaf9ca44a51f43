"""A server by its address: what it sends is bounded before anybody parses it.

The protocol's library reads an answer whole, however long it is and whatever it unpacks to; an event of a stream it
bounds itself. So nothing packed is taken, and an answer that is no stream of events has an end.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2

from truekeep.protect.proxy.child import MOST_BYTES

_SECONDS = 30.0
_EVENTS = "text/event-stream"


def http_client(bearer: str) -> httpx2.AsyncClient:
    """A client that reads no answer longer than a message may be, and follows no server elsewhere."""
    headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {bearer}"} if bearer else {})
    # A proxy or a netrc of the environment must not be handed what the owner's agent says.
    return httpx2.AsyncClient(
        headers=headers,
        timeout=_SECONDS,
        trust_env=False,
        follow_redirects=False,
        event_hooks={"response": [_bound]},
    )


async def _bound(response: httpx2.Response) -> None:
    """Look at an answer's headers before its body is read."""
    is_packed = response.headers.get("content-encoding", "").strip().lower() not in ("", "identity")
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if isinstance(response.stream, httpx2.AsyncByteStream) and (is_packed or kind != _EVENTS):
        response.stream = _MeasuredAnswer(response.stream, 0 if is_packed else MOST_BYTES)


class _MeasuredAnswer(httpx2.AsyncByteStream):
    """An answer's bytes, up to so many. What is raised is what the protocol's library answers a request with."""

    def __init__(self, stream: httpx2.AsyncByteStream, most: int) -> None:
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            size += len(part)
            if size > self._most:
                raise httpx2.StreamError("The answer is too long, or packed.")
            yield part

    async def aclose(self) -> None:
        """Hang up."""
        await self._stream.aclose()
