"""Who may do what in the service: the table in ``data/serve/capabilities.toml``, as something that can be enforced.

There is no way in that is not in the table: a route, tool or page without an entry cannot be set up at all.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from truekeep.errors import NotAllowed
from truekeep.trust.origin import require
from truekeep.types import Channel

_OPEN = "open"


@dataclass(frozen=True, slots=True)
class Permit:
    """What one way in takes."""

    choices: tuple[frozenset[str], ...]
    """Capabilities of the token; all of one choice are needed. No choice at all is for any token."""
    channel: tuple[str, ...] = ()
    """What the token's channel must allow in that keep as well; one of several is enough."""
    proposes: bool = False
    """Whether a channel that may not delete may propose a deletion, for which to write is enough."""
    makes: bool = False
    """Whether a keep that is not there yet is made."""
    is_open: bool = False
    """Whether it is for anybody, with a token or without."""

    def allows(self, capabilities: Set[str]) -> bool:
        """Whether a token that allows this much is enough."""
        return self.is_open or not self.choices or any(choice <= capabilities for choice in self.choices)

    def require(self, capabilities: Set[str], code: str = "token_not_allowed") -> None:
        """Refuse a token that does not allow enough."""
        if not self.allows(capabilities):
            raise _lacking(capabilities, *self.choices, code=code)

    def suits(self, channel: Channel) -> bool:
        """Whether a token's channel allows enough."""
        return not self.channel or any(map(channel.may, self.channel))

    def require_channel(self, channel: Channel, capabilities: Set[str]) -> None:
        """Refuse what the token's channel may not do in this keep, or may do only with more of a token."""
        if not self.suits(channel):
            require(channel, self.channel[0])
        if self.proposes and channel.may("delete") and "delete" not in capabilities:
            raise _lacking(capabilities, frozenset({"delete"}))


def _lacking(held: Set[str], *choices: frozenset[str], code: str = "token_not_allowed") -> NotAllowed:
    wanted = ", or ".join(" and ".join(sorted(choice)) for choice in choices)
    has = ", ".join(sorted(held)) or "nothing"
    return NotAllowed(f"This takes a token that may {wanted}.", code=code, hint=f"This one may {has}; add another one.")


def permit(section: str, name: str) -> Permit:
    """What a route (``rest``), a tool (``mcp``) or a page (``console``) takes."""
    return table(section)[name]


def permit_of_route(section: str, method: str, path: str) -> Permit:
    """What a route takes; with a slash at its end or without it is the same."""
    return permit(section, f"{method} {path.rstrip('/') or '/'}")


@cache
def table(section: str) -> Mapping[str, Permit]:
    """Every entry of one section of the table, by its name."""
    text = (resources.files("truekeep") / "data" / "serve" / "capabilities.toml").read_text("utf-8")
    return {name: _permit(entry) for name, entry in tomllib.loads(text)[section].items()}


def _permit(entry: Mapping[str, Any]) -> Permit:
    if entry["may"] == _OPEN:
        return Permit((), is_open=True)
    choices = tuple(frozenset(choice.split()) for choice in entry["may"])
    channel = tuple(entry.get("channel", "").split())
    return Permit(choices, channel, entry.get("proposes", False), entry.get("makes", False))
