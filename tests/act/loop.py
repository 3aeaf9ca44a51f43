"""A small agent loop: a prompt with the snapshot, a model behind HTTP, and tools behind the act boundary."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import httpx

from truekeep import ActionRefused, ConfirmationNeeded, Handle, guard

_MOST_TURNS = 12


@dataclass
class Office:
    """Tools with consequences, and what they really did."""

    done: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def pay(self, payee: str, amount: float, account: str) -> str:
        """Pay somebody."""
        return self._do("pay", payee=payee, amount=amount, account=account)

    def refund(self, customer: str, amount: float, verify: bool | None = None) -> str:
        """Give money back."""
        extra = {} if verify is None else {"verify": verify}
        return self._do("refund", customer=customer, amount=amount, **extra)

    def send(self, to: str, body: str) -> str:
        """Send a message."""
        return self._do("send", to=to, body=body)

    def delete(self, folder: str) -> str:
        """Delete a folder."""
        return self._do("delete", folder=folder)

    def _do(self, tool: str, **arguments: Any) -> str:
        self.done.append((tool, arguments))
        return "done"


@dataclass(frozen=True)
class Attempt:
    """One tool call that the model made, and what became of it."""

    tool: str
    arguments: dict[str, Any]
    outcome: str
    ticket: str | None = None


def run_agent(url: str, agent: Handle, office: Office, prompt: list[dict[str, str]]) -> list[Attempt]:
    """Let the model talk and call tools until it has no more to do."""
    tools = {name: guard(getattr(office, name), session=agent) for name in ("pay", "refund", "send", "delete")}
    messages: list[dict[str, Any]] = list(prompt)
    attempts: list[Attempt] = []
    for _ in range(_MOST_TURNS):
        reply = httpx.post(f"{url}/chat/completions", json={"model": "obedient", "messages": messages}, timeout=60)
        message = reply.raise_for_status().json()["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            return attempts
        for call in message["tool_calls"]:
            name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
            attempts.append(_try(tools[name], name, arguments))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": attempts[-1].outcome})
    raise AssertionError("the model never came to an end")


def _try(tool: Any, name: str, arguments: dict[str, Any]) -> Attempt:
    try:
        return Attempt(name, arguments, tool(**arguments))
    except ConfirmationNeeded as asked:
        return Attempt(name, arguments, "confirm", str(asked.answer.ticket))
    except ActionRefused:
        return Attempt(name, arguments, "deny")
