"""The courier: follows the audit logs of keeps, and tells webhooks of what they want to know, at least once each.

It writes nothing to a keep and holds up no write: it reads what happened from the log, after the fact. What fails is
tried again with longer and longer pauses; what a receiver refuses for good, or does not take for a day, is given up and
counted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Protocol

from truekeep.audit.log import Audit
from truekeep.errors import StoreCorrupt, StoreTampered, TruekeepError
from truekeep.signals.places import WebhookPlace, WebhookPlaces
from truekeep.signals.post import post
from truekeep.signals.webhooks import TAMPERED, TEST, Webhook, WebhookMessage, headers_of, kinds_of, message_of
from truekeep.types import AuditEvent, utc_moment, utc_text

_PORTION = 500
"""Events read at a time, so that writers get in between."""
_MOST_PORTIONS = 20
"""Of one look; the next look goes on."""
_MOST_AT_ONCE = 20
"""Messages of one keep to one receiver, before others have their turn."""
_FAR = 1_000
"""Events without a message after which a place is moved on all the same, so that they are not read again."""
_CLAIM_SECONDS = 60.0
"""For how long nobody else sends; longer than the slowest receiver may take for one message."""
_MOST_TRIES, _MOST_REFUSALS = 36, 6
"""A receiver that fails is tried for a day. One that finds fault with the message itself is for a few minutes, because
others wait behind it."""
_REFUSED = frozenset({"status_400", "status_413", "status_415", "status_422"})
"""Answers that find fault with the message."""
_ANSWER_CAP = 4_096
"""Bytes of an answer that are read: only its status counts."""


class HasAudit(Protocol):
    """A keep, as far as a courier looks at it."""

    @property
    def audit(self) -> Audit:
        """Its log."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of a message."""

    hook: str
    topic: str
    error: str = ""
    is_given_up: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The delivery as JSON members."""
        return {"webhook": self.hook, "topic": self.topic, "taken": not self.error, "error": self.error}


class Courier:
    """Tells webhooks. Several processes may have one each: places are claimed."""

    def __init__(self, hooks: Sequence[Webhook], places: WebhookPlaces, clock: Callable[[], datetime]) -> None:
        self._hooks, self._places, self._clock = hooks, places, clock
        self._kinds = {hook.name: kinds_of(hook) for hook in hooks}
        self._silent: dict[str, datetime] = {}
        """Receivers that failed, and until when: they are not asked for each keep."""

    def look(self, keep: str, opened: Callable[[], AbstractContextManager[HasAudit]]) -> list[Delivery]:
        """Tell every receiver what is due of one keep; what became of it."""
        try:
            with opened() as one:
                wrong = _damage(one.audit)
                return [done for hook in self._hooks for done in self._tell(hook, keep, one.audit, wrong)]
        except (StoreTampered, StoreCorrupt) as error:  # nothing of such a keep is read; that it is so is told
            wrong = _digest(error.code, getattr(error, "where", ""))
            return [done for hook in self._hooks for done in self._tell(hook, keep, None, wrong)]

    def test(self, hook: Webhook) -> Delivery:
        """Send a message that says that it is a test. What happens from now on is told."""
        self._places.first_seen(hook.name)
        now = self._clock()
        message = WebhookMessage(f"test-{now.timestamp():.0f}", TEST, utc_text(now), {"hook": hook.name})
        return Delivery(hook.name, TEST, self._sent(hook, message))

    def _tell(self, hook: Webhook, keep: str, audit: Audit | None, wrong: str) -> Iterator[Delivery]:
        now = self._clock()
        seen = self._places.of(keep).get(hook.name)
        place = seen or WebhookPlace(self._places.first_seen(hook.name))
        if self._silent.get(hook.name, now) > now or not place.is_free(now):
            return
        place, due = self._due(hook, keep, audit, place)
        if wrong and wrong != place.tampered and TAMPERED in hook.settings.events:
            due = [_alarm(keep, wrong, place.after, now), *due]
        place = replace(place, tampered=place.tampered if wrong else "")
        if due:
            claimed = replace(place, not_before=_claim(now))
            if self._places.change(keep, hook.name, seen, claimed):
                yield from self._deliver(hook, keep, claimed, due)
        elif seen is None or place.after - seen.after >= _FAR or place.tampered != seen.tampered:
            self._places.change(keep, hook.name, seen, place)

    def _due(
        self, hook: Webhook, keep: str, audit: Audit | None, place: WebhookPlace
    ) -> tuple[WebhookPlace, list[WebhookMessage]]:
        """The messages that are due, and the place before them, or behind all that was read if there are none."""
        if audit is not None and place.after and not _stands(audit, place):
            place = replace(place, after=0, hash="")
        for _ in range(_MOST_PORTIONS if audit is not None else 0):
            events = audit.events(after=place.after, limit=_PORTION) if audit is not None else []
            due = [one for event in events if (one := self._message(event, hook, keep, place.since)) is not None]
            if due:
                return place, due[:_MOST_AT_ONCE]
            if events:
                place = _moved(place, events[-1].seq, events[-1].hash, utc_text(events[-1].at))
            if len(events) < _PORTION:
                break
        return place, []

    def _message(self, event: AuditEvent, hook: Webhook, keep: str, since: str) -> WebhookMessage | None:
        if event.kind not in self._kinds[hook.name] or event.at < utc_moment(since):
            return None
        return message_of(event, keep, tuple(hook.settings.events))

    def _deliver(
        self, hook: Webhook, keep: str, place: WebhookPlace, due: Sequence[WebhookMessage]
    ) -> Iterator[Delivery]:
        """Send in order, and write down after each message how far it went."""
        for message in due:
            error = self._sent(hook, message)
            before, now = place, self._clock()
            most = _MOST_REFUSALS if error in _REFUSED else _MOST_TRIES
            is_given_up = bool(error) and place.failures + 1 >= most
            if error and not is_given_up:
                place = place.failed(now, error)
                self._silent[hook.name] = utc_moment(place.not_before)
            else:
                place = replace(_behind(place, message).passed(error), not_before=_claim(now))
            is_ours = self._places.change(keep, hook.name, before, place)
            yield Delivery(hook.name, message.topic, error, is_given_up)
            if not is_ours or (error and not is_given_up):
                return
        self._places.change(keep, hook.name, place, replace(place, not_before=""))

    def _sent(self, hook: Webhook, message: WebhookMessage) -> str:
        """How sending failed; nothing if the receiver took it."""
        body = message.body(hook.settings.shape)
        headers = headers_of(message, body, hook.key, int(self._clock().timestamp()))
        try:
            answer = post(hook.url, body, headers, seconds=hook.settings.seconds, most=_ANSWER_CAP)
        except TruekeepError:
            return "unreachable"
        return "" if 200 <= answer.status < 300 else f"status_{answer.status}"


def _damage(audit: Audit) -> str:
    """A name for what is wrong with a keep; nothing if all that is known of is as it was written."""
    found = audit.state()
    return "" if found.ok else _digest("unverified_record", *found.problems)


def _digest(code: str, *details: str) -> str:
    return f"{code}:{hashlib.sha256(chr(31).join(details).encode()).hexdigest()[:12]}"


def _alarm(keep: str, wrong: str, after: int, now: datetime) -> WebhookMessage:
    at = utc_text(now)
    data = {"keep": keep, "kind": "store.tampered", "code": wrong.partition(":")[0]}
    # The place is part of the id: what is mended and goes wrong in the same way again is told again.
    return WebhookMessage(f"{keep}-tampered-{after}-{wrong.rpartition(':')[2]}", TAMPERED, at, data, damage=wrong)


def _claim(now: datetime) -> str:
    return utc_text(now + timedelta(seconds=_CLAIM_SECONDS))


def _behind(place: WebhookPlace, message: WebhookMessage) -> WebhookPlace:
    """The place once a message needs no more telling."""
    if message.topic == TAMPERED:
        return replace(place, tampered=message.damage)
    return _moved(place, message.seq, message.hash, message.at)


def _moved(place: WebhookPlace, seq: int, digest: str, at: str) -> WebhookPlace:
    return replace(place, after=seq, hash=digest, since=max(place.since, at))


def _stands(audit: Audit, place: WebhookPlace) -> bool:
    """Whether the log has the event that a place names: not after a restore, or where a keep was made anew."""
    found = audit.events(after=place.after - 1, limit=1)
    return bool(found) and found[0].hash == place.hash
