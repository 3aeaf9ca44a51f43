"""Asking: what every call has in common, which is the line and whose token goes out with it."""

from __future__ import annotations

from truekeep.client.exchange import Steps
from truekeep.client.line import Caller, Line
from truekeep.client.rebuild import Redeem
from truekeep.errors import NotAllowed

NOT_GIVEN = "not given"
"""Why something was taken back, where the caller does not say."""


class Asking:
    """Asks the service over a line."""

    def __init__(self, line: Line, redeem: Redeem, over: str | None = None) -> None:
        self.line = line
        self.redeem_now = redeem
        self.over = over
        """The one channel whose token may be used; any, if it is nothing."""

    def _reader(self) -> Steps[Caller]:
        return (yield from self.line.caller("read", self.over, of_channel="read"))

    def _administrator(self, by: str | None = None) -> Steps[Caller]:
        caller = yield from self.line.caller("admin", self.over)
        require_signer(caller.signs_as, by)
        return caller


def require_signer(signs_as: str, by: str | None) -> None:
    """Over a service whoever holds the token signs; a name that is passed can only be theirs."""
    if by is not None and by != signs_as:
        raise NotAllowed(
            "Decisions over this token are signed with its holder's name.",
            code="signer_fixed",
            hint="Leave by= out, or make a token with 'truekeep tokens add --subject NAME'.",
        )
