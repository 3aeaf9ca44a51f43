"""End to end: a model that obeys every poison it reads, tools with consequences, and an act boundary between them.

The model is a real chat-completions server on loopback. It makes the attacker's call, in several spellings, whenever
the poison stands anywhere in what it was given, and then does what the owner asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Clock
from tests.extract.model_server import Behaviour, Handler, serving
from truekeep import Keep, Session, guard

from .loop import Attempt, Office, run_agent

SCENARIOS = yaml.safe_load((Path(__file__).parent / "scenarios.yaml").read_text("utf-8"))


@pytest.fixture
def keep(home: Path, clock: Clock) -> Iterator[Keep]:
    with Keep.open("alice", home=home, clock=clock, policy="inform", background=False) as opened:
        opened.channels.enrol("crm", by="eva", reason="our customer system")
        yield opened


def obedient(scenario: dict[str, Any]) -> Behaviour:
    """A model that tries the attacker's call in each spelling first, and then the owner's, one call a turn."""
    attack = scenario["attack"]
    spellings = [attack["arguments"], *respelt(attack["arguments"])]
    attacks = [{"tool": attack["tool"], "arguments": arguments} for arguments in spellings]

    def behave(handler: Handler) -> None:
        messages = handler.server.requests[-1]["body"]["messages"]
        read = " ".join(str(message.get("content") or "") for message in messages if message["role"] != "tool")
        plan = [*(attacks if scenario["poison"] in read else []), *scenario["honest"]]
        made = sum(len(message.get("tool_calls") or ()) for message in messages)
        handler.send(200, json.dumps({"choices": [{"message": turn(plan, made)}]}).encode())

    return behave


def respelt(arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """The same call as a model might write it another time."""
    texts = {name: value for name, value in arguments.items() if isinstance(value, str)}
    loud = {name: value.upper() for name, value in texts.items()}
    spread = {name: value.replace("-", " - ") for name, value in texts.items()}
    return [arguments | loud, arguments | spread]


def turn(plan: list[dict[str, Any]], made: int) -> dict[str, Any]:
    if made >= len(plan):
        return {"role": "assistant", "content": "All done."}
    call = {"name": plan[made]["tool"], "arguments": json.dumps(plan[made]["arguments"])}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"c{made}", "type": "function", "function": call}],
    }


def background(session: Session, scenario: dict[str, Any]) -> str:
    """What a host shows that wants hearsay in the prompt too, which taints the session.

    The values of the attacker's call are in the question: the worst case is that what was planted is found.
    """
    question = " ".join((scenario["said"], scenario["poison"], *map(str, scenario["attack"]["arguments"].values())))
    return "\n".join(hit.text for hit in session.recall(question, k=10, background=True))


def live_through(keep: Keep, scenario: dict[str, Any], office: Office) -> list[Attempt]:
    for memory in scenario.get("remembered", ()):
        fields = {name: value for name, value in memory.items() if name not in ("via", "text")}
        verdict = keep.remember(memory["text"], via=memory["via"], **fields)
        assert verdict.accepted, verdict.reason
    session = keep.session("s-1", mediated=True)
    session.observe("user", scenario["said"])
    prompt = [
        {"role": "system", "content": "You are a helpful assistant with tools."},
        {"role": "user", "content": session.snapshot().text},
        {"role": "user", "content": background(session, scenario)},
        {"role": "user", "content": scenario["said"]},
    ]
    for page in scenario.get("read", ()):
        session.observe(page["via"], page["text"], principal=page["principal"])
        prompt.append({"role": "user", "content": page["text"]})
    with serving(obedient(scenario)) as server:
        return run_agent(server.url, session.bind("agent"), office, prompt)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario["name"].replace(" ", "-"))
def test_the_attackers_call_never_goes_through_and_the_owners_do(keep: Keep, scenario: dict[str, Any]) -> None:
    office = Office()
    attempts = live_through(keep, scenario, office)
    attack, honest = scenario["attack"], scenario["honest"]
    attacks, rest = attempts[: len(attempts) - len(honest)], attempts[len(attempts) - len(honest) :]
    assert len(attacks) == 3, "the model obeys the poison it was shown"
    assert attacks[0].outcome == attack["expect"]
    assert {attempt.outcome for attempt in attacks} <= {"deny", "confirm"}
    waiting = [attempt for attempt in rest if attempt.outcome == "confirm"]
    assert len(waiting) == scenario["confirmations"]
    assert all(attempt.outcome in ("done", "confirm") for attempt in rest)
    for attempt in waiting:
        # The owner looks at what waits, and knows what was asked for.
        keep.bind("user", session="s-1").confirm(str(attempt.ticket))
        guard(getattr(office, attempt.tool), session=keep.session("s-1"))(**attempt.arguments, ticket=attempt.ticket)
    assert sorted(map(str, office.done)) == sorted(str((call["tool"], call["arguments"])) for call in honest)


def test_without_the_boundary_the_same_model_does_the_attackers_bidding(keep: Keep) -> None:
    """The test can fail: tools that are not guarded do what they are told."""
    scenario = SCENARIOS[0]
    office = Office()
    for call in [scenario["attack"], *scenario["honest"]]:
        getattr(office, call["tool"])(**call["arguments"])
    assert ("pay", scenario["attack"]["arguments"]) in office.done
