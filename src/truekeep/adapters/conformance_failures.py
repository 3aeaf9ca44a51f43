"""The scenarios of the suite in which something fails: the guard, a report, the store, a tool, a model's arguments."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest

from truekeep.adapters.scenarios import (
    OWNER,
    PAGE,
    PAY,
    QUESTION,
    READS,
    STEALS,
    AdapterUnderTest,
    Toolbox,
    judged,
    logged,
    need,
    pays,
    seen,
    turn,
)
from truekeep.adapters.scripted import ModelScript, ModelTurn, ScriptedCall, ScriptedFailure
from truekeep.keep import Keep


def fails(*args: Any, **options: Any) -> NoReturn:
    """What nobody expected, with the words of the conversation in it."""
    raise RuntimeError(f"Northwind 1180-22 {args} {options}")


class FailureScenarios(AdapterUnderTest):
    """One test for each thing that can fail: it denies, the model and the log are told, the conversation goes on."""

    def test_an_error_in_the_guard_denies_that_call_and_the_conversation_goes_on(
        self,
        keep: Keep,
        box: Toolbox,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        """Also one that nobody thought of. Neither the model nor the log is told its words."""
        script = ModelScript([turn(pays()), ModelTurn("I could not."), turn(pays()), ModelTurn("Paid.")])
        agent = self.build(keep, script, box.all, place=tmp_path)
        with monkeypatch.context() as broken, caplog.at_level(logging.DEBUG, logger="truekeep"):
            broken.setattr(keep, "check_action", fails)
            assert agent.run("a", OWNER).text == "I could not."
        assert box.pay.calls == []
        told = [one.text for one in script.shown[-1] if one.role == "tool"][-1]
        assert "'pay' could not be judged (RuntimeError), so it was not carried out" in told
        assert "RuntimeError" in logged(caplog)
        assert all(word not in told + logged(caplog) for word in ("Northwind", "1180"))
        assert agent.run("a", OWNER).text == "Paid."
        assert box.pay.calls == [PAY]

    def test_a_result_that_cannot_be_reported_denies_what_follows_and_is_reported_later(
        self, keep: Keep, box: Toolbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nothing is judged in a cleaner session than the real one."""
        turns = (turn(READS), turn(pays()), ModelTurn("I could not."), ModelTurn("You are welcome."))
        agent = self.agent(keep, box, tmp_path, *turns)
        with monkeypatch.context() as broken:
            broken.setattr(keep, "observe_result", fails)
            assert agent.run("a", OWNER).text == "I could not."
        assert box.pay.calls == []
        assert agent.run("a", "Thanks.").text == "You are welcome."
        assert ("tool", PAGE) in seen(keep, agent.session("a"))
        assert not keep.is_clean(agent.session("a"))

    def test_a_store_that_cannot_be_reached_denies_and_the_conversation_goes_on(
        self, keep: Keep, box: Toolbox, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The model and the log are told."""
        agent = self.agent(keep, box, tmp_path, turn(pays()), ModelTurn("I could not."))
        keep.close()
        with caplog.at_level(logging.WARNING, logger="truekeep"):
            assert agent.run("a", OWNER).text == "I could not."
        assert box.pay.calls == []
        assert caplog.records

    def test_arguments_that_are_no_json_are_denied(self, keep: Keep, box: Toolbox, tmp_path: Path) -> None:
        """Whatever the framework would make of them."""
        need(self.passes_broken_arguments, "this framework refuses them before anybody sees them")
        broken = ScriptedCall("pay", '{"payee": "Northwind", ')
        agent = self.agent(keep, box, tmp_path, turn(broken), ModelTurn("I could not."))
        assert agent.run("a", OWNER).text == "I could not."
        assert box.pay.calls == []

    def test_a_tool_that_fails_is_seen_and_a_retry_is_judged_again(
        self, keep: Keep, box: Toolbox, tmp_path: Path
    ) -> None:
        """What it says of its failure is a result like any other, and somebody else may have written it."""
        need(self.survives_failing_tools, "this framework ends the run when a tool fails")

        def page(_: Mapping[str, Any]) -> str:
            raise ScriptedFailure(f"503: {PAGE}")

        box.page.result = page
        agent = self.agent(keep, box, tmp_path, turn(READS), turn(READS), ModelTurn("Tried."))
        assert agent.run("a", QUESTION).waits
        assert len(box.page.calls) == 1
        assert not keep.is_clean(agent.session("a"))
        assert judged(keep, agent.session("a")) == [("read_page", "allow"), ("read_page", "confirm")]

    def test_nothing_private_reaches_the_logs_when_the_guard_fails(
        self, keep: Keep, box: Toolbox, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """That is when most is logged."""
        agent = self.agent(keep, box, tmp_path, turn(pays()), turn(STEALS), ModelTurn("I could not."))
        keep.close()
        with caplog.at_level(logging.DEBUG, logger="truekeep"):
            agent.run("a", OWNER)
        assert (box.pay.calls, box.forward.calls) == ([], [])
        assert logged(caplog)
        assert all(word not in logged(caplog) for word in ("Northwind", "1180", "evil.example", "all mails"))
