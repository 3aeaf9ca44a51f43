"""One request to a chat-completions endpoint, bounded in size; the caller bounds its time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from truekeep.errors import how_to_install
from truekeep.extract.failure import ModelError

if TYPE_CHECKING:
    import ssl

    import httpx

    from truekeep.extract.endpoint import ModelSettings

_TRY_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504})

ChatMessages = Sequence[Mapping[str, str]]


async def ask(settings: ModelSettings, messages: ChatMessages, schema: Mapping[str, Any] | None) -> tuple[str, Any]:
    """The text of the model's answer, and the token figures the endpoint gives."""
    httpx = _httpx()
    headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
    if settings.key:
        headers["Authorization"] = f"Bearer {settings.key}"
    url = settings.base_url.rstrip("/") + "/chat/completions"
    body = _request(settings, messages, schema)
    try:
        async with (
            httpx.AsyncClient(verify=_trust(), timeout=settings.timeout, follow_redirects=False) as client,
            client.stream("POST", url, content=body, headers=headers) as response,
        ):
            _require_success(response)
            raw = await _limited(response, settings.max_reply_bytes)
    except httpx.HTTPError:
        raise ModelError("The model's endpoint cannot be reached.", code="model_unreachable", may_retry=True) from None
    return _content(raw)


@cache
def _trust() -> ssl.SSLContext:
    """The certificates to trust; loading them takes longer than most requests, so it is done once."""
    context: ssl.SSLContext = _httpx().create_ssl_context()
    return context


def _httpx() -> Any:
    try:
        import httpx  # noqa: PLC0415 - an extra
    except ImportError:
        raise ModelError(
            "Using a model needs the extra 'llm'.",
            code="model_extra_missing",
            hint=how_to_install("llm"),
        ) from None
    return httpx


def _request(settings: ModelSettings, messages: ChatMessages, schema: Mapping[str, Any] | None) -> bytes:
    body: dict[str, Any] = {
        "model": settings.model,
        "messages": [dict(message) for message in messages],
        "temperature": 0,
        "max_tokens": settings.max_output_tokens,
    }
    if schema is not None:
        named = {"name": "memories", "strict": True, "schema": dict(schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    return json.dumps(body, ensure_ascii=True).encode("ascii")


def _require_success(response: httpx.Response) -> None:
    status = response.status_code
    if status in _TRY_AGAIN:
        wait = _seconds(response.headers.get("retry-after", ""))
        raise ModelError("The model's endpoint is busy.", code="model_busy", may_retry=True, wait=wait)
    if status in (400, 422):
        raise ModelError("The endpoint refused the request.", code="model_refused_request", may_retry=True)
    if status in (401, 403):
        raise ModelError("The endpoint refused the key.", code="model_unauthorized")
    if status != 200:
        raise ModelError(f"The endpoint answered with status {status}.", code="model_status")
    # A compressed reply could unfold to any size, and none was asked for.
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ModelError("The endpoint sent a compressed reply.", code="model_wrong_form")


def _seconds(text: str) -> float | None:
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 6 else None


async def _limited(response: httpx.Response, most: int) -> bytes:
    received = bytearray()
    async for chunk in response.aiter_raw():
        received += chunk
        if len(received) > most:
            raise ModelError("The model's reply is too long.", code="model_reply_too_long")
    return bytes(received)


def _content(raw: bytes) -> tuple[str, Any]:
    """The reply's text and the endpoint's own token figures."""
    try:
        parsed = json.loads(raw)
        choice = parsed["choices"][0]
        text, reason, figures = choice["message"]["content"], choice.get("finish_reason"), parsed.get("usage")
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        raise ModelError("The endpoint's answer has the wrong form.", code="model_wrong_form", may_retry=True) from None
    if reason == "length":
        raise ModelError("The model's reply was cut off.", code="model_cut_off")
    if not isinstance(text, str) or not text.strip():
        raise ModelError("The model returned nothing.", code="model_empty", may_retry=True)
    return text, figures
