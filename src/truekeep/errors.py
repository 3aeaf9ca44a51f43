"""The error tree. Every error has a stable ``code`` and a ``hint``; none echoes stored or hostile text.

::

    TruekeepError
    ├── InputError (also ValueError)   the caller passed something that cannot be used
    │   ├── InvalidName                a keep, channel, principal or session name
    │   ├── InvalidText                not a string, empty, over the cap, lone surrogates
    │   ├── InvalidRequest             any other argument out of its range
    │   ├── UnknownChannel             no such channel in the configuration
    │   ├── UnknownScope               neither ``relaxed`` nor ``strict``
    │   ├── UnknownPolicy              no such preset
    │   ├── ConfigError                a settings file or variable that cannot be used
    │   ├── RuleError                  a rule file that cannot be used
    │   ├── MissingExtra               a part of the package that is not installed
    │   ├── UnknownEmbedder            no embedder of that name (embed/)
    │   ├── OutputRefused              a model's answer that has not the form it must have (extract/)
    │   └── PromptSecurityError        a custom prompt or template that is refused
    ├── EmbedderError                  an embedder that cannot be used (embed/)
    ├── ModelError                     a model endpoint that cannot be used (extract/)
    ├── NotAuthenticated               nobody the service knows, or no token at all (serve/)
    ├── ServiceBusy                    more than the service takes on at once (serve/)
    ├── ServiceUnreachable             no answer from the service, or none in time (client/)
    ├── GitFailed                      git is missing, or refuses a repository (protect/)
    ├── AnswerRefused                  an answer that is not the service's (client/)
    ├── NotAllowed                     the channel lacks the capability
    │   ├── NotServed                  only an embedded keep does that (client/; also AttributeError)
    │   ├── ActionRefused              the act boundary does not let a call happen
    │   │   └── ConfirmationNeeded     it would, once the owner has confirmed it
    │   └── TicketRefused              a ticket that cannot be used for this call, or not any more
    ├── UnknownId                      no such memory, review item or run in this keep
    ├── KeepClosed                     the keep was closed
    ├── KeyUnavailable                 the key is missing, unreadable or does not open this keep
    └── StoreError                     the database file cannot be used
        ├── StoreCorrupt               truncated, foreign or damaged file
        ├── StoreTampered              bytes were altered by someone without the keys
        ├── AnchorUnavailable          what was stored could not be anchored outside the store
        ├── StoreReadOnly              the file or its directory cannot be written
        ├── StoreFull                  no space left
        ├── StoreIOError               the disk reports an error
        ├── StoreUnavailable           the database's server cannot be reached
        │   └── CommitUnknown          it went away in the middle of a commit
        └── StoreBusy                  another process held the write lock too long
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

_LONGEST_NAMED = 40
"""Characters of a field's name that an error repeats."""
_MOST_NAMED = 8
"""Names that an error repeats: enough to see what was mistyped, and one line."""


def told_names(names: Iterable[object]) -> str:
    """The names of fields that nobody knows, for an error's words.

    Whoever mistyped one has to see it. Only what could be a name in a program is repeated, since a field's name is as
    much the sender's choice as its content; anything else is counted.
    """
    given = set(names)
    plain = sorted(name for name in given if isinstance(name, str) and is_plain_name(name))[:_MOST_NAMED]
    others = len(given) - len(plain)
    return ", ".join([*plain, *([f"{others} more"] if others else [])])


def is_plain_name(name: str) -> bool:
    """Whether a name may be repeated to whoever sent it: a short word of ASCII letters, digits and underscores."""
    return len(name) <= _LONGEST_NAMED and name.isascii() and name.isidentifier()


