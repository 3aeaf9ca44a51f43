"""Acting: tool calls judged, tickets used, confirmed and declined, and runs credited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from truekeep.boundary import ActionAnswer
from truekeep.client import rebuild
from truekeep.client.asking import Asking
from truekeep.client.exchange import Steps
from truekeep.client.line import new_key
from truekeep.errors import InvalidRequest
from truekeep.origin import session_name


class Acting(Asking):
    """The act boundary."""

    def check_action(
        self, session: str, name: str, arguments: Mapping[str, Any], *, run: str | None = None
    ) -> Steps[ActionAnswer]:
        """May the agent make this call? Allow, confirm or deny, by where each value in it came from."""
        body = {"session": session_name(session), "name": name, "arguments": dict(arguments), "run": run}
        caller = yield from self._reader()
        reply = yield from self.line.ask(caller, "POST", "check-action", body=body, key=new_key())
        return rebuild.action_answer(reply.members, self.redeem_now)

    def redeem(self, ticket: object, name: str, arguments: Mapping[str, Any]) -> Steps[None]:
        """Use a ticket up for just this call; what the owner has to confirm is refused until then."""
        body = {"name": name, "arguments": dict(arguments)}
        caller = yield from self._reader()
        yield from self.line.ask(caller, "POST", "tickets", str(ticket), "redeem", body=body, key=new_key())

    def confirm(self, ticket: object, *, via: str | None = None) -> Steps[None]:
        """The owner confirms a call that waits, over a channel that may."""
        caller = yield from self.line.writer(via or self.over)
        yield from self.line.ask(caller, "POST", "tickets", str(ticket), "confirm", key=new_key())

    def decline(self, ticket: object, *, via: str | None = None) -> Steps[None]:
        """The owner turns a call down."""
        caller = yield from self.line.writer(via or self.over)
        yield from self.line.ask(caller, "POST", "tickets", str(ticket), "decline", key=new_key())

    def credit(self, run: str, outcome: str, *, via: str | None = None) -> Steps[dict[str, Any]]:
        """Say how a run ended. It counts for the memories whose values are in the run's redeemed tickets."""
        if outcome not in ("good", "bad"):
            raise InvalidRequest("An outcome is good or bad.", code="unknown_outcome")
        caller = yield from self.line.writer(via or self.over, "credit")
        body = {"run": run, "outcome": outcome}
        reply = yield from self.line.ask(caller, "POST", "credit", body=body, key=new_key())
        return dict(reply.members)
