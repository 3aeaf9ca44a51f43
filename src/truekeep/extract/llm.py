"""Asks any OpenAI-compatible endpoint, and trusts it with nothing: time, size, form and figures are all bounded."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truekeep.extract import events
from truekeep.extract.exchange import ChatMessages, ask
from truekeep.extract.failure import ModelError
from truekeep.extract.usage import Meter, Usage, estimated_tokens, reported

if TYPE_CHECKING:
    from truekeep.extract.endpoint import ModelSettings

_LONGEST_WAIT = 30.0  # seconds; an endpoint that asks for more is tried again by the queue


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model said, and what it took."""

    text: str
    usage: Usage


class ChatModel:
    """A client for one model. Every attempt has a hard deadline; what fails is tried again a few times."""

    def __init__(
        self,
        settings: ModelSettings,
        meter: Meter | None = None,
        *,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.settings = settings
        self.meter = meter or Meter()
        self._jitter = jitter

    @property
    def name(self) -> str:
        """The model's name."""
        return self.settings.model

    def complete(self, messages: ChatMessages, schema: Mapping[str, Any], check: Callable[[str], Any]) -> Reply:
        """The model's reply, once ``check`` accepts it. Works with or without a running event loop."""
        outcome: list[Reply | BaseException] = []

        def run() -> None:
            try:
                outcome.append(asyncio.run(self.acomplete(messages, schema, check)))
            except BaseException as error:  # handed to the caller's thread, which raises it
                outcome.append(error)

        thread = threading.Thread(target=run, name="truekeep-extract-model", daemon=True)
        thread.start()
        thread.join()
        (result,) = outcome
        if isinstance(result, BaseException):
            raise result
        return result

    async def acomplete(self, messages: ChatMessages, schema: Mapping[str, Any], check: Callable[[str], Any]) -> Reply:
        """The same for asynchronous callers."""
        used = Usage()
        with_schema = True
        for attempt in range(1, self.settings.attempts + 1):
            try:
                reply = await self._attempt(messages, schema if with_schema else None)
                used += reply.usage
                check(reply.text)
                return Reply(reply.text, used)
            except ModelError as error:
                events.emit(events.MODEL_FAILED, code=error.code, attempt=attempt)
                # Some endpoints know no schemas; what they return is checked all the same.
                with_schema = with_schema and error.code != "model_refused_request"
                if not error.may_retry or attempt == self.settings.attempts:
                    raise
                await asyncio.sleep(self._pause(attempt, error.wait))
        raise ModelError("The model was never asked.")

    def _pause(self, attempt: int, asked: float | None) -> float:
        own: float = self.settings.backoff * 2 ** (attempt - 1) * (0.5 + self._jitter())
        return min(max(own, asked or 0.0), _LONGEST_WAIT if self.settings.backoff else 0.0)

    async def _attempt(self, messages: ChatMessages, schema: Mapping[str, Any] | None) -> Reply:
        asked = "".join(message["content"] for message in messages)
        self.meter.require(estimated_tokens(asked) + self.settings.max_output_tokens)
        try:
            async with asyncio.timeout(self.settings.timeout):
                text, figures = await ask(self.settings, messages, schema)
        except TimeoutError:
            raise ModelError("The model did not answer in time.", code="model_timeout", may_retry=True) from None
        usage = reported(figures, asked, text, self.settings.prices)
        self.meter.add(usage)
        return Reply(text, usage)
