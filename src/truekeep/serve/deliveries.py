"""Deliveries: the rounds in which webhooks are told what happened in the keeps, in a thread that nobody waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truekeep.keep import now
from truekeep.serve.logs import WARNING, log_event
from truekeep.serve.rounds import Rounds
from truekeep.serve.shelf import shelf_of
from truekeep.signals.courier import Courier
from truekeep.signals.places import WebhookPlaces
from truekeep.signals.webhooks import webhooks_of

if TYPE_CHECKING:
    from truekeep.serve.metrics import Metrics
    from truekeep.serve.pool import Pool
    from truekeep.stores.postgres_service import SharedState

_TOLD = "truekeep_webhook_messages_total"


class Deliveries(Rounds):
    """The rounds. A receiver that is slow holds up other receivers, and no request and no chore."""

    name = "webhooks"

    def __init__(self, pool: Pool, every: float, metrics: Metrics, *, shared: SharedState | None = None) -> None:
        super().__init__(pool, every, shared=shared)
        hooks = webhooks_of(pool.settings.webhooks)
        self._metrics = metrics
        self._courier = Courier(hooks, WebhookPlaces(shared or shelf_of(pool.paths, pool.settings), now), now)
        metrics.describe(_TOLD, "Messages to webhooks, by webhook and by whether they were taken.")
        self._is_needed = bool(hooks)

    def start(self) -> None:
        """Begin, if there is a webhook."""
        if self._is_needed:
            super().start()

    def look_at(self, name: str) -> None:
        """Tell what is due of one keep."""
        for done in self._courier.look(name, lambda: self._pool.borrow(name)):
            self._metrics.count(_TOLD, webhook=done.hook, taken=str(not done.error).lower())
            if done.is_given_up:
                log_event("webhook.given_up", WARNING, webhook=done.hook, error=done.error)
            elif done.error:
                log_event("webhook.failed", WARNING, webhook=done.hook, error=done.error)