class TruekeepError(Exception):
    """Base of all errors: ``str(error)`` says what happened, ``hint`` what to do, ``code`` is for programs.

    None of the three is ever empty. A class without a code or a hint for all its errors does not come into being, and
    one error that is given none, or a blank one, has its class's.
    """

    code: str = "error"
    default_hint: ClassVar[str] = "Run 'truekeep doctor': it says what is installed and what is wrong with it."

    def __init__(self, message: str, *, code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message if message.strip() else "It could not be done.")
        if code is not None and code.strip():
            self.code = code
        self.hint = hint if hint is not None and hint.strip() else self.default_hint

    def __init_subclass__(cls) -> None:
        """Refuse a class whose errors would have no code, or would not say what to do."""
        super().__init_subclass__()
        if not (cls.code.strip() and cls.default_hint.strip()):
            raise TypeError(f"{cls.__name__} needs a code and a default_hint.")

    def as_dict(self) -> dict[str, str]:
        """The error as the members that the CLI's and the service's JSON carry."""
        return {"error": str(self), "code": self.code, "hint": self.hint}


class InputError(TruekeepError, ValueError):
    """The caller passed something that cannot be used; nothing was changed."""

    code = "invalid_input"
    default_hint = "Check what was passed against the documentation of the call; nothing was changed."


class InvalidName(InputError):
    """A keep, channel, principal or session name that cannot be used."""

    code = "invalid_name"
    default_hint = "Use 1 to 100 letters, digits, '.', '-', '_', '@' or '+', starting with a letter or digit."


class InvalidText(InputError):
    """Text that cannot be remembered: not a string, empty, too long or not valid Unicode."""

    code = "invalid_text"
    default_hint = "Pass a text of at least one visible character and at most the length that the settings allow."


class InvalidRequest(InputError):
    """An argument that is out of its range or of the wrong kind."""

    code = "invalid_request"
    default_hint = "Correct what the message names and try again; nothing was changed."


class UnknownChannel(InputError):
    """No channel of that name is configured."""

    code = "unknown_channel"
    default_hint = (
        "List the channels with 'truekeep channels list'; the operator adds one in the settings or enrols it."
    )


class UnknownScope(InputError):
    """A scan scope other than ``relaxed`` and ``strict``."""

    code = "unknown_scope"
    default_hint = "Use scope='strict' (everything, what memory uses) or scope='relaxed'."


class UnknownPolicy(InputError):
    """No policy preset of that name."""

    code = "unknown_policy"
    default_hint = "Use policy='strict' or policy='inform'."


class ConfigError(InputError):
    """A settings file or environment variable that cannot be used."""

    code = "invalid_config"
    default_hint = (
        "Correct it in config.toml or in the environment; 'truekeep config show' says what counts and where it was set."
    )


class RuleError(InputError):
    """A rule file that cannot be used; ``faults`` lists every reason with file and line."""

    code = "invalid_rules"
    default_hint = "Correct the rule file; 'truekeep rules lint' shows every fault with its line."


class PromptSecurityError(InputError):
    """A custom prompt or template that is refused."""

    code = "unsafe_prompt"
    default_hint = "Change the prompt; 'truekeep prompts check' says what it must not have."


class MissingExtra(InputError):
    """What was asked for needs an extra of the package that is not installed."""

    code = "extra_missing"

    def __init__(self, extra: str) -> None:
        super().__init__(f"This needs the extra '{extra}'.", hint=how_to_install(extra))


def how_to_install(extra: str) -> str:
    """How to get an extra, by the package's name or from a checkout."""
    return f"Install it with: pip install 'truekeep[{extra}]', or in a checkout: pip install '.[{extra}]'"


class NotAuthenticated(TruekeepError):
    """The request carries no token, or none that is valid now."""

    code = "not_authenticated"
    default_hint = "Send 'Authorization: Bearer TOKEN'; the operator makes one with 'truekeep tokens add'."


class ServiceBusy(TruekeepError):
    """More is asked for than the service takes on at once; nothing was done."""

    code = "service_busy"
    default_hint = "Try again shortly."


class ServiceUnreachable(TruekeepError):
    """The service did not answer, or not in time."""

    code = "service_unreachable"
    default_hint = "Check the address, and that 'truekeep serve' is running there."


class AnswerRefused(TruekeepError):
    """What came back is not an answer of the service; nothing of it is used."""

    code = "not_the_service"
    default_hint = "Check the address, and what stands between this client and 'truekeep serve'."


class NotAllowed(TruekeepError):
    """The channel behind this call does not have the capability it needs."""

    code = "not_allowed"
    default_hint = "Use a channel, or a token, that may do this; the owner or the operator can."


