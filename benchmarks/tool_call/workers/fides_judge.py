"""Microsoft's FIDES in the Agent Framework: labels are tracked, and a policy asks where the context is untrusted.

Tools are declared as for everybody: what only the owner writes is trusted, reading tools accept an untrusted context.
What it blocks is asked. The hiding of untrusted results behind variables is off: it needs a model that works with what
it cannot see, and the script of these sessions is none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from agent_framework import FunctionInvocationContext, FunctionTool
from agent_framework.security import (
    LabelTrackingFunctionMiddleware,
    PolicyEnforcementFunctionMiddleware,
)
from judging_loop import serve  # type: ignore[import-not-found]


class Fides:
    """Both middlewares around tools that do nothing: labels depend on declarations, not on what comes back."""

    def begin(self, _said: str, tools: Sequence[Mapping[str, Any]]) -> None:
        reading = {tool["name"] for tool in tools if tool["reads"]}
        self._labels = LabelTrackingFunctionMiddleware(auto_hide_untrusted=False)
        self._policy = PolicyEnforcementFunctionMiddleware(allow_untrusted_tools=reading)
        self._tools = {tool["name"]: _tool(tool) for tool in tools}

    def judged(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, str]:
        return ("allow", "") if self._run(name, arguments, policed=True) else ("confirm", "untrusted_context")

    def confirmed(self, name: str, arguments: Mapping[str, Any]) -> None:
        self._run(name, arguments, policed=False)

    def seen(self, _name: str, _text: str) -> bool:
        return True

    def _run(self, name: str, arguments: Mapping[str, Any], *, policed: bool) -> bool:
        """Whether the call got through to the tool."""
        context = FunctionInvocationContext(self._tools[name], dict(arguments))
        got_through = False

        async def tool() -> None:
            nonlocal got_through
            got_through = True
            context.result = "done"

        async def policy() -> None:
            await self._policy.process(context, tool)

        async def whole() -> None:
            await self._labels.process(context, policy if policed else tool)

        try:
            asyncio.run(whole())
        except Exception:
            if got_through:
                raise
        return got_through


def _tool(declared: Mapping[str, Any]) -> Any:
    # What an own system says about a change is its own word; what a page gives back is not, whatever the visit is.
    is_trusted = "*" in declared["owner_writes"] or (declared["own"] and not declared["reads"])
    source = "trusted" if is_trusted else "untrusted"

    def run(**_given: Any) -> str:
        return "done"

    return FunctionTool(
        name=declared["name"], description="", func=run, additional_properties={"source_integrity": source}
    )


serve(Fides())
