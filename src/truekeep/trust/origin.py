"""Origin: which standing a text has, from the channel it came over and nothing else.

Pure. The rules, in order:

1. a channel has the standing that the operator's configuration gives it; one without a standing cannot write;
2. what the agent itself writes is ``HEARSAY``, except in a mediated session that has taken in no hearsay yet;
3. what the owner, a member or an enrolled system relays from somebody else is ``HEARSAY``, with the channel as its
   carrier;
4. what is derived never stands higher than the lowest of its parents.

No label, type, role, metadata or wording is consulted, so none can be forged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from truekeep.config import NAME_CAP
from truekeep.errors import InvalidName, NotAllowed
from truekeep.types import MEMBER, Approval, Channel, Memory, Origin, Standing

AGENT = "agent"
APPROVED = "approved"
PROVABLE = (Standing.OWNER.label, APPROVED, Standing.ENROLLED.label)
"""Labels of what could act at all; the rule of influence decides whether it does."""

MOVED = "moved:"
"""How the message of what was moved in from another memory begins; the key of the entry there follows."""

_KEEP = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}", re.ASCII)
_SESSION = re.compile(rf"[!-~]{{1,{NAME_CAP}}}", re.ASCII)
_PERSON = re.compile(r"[^\W_][\w .@+'-]{0,99}")


def standing_of(
    channel: Channel,
    *,
    clean_mediated_session: bool = False,
    relayed: bool = False,
    parents: Iterable[Standing] = (),
) -> Standing:
    """The standing of a text that came over ``channel``, derived from parents of those standings."""
    if channel.standing is None:
        raise NotAllowed(f"The channel '{channel.name}' cannot write memories.", code="channel_cannot_write")
    standing = channel.standing
    if channel.name == AGENT:
        standing = min(standing, Standing.ENROLLED) if clean_mediated_session else Standing.HEARSAY
    if relayed:
        standing = Standing.HEARSAY
    return min((standing, *parents))


def label_of(memory: Memory) -> str:
    """What a memory counts as: its standing, unless a person approved it. The tag of its row begins with it."""
    return APPROVED if memory.approval is not None else memory.standing.label


def is_hearsay(memory: Memory) -> bool:
    """Whether a memory is hearsay that nobody approved. Such a one informs at most, whatever agrees with it."""
    return is_hearsay_tag(label_of(memory))


def is_hearsay_tag(tag: str) -> bool:
    """The same, told by the tag of a memory's row or by its label."""
    return tag.partition(":")[0] == Standing.HEARSAY.label


def is_moved(origin: Origin) -> bool:
    """Whether something was moved in from another memory. Only the way in for that writes it so: a message that
    somebody reports belongs to a session.
    """
    return origin.session is None and origin.message is not None and origin.message.startswith(MOVED)


def is_lasting(standing: Standing, approval: Approval | None) -> bool:
    """Whether a memory was durable from the start: the owner's own words, or something that a person approved."""
    return standing is Standing.OWNER or approval is not None


def own_member(channel: Channel) -> str | None:
    """Whose channel it is, of the people who share a keep; nobody's, if it is no member's."""
    return channel.name.removeprefix(MEMBER) if channel.name.startswith(MEMBER) else None


def own_principal(channel: Channel) -> str | None:
    """An enrolled system and a member speak for themselves; nobody stands behind other channels unless named."""
    if (member := own_member(channel)) is not None:
        return member
    return channel.name if channel.standing is Standing.ENROLLED and channel.name != AGENT else None


def relays(channel: Channel, principal: str | None) -> bool:
    """Whether a channel passes on somebody else's words: it vouches only for its own."""
    if principal is None or channel.standing is Standing.HEARSAY:
        return False
    return principal != own_principal(channel)


def require(channel: Channel, capability: str) -> None:
    """Refuse what the channel does not have the capability for."""
    if capability not in channel.capabilities:
        held = ", ".join(sorted(channel.capabilities)) or "nothing"
        raise NotAllowed(
            f"The channel '{channel.name}' may not {capability}.",
            hint=f"It may {held}. The operator's settings decide.",
        )


def keep_name(name: object) -> str:
    """A keep's name, which is also its file's: no path parts, no hidden files, nothing to normalise."""
    if not isinstance(name, str) or not _KEEP.fullmatch(name):
        raise InvalidName("The keep's name cannot be used.", code="invalid_keep_name")
    return name


def session_name(name: object) -> str:
    """A session's name: up to ``NAME_CAP`` printable ASCII characters without spaces."""
    if not isinstance(name, str) or not _SESSION.fullmatch(name):
        raise InvalidName(
            "The session's name cannot be used.",
            code="invalid_session_name",
            hint=f"Use 1 to {NAME_CAP} printable ASCII characters without spaces.",
        )
    return name


def person_name(name: object) -> str:
    """The name of a reviewer or actor, as it is written into the audit log."""
    if not isinstance(name, str) or not _PERSON.fullmatch(name):
        raise InvalidName(
            "The person's name cannot be used.",
            code="invalid_person_name",
            hint="Use 1 to 100 letters, digits, spaces, '.', '-', '_', '@', '+' or apostrophes.",
        )
    return name
