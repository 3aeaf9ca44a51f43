"""The library of approved extraction prompts: versions, hashes, who added, approved and disabled each.

A prompt is validated when it is added, again when it is approved and again when it is used, because patterns
get better. Only an approved version can be used; every memory names the hash of the prompt that made it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from truekeep.errors import InvalidName, InvalidRequest, NotAllowed, PromptSecurityError, UnknownId
from truekeep.extract.prompt_safety import validate_custom_prompt
from truekeep.extract.strategies import prompt_hash
from truekeep.trust.candidate import checked_text
from truekeep.trust.origin import person_name

_MOST_VERSIONS = 1_000  # nobody reads more, and the list is read whole
_LONGEST_REASON = 500  # a person's remark, shown beside the prompt


class State(StrEnum):
    """Where a version stands."""

    PROPOSED = "proposed"
    APPROVED = "approved"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class PromptVersion:
    """One version of a named prompt."""

    name: str
    version: int
    text: str
    hash: str
    state: State
    added_by: str
    added_at: datetime
    decided_by: str | None = None
    decided_at: datetime | None = None
    reason: str = ""

    @property
    def is_intact(self) -> bool:
        """Whether the text is still the one the hash was made of."""
        return prompt_hash(self.text) == self.hash


_STEPS = {
    State.PROPOSED: (State.APPROVED, State.DISABLED),
    State.APPROVED: (State.DISABLED,),
    State.DISABLED: (),
}


def require_step(before: PromptVersion | None, after: PromptVersion) -> None:
    """Refuse what two people at once could do to a version: another text under it, or a way back from its state."""
    if before is None:
        if after.state is not State.PROPOSED:
            raise UnknownId("No such prompt in the library.", code="unknown_prompt")
    elif before.hash != after.hash:
        raise InvalidRequest("Somebody else added this version meanwhile.", code="prompt_version_taken")
    elif after.state not in _STEPS[before.state]:
        raise InvalidRequest(f"This version is {before.state.value}.", code="prompt_decided")


class PromptStore(Protocol):
    """Where the library is kept."""

    def all(self) -> Sequence[PromptVersion]:
        """Every version of every prompt, oldest first."""

    def put(self, version: PromptVersion) -> None:
        """Keep a version, replacing its earlier state."""


class PromptLibrary:
    """Adds, approves, disables and hands out prompts."""

    def __init__(self, store: PromptStore, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock

    def add(self, name: str, text: str, *, by: str) -> PromptVersion:
        """Propose a prompt. A bad one is refused now, not later in the background."""
        if not isinstance(name, str) or not name.isascii() or not name.replace("-", "").replace("_", "").isalnum():
            raise InvalidName(
                "A prompt's name has letters, digits, dashes and underscores.", code="invalid_prompt_name"
            )
        if len(name) > 64:
            raise InvalidName("A prompt's name has at most 64 characters.", code="invalid_prompt_name")
        validate_custom_prompt(text)
        known = self._store.all()
        number = max((version.version for version in known if version.name == name), default=0) + 1
        if number > _MOST_VERSIONS:
            raise InvalidRequest("This prompt has too many versions.", code="too_many_versions")
        plain = str.__str__(text)
        made = PromptVersion(name, number, plain, prompt_hash(plain), State.PROPOSED, person_name(by), self._clock())
        self._require_not_disabled(made.hash)
        self._store.put(made)
        return made

    def approve(self, name: str, version: int | None = None, *, by: str, reason: str = "") -> PromptVersion:
        """Approve a proposed version, the newest unless one is named. Nobody approves a prompt of their own."""
        found = self._found(name, version)
        if found.state is not State.PROPOSED:
            raise InvalidRequest(f"This version is {found.state.value}.", code="prompt_not_proposed")
        if found.added_by.casefold() == person_name(by).casefold():
            raise NotAllowed("Somebody else has to approve this prompt.", code="own_prompt")
        self._check(found)
        self._require_not_disabled(found.hash)
        return self._decide(found, State.APPROVED, by=by, reason=reason)

    def disable(self, name: str, version: int | None = None, *, by: str, reason: str) -> PromptVersion:
        """Take a text out of use, under whatever name and version. Its hash says which memories to revoke."""
        chosen = self._found(name, version)
        for known in list(self._store.all()):
            if known.hash == chosen.hash and known.state is not State.DISABLED:
                self._decide(known, State.DISABLED, by=by, reason=reason)
        return self._found(chosen.name, chosen.version)

    def usable(self, name: str) -> PromptVersion:
        """The newest approved version, validated with today's patterns."""
        approved = [known for known in self._store.all() if known.name == name and known.state is State.APPROVED]
        if not approved:
            raise NotAllowed(
                "No approved prompt has this name.",
                code="prompt_not_approved",
                hint="Add it with 'truekeep prompts add' and have it approved.",
            )
        newest = max(approved, key=lambda known: known.version)
        self._check(newest)
        return newest

    def require_approved(self, text: str) -> PromptVersion:
        """The approved version with exactly this text."""
        wanted = prompt_hash(text) if isinstance(text, str) else ""
        for known in self._store.all():
            if known.hash == wanted and known.state is State.APPROVED:
                self._check(known)
                return known
        raise NotAllowed("This prompt is not in the approved library.", code="prompt_not_approved")

    def all(self) -> Sequence[PromptVersion]:
        """Every version of every prompt."""
        return self._store.all()

    def _require_not_disabled(self, wanted: str) -> None:
        if any(known.hash == wanted and known.state is State.DISABLED for known in self._store.all()):
            raise NotAllowed("A person took this very text out of use.", code="prompt_disabled")

    def _found(self, name: str, version: int | None) -> PromptVersion:
        named = [known for known in self._store.all() if known.name == name]
        chosen = [known for known in named if version is None or known.version == version]
        if not chosen:
            raise UnknownId("No such prompt in the library.", code="unknown_prompt")
        return max(chosen, key=lambda known: known.version)

    def _check(self, version: PromptVersion) -> None:
        if not version.is_intact:
            raise PromptSecurityError("The stored prompt is not the one that was added.", code="prompt_altered")
        validate_custom_prompt(version.text)

    def _decide(self, found: PromptVersion, state: State, *, by: str, reason: str) -> PromptVersion:
        said = checked_text(reason, _LONGEST_REASON) if reason != "" else ""
        decided = replace(found, state=state, decided_by=person_name(by), decided_at=self._clock(), reason=said)
        self._store.put(decided)
        return decided
