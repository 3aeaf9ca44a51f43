"""Permits: the boundary's answers to the calls of one conversation, each with its ticket used up before it is given."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from truekeep.adapters.calls import DECLINED, DENIED, FAILED, WAITS, AgentCall, CallPermit
from truekeep.adapters.reports import SessionReports, code_of, log
from truekeep.trust.flow.decide import Answer

if TYPE_CHECKING:
    from truekeep.keep import Keep

_MOST_HELD = 256
"""Answers that wait for their call. An agent that asks for more at once has the oldest judged again."""


class CallPermits:
    """Judges calls. Whatever goes wrong denies the call, and is told to the model and the log."""

    def __init__(self, keep: Keep, session: str, owner: str, reports: SessionReports) -> None:
        self._keep = keep
        self._session = session
        self._owner = owner
        self._reports = reports
        self._held: OrderedDict[str, tuple[str, CallPermit]] = OrderedDict()

    def turn(self, calls: Sequence[AgentCall]) -> None:
        """Judge the calls of one turn before any of them runs: none was made knowing what another one reads."""
        for call, permit in zip(calls, self._answers(calls), strict=True):
            self.hold(call, permit)

    def judge(self, call: AgentCall) -> CallPermit:
        """May this call be made now? The answer holds once; a call that waits is answered so until it is decided."""
        mark, permit = self._held.get(call.id, ("", None))
        if permit is None or mark != call.mark:
            permit = self._answers([call])[0]
            self.hold(call, permit)
        if not permit.waits:
            del self._held[call.id]
        return permit

    def _answers(self, calls: Sequence[AgentCall]) -> list[CallPermit]:
        """The answers to calls. Nothing of them is done before it is anchored, and one write of the anchor does."""
        try:
            with self._keep.actions.together():
                return self._judged(calls)
        except Exception as error:
            return [_failed(call, error) for call in calls]

    def _judged(self, calls: Sequence[AgentCall]) -> list[CallPermit]:
        checked = [(call, self._checked(call)) for call in calls]
        reading = [place for place, (_, one) in enumerate(checked) if one.is_allowed and not one.has_effects]
        answers = [
            one if place in reading else self._redeemed([(call, one)])[0] for place, (call, one) in enumerate(checked)
        ]
        for place, permit in zip(reading, self._redeemed([checked[one] for one in reading]), strict=True):
            answers[place] = permit
        return answers

    def is_held(self, call: AgentCall) -> bool:
        """Whether the answer to just this call waits for it."""
        return self._held.get(call.id, ("", None))[0] == call.mark

    def decided(self, call: AgentCall, *, yes: bool) -> CallPermit:
        """The owner has answered through the framework's own approval: carry the call out, or do not."""
        mark, permit = self._held.get(call.id, ("", None))
        if permit is None or mark != call.mark:
            return self.judge(call)  # the owner was asked about another call, if about any
        del self._held[call.id]
        try:
            if not yes:
                self._keep.actions.decline(permit.ticket, via=self._owner)
                return CallPermit(Answer.DENY, message=DECLINED.format(name=call.shown_name))
            if any(one.id == permit.ticket for one in self._keep.actions.pending(self._session)):
                self._keep.actions.confirm(permit.ticket, via=self._owner)
        except Exception as error:
            return _failed(call, error)
        return self._redeemed([(call, replace(permit, decision=Answer.ALLOW))])[0]

    def _checked(self, call: AgentCall) -> CallPermit:
        """The boundary's answer to a call; an error denies it."""
        try:
            arguments = call.plain()
            self._reports.require_written()
            answer = self._keep.check_action(self._session, call.name, arguments)
            why, ticket = " ".join(answer.reasons), str(answer.ticket or "")
            if answer.decision is Answer.ALLOW and ticket:
                return CallPermit(Answer.ALLOW, arguments, ticket=ticket, has_effects=answer.has_effects)
            if answer.decision is Answer.CONFIRM and ticket:
                message = WAITS.format(name=call.name, ticket=ticket, why=why)
                return CallPermit(Answer.CONFIRM, arguments, message, ticket, self._keep.actions.question(ticket))
        except Exception as error:
            return _failed(call, error)
        return CallPermit(Answer.DENY, message=DENIED.format(name=call.name, why=why))

    def _redeemed(self, permits: Sequence[tuple[AgentCall, CallPermit]]) -> list[CallPermit]:
        """The same answers, those that are allowed with their tickets used up; one that is refused then is denied."""
        due = [(call, one) for call, one in permits if one.is_allowed]
        if not due:
            return [permit for _, permit in permits]
        try:
            calls = [(one.ticket, call.name, one.arguments) for call, one in due]
            refused = self._keep.actions.redeem_together(calls, self._session)
        except Exception as error:
            return [_failed(call, error) for call, _ in permits]
        errors = {one.ticket: error for (_, one), error in zip(due, refused, strict=True) if error is not None}
        return [_failed(call, errors[one.ticket]) if one.ticket in errors else one for call, one in permits]

    def hold(self, call: AgentCall, permit: CallPermit) -> None:
        """Keep an answer until its call is made."""
        self._held[call.id] = (call.mark, permit)
        while len(self._held) > _MOST_HELD:
            self._held.popitem(last=False)


def _failed(call: AgentCall, error: Exception) -> CallPermit:
    log("a call was denied", error)
    return CallPermit(Answer.DENY, message=FAILED.format(name=call.shown_name, code=code_of(error)))