class NotServed(NotAllowed, AttributeError):
    """Only an embedded keep does this; the service does not offer it."""

    code = "not_served"
    default_hint = "Open the keep where its data are: truekeep.Keep.open(name)."


class ActionRefused(NotAllowed):
    """The act boundary does not let this call happen; ``answer`` says why."""

    code = "action_denied"
    default_hint = "Ask the owner to say it, or leave the call out."

    def __init__(self, message: str, *, answer: Any = None, code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, code=code, hint=hint)
        self.answer = answer


class ConfirmationNeeded(ActionRefused):
    """The call may happen once the owner has confirmed it; ``answer.ticket`` is what to confirm."""

    code = "confirmation_needed"
    default_hint = "Let the owner confirm it: keep.actions.confirm(ticket, via='user'); then call again with ticket=…."


class TicketRefused(NotAllowed):
    """The ticket cannot be used for this call, or not any more."""

    code = "ticket_refused"
    default_hint = "Check the call again and use the ticket of that answer."


class UnknownId(TruekeepError, LookupError):
    """Nothing in this keep has that id."""

    code = "unknown_id"
    default_hint = "Look it up again: ids and names are those that this keep lists."


class KeepClosed(TruekeepError):
    """The keep was closed; open it again."""

    code = "keep_closed"
    default_hint = "Open the keep again with Keep.open(name)."


class KeyUnavailable(TruekeepError):
    """The key is missing, unreadable, or does not open this keep."""

    code = "key_unavailable"
    default_hint = "Check the key directory and who may read it; 'truekeep doctor' shows both."


class StoreError(TruekeepError):
    """The database file cannot be used."""

    code = "store_error"
    default_hint = "Run 'truekeep doctor' for details; what was acknowledged is kept."


class StoreCorrupt(StoreError):
    """The file is truncated, foreign or damaged."""

    code = "store_corrupt"
    default_hint = "Restore the file from a backup; run 'truekeep doctor' for details."


class StoreTampered(StoreError):
    """Stored bytes were altered by someone who does not hold the keep's keys."""

    code = "store_tampered"
    default_hint = "Nothing is served until a person decides; run 'truekeep audit verify' to see where it breaks."

    def __init__(
        self, message: str, *, code: str | None = None, hint: str | None = None, where: str = "", since: str = ""
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.where = where
        """The events or rows it is about."""
        self.since = since
        """The last event that is known to be good, and its time: whatever was done was done after it."""

    def as_dict(self) -> dict[str, str]:
        """The error as JSON members, with the place and the last moment known to be good."""
        return super().as_dict() | {"where": self.where, "since": self.since}


class AnchorUnavailable(StoreError):
    """The newest event could not be anchored. It is stored, but not acknowledged: a rollback would not be noticed."""

    code = "anchor_unavailable"
    default_hint = "Nothing more is written until every anchor can be written again; 'truekeep doctor' shows them."


class StoreReadOnly(StoreError):
    """The file or its directory cannot be written."""

    code = "store_read_only"
    default_hint = "Check the file's and the directory's permissions; 'truekeep doctor' shows both."


class StoreFull(StoreError):
    """No space is left; the change was rolled back."""

    code = "store_full"
    default_hint = "Free some space and try again; nothing was changed."


class StoreIOError(StoreError):
    """The disk or file system reported an error. What was under way is not acknowledged."""

    code = "store_io_error"
    default_hint = "Check the disk and the system's log; then open the keep again and run 'truekeep audit verify'."


class StoreBusy(StoreError):
    """Another process held the write lock for too long; nothing was changed."""

    code = "store_busy"
    default_hint = "Try again; if it persists, see which process holds the keep open."


class StoreUnavailable(StoreError):
    """The database's server cannot be reached. Nothing that was under way is acknowledged, and nothing of it stays."""

    code = "store_unavailable"
    default_hint = "Check the address, the database's name, the role and its password, and that the server runs."


class CommitUnknown(StoreUnavailable):
    """The server went away in the middle of a commit, and could not be asked since whether it was written."""

    code = "commit_unknown"
    default_hint = (
        "Look whether it is there before you write it again; a write with an idempotency key may be repeated."
    )
