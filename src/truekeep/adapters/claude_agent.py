"""Claude Agent SDK: ``options = protect(options, keep)``, or ``ClaudeAgentOptions(hooks=truekeep_hooks(keep))``.

Both put truekeep into the SDK's hooks, with ``on_failure="block"``: a hook that fails stops what it is about.
``protect`` sees the whole options, so it knows which MCP servers stand in the program itself, whether files are loaded
and whether a session is resumed; ``truekeep_hooks`` alone does not, and takes the definitions of tools for foreign
unless ``servers`` says which ones are the program's. A call that the owner has to confirm goes to ``can_use_tool``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from truekeep.adapters.claude_events import ClaudeEvents
from truekeep.adapters.claude_files import events
from truekeep.adapters.mediator import Mediator
from truekeep.errors import MissingExtra

try:
    from claude_agent_sdk import ClaudeAgentOptions, HookMatcher
except ImportError:
    raise MissingExtra("claude-agent") from None

if TYPE_CHECKING:
    from truekeep.keep import Keep
    from truekeep.trust.flow.tools import Tool

_SECONDS = 60.0


def truekeep_hooks(
    keep: Keep,
    *,
    servers: Iterable[str] | None = None,
    foreign: Iterable[str] = (),
    tools: Iterable[Tool] = (),
    pins: Iterable[str] = (),
    files: bool = True,
    resumes: bool = False,
    learn: bool = True,
) -> dict[Any, list[HookMatcher]]:
    """The hooks that mediate each session of the SDK's.

    ``servers`` names the MCP servers whose tools stand in this program, and ``foreign`` the other ones. ``pins`` are
    hashes of files (``CLAUDE.md``, skills) that the operator has read; ``files=False`` says that none are loaded.
    """
    described = ("servers that nobody named",) if servers is None else tuple(foreign)
    answering = ClaudeEvents(
        Mediator(keep, tools=tools, learn=learn),
        pins=frozenset(pins),
        servers=frozenset(servers or ()),
        foreign=described,
        files=files,
        resumes=resumes,
    )

    async def answer(event: Any, tool_use_id: str | None, context: Any) -> Any:  # noqa: ARG001 - the SDK's signature
        return await asyncio.to_thread(answering.answer, event)

    return {name: [HookMatcher(hooks=[answer], timeout=_SECONDS, on_failure="block")] for name in events()}


def protect(
    options: ClaudeAgentOptions,
    keep: Keep,
    *,
    tools: Iterable[Tool] = (),
    pins: Iterable[str] = (),
    learn: bool = True,
) -> ClaudeAgentOptions:
    """The options with truekeep's hooks before the ones that are there. The given options are left as they are."""
    given = options.mcp_servers if isinstance(options.mcp_servers, Mapping) else {"a configuration file": {}}
    own = {name for name, server in given.items() if isinstance(server, Mapping) and server.get("type") == "sdk"}
    hooks = truekeep_hooks(
        keep,
        servers=own,
        foreign=sorted(set(given) - own),
        tools=tools,
        pins=pins,
        files=options.setting_sources is None or bool(options.setting_sources),
        resumes=bool(options.resume or options.continue_conversation),
        learn=learn,
    )
    for event, matchers in (options.hooks or {}).items():
        hooks[event] = [*hooks.get(event, []), *matchers]
    return replace(options, hooks=hooks)
