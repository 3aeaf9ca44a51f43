"""Who is calling: what an authenticated token allows, and in which keeps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from truekeep.errors import InvalidRequest, NotAllowed, UnknownId
from truekeep.trust.origin import AGENT, keep_name

CAPABILITIES = frozenset({"read", "write", "credit", "review", "delete", "admin", "custom-prompts"})
"""What a token can allow. The channel it is bound to must allow it as well."""
_JUDGES = frozenset({"credit", "review"})
_PATTERN = re.compile(r"[A-Za-z0-9*][A-Za-z0-9._@+*-]{0,99}", re.ASCII)
_CHANNEL = re.compile(r"[a-z0-9][a-z0-9._-]{0,59}(:[^\W_][\w.@+'-]{0,59})?")
_UNUSUAL = re.compile(r"[^\w .@+'-]")
"""What an issuer may put into a subject and the audit log does not take as a name."""


@dataclass(frozen=True, slots=True)
class Identity:
    """An authenticated caller. Nothing in a request's path, headers or body adds to it."""

    token_id: str
    keep_pattern: str
    channel: str
    capabilities: frozenset[str]
    subject: str = ""
    """Who holds the token, as the operator or the issuer calls them; reviews are signed with it."""

    @property
    def names_one_keep(self) -> bool:
        """Whether the token is for one keep, so that a request need not name it."""
        return "*" not in self.keep_pattern

    @property
    def signs_as(self) -> str:
        """The name under which whatever its holder decides goes into the audit log; it is never typed in."""
        named = _UNUSUAL.sub("-", self.subject or self.channel.rpartition(":")[2])
        return named.lstrip("-_ .@+'")[:100] or "unnamed"

    def may(self, capability: str) -> bool:
        """Whether the token allows it."""
        return capability in self.capabilities

    def require(self, capability: str) -> None:
        """Refuse what the token does not allow."""
        if not self.may(capability):
            held = ", ".join(sorted(self.capabilities)) or "nothing"
            raise NotAllowed(
                f"This token may not {capability}.", code="token_not_allowed", hint=f"It may {held}; add another one."
            )

    def keep(self, named: str | None = None) -> str:
        """The keep that a request is about. One that the token does not cover does not exist for it."""
        if named is None:
            if self.names_one_keep:
                return keep_name(self.keep_pattern)
            raise InvalidRequest(
                "This token covers several keeps, and the request names none.",
                code="keep_not_named",
                hint="Put /keeps/NAME before /v1, or send the header Truekeep-Keep.",
            )
        if not fnmatchcase(named, self.keep_pattern) or "*" in named:
            raise unknown_keep()
        return keep_name(named)


def unknown_keep() -> UnknownId:
    """What is said of a keep that does not exist and of one that the token does not cover alike."""
    return UnknownId("No such keep.", code="unknown_keep", hint="A token reaches the keeps it was made for.")


def checked_pattern(pattern: object) -> str:
    """A keep's name, or several keeps' with ``*`` for any characters."""
    if not isinstance(pattern, str) or not _PATTERN.fullmatch(pattern):
        raise InvalidRequest(
            "That is neither a keep's name nor a pattern of names.",
            code="invalid_keep_pattern",
            hint="Use letters, digits, '.', '-', '_', '@', '+', and '*' for any characters.",
        )
    return pattern


def checked_channel(channel: object) -> str:
    """A channel's name; whether a keep has such a channel is known when it is used there."""
    if not isinstance(channel, str) or not _CHANNEL.fullmatch(channel):
        raise InvalidRequest("The channel's name cannot be used.", code="invalid_channel_name")
    return channel


def checked_capabilities(given: frozenset[str], channel: str) -> frozenset[str]:
    """Capabilities that may go together: nobody judges what they write themselves, and an agent runs nothing."""
    if not given or given - CAPABILITIES:
        raise InvalidRequest(
            "A token needs one capability or more, and only known ones.",
            code="unknown_capability",
            hint=f"Capabilities: {', '.join(sorted(CAPABILITIES))}.",
        )
    if "write" in given and given & _JUDGES:
        raise InvalidRequest(
            "A token that writes can neither credit nor review.",
            code="capability_conflict",
            hint="Make a second token for that.",
        )
    if channel == AGENT and given - {"read", "write"}:
        raise InvalidRequest("A token of the agent's reads and writes, and nothing else.", code="capability_conflict")
    return given
