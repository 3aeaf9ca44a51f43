"""Settings: every limit and default, where files live, and how TOML and environment change them."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any, Self

from truekeep import disk
from truekeep.errors import ConfigError
from truekeep.types import MEMBER, Channel, Standing

CAPABILITIES = frozenset(
    {"write", "read", "confirm", "delete", "observe", "propose", "credit", "review", "custom-prompts"}
)
MEMBER_CAPABILITIES = frozenset({"write", "confirm", "delete", "read", "observe"})
_ENV_PREFIX = "TRUEKEEP_"
_TABLES = frozenset({"channels", "tools", "serve", "webhooks"})
_SWITCH = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class Paths:
    """Where data, keys and configuration live; keys are kept apart from data."""

    data: Path
    keys: Path
    config: Path
    cache: Path

    @classmethod
    def resolve(cls, home: str | Path | None = None) -> Self:
        """``home`` wins over ``$TRUEKEEP_HOME``, which wins over the XDG directories; ``$TRUEKEEP_KEYS`` moves keys.

        ``$TRUEKEEP_CONFIG`` names the directory of settings and rules, whichever home is in use.
        """
        root = home if home is not None else os.environ.get("TRUEKEEP_HOME")
        if root:
            base = Path(root).expanduser().absolute()
            data, keys, config = base / "data", base / "keys", base
        else:
            config = _xdg("XDG_CONFIG_HOME", ".config")
            data, keys = _xdg("XDG_DATA_HOME", ".local/share"), config / "keys"
        if moved := os.environ.get("TRUEKEEP_KEYS"):
            keys = Path(moved).expanduser().absolute()
        if elsewhere := os.environ.get("TRUEKEEP_CONFIG"):
            # A service must not be able to write what tells it which commands to run and whom to believe.
            config = Path(elsewhere).expanduser().absolute()
        # What is cached is derived from rules alone and named by their hash, so all homes share it.
        return cls(data=data, keys=keys, config=config, cache=_xdg("XDG_CACHE_HOME", ".cache"))


def cache_key_file() -> Path:
    """The key by which what is cached is known again: beside the keys of the user, whichever home is in use."""
    keys = os.environ.get("TRUEKEEP_KEYS")
    return (Path(keys).expanduser().absolute() if keys else _xdg("XDG_CONFIG_HOME", ".config") / "keys") / "cache.key"


def _xdg(variable: str, default: str) -> Path:
    root = os.environ.get(variable, "")
    base = Path(root) if root.startswith("/") else Path.home() / default
    return base / "truekeep"


# Caps that are no settings, or that a service states before any keep's settings are known.
TEXT_CAP = 8_000
"""Characters of a memory: a fact or a passage, and what every prompt it is shown in has to hold."""
OBSERVE_CAP = 100_000
"""Characters of what a session takes in at once, such as a page, and of any text in a request's body."""
QUERY_CAP = 10_000
"""Characters of a question; it is embedded, and compared with everything."""
BATCH_CAP = 10_000
"""Entries of one transaction: other writers wait for it."""
REASON_CAP = 2_000
"""Characters of why a person decided something; it stays in the audit log for good."""
NAME_CAP = 200
"""Characters of a session's name, an id or a label: they are printed into logs, pages and prompts."""
PAGE_CAP = 1_000
"""Entries of one page of a listing, and of a list in a request's body; the next page goes on."""
LISTING_CAP = 100_000
"""Entries of a listing that cannot be paged, because what held at another time has no place to go on from."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All limits and defaults. Unknown names in a file or the environment are errors, never ignored."""

    policy: str = "strict"
    """``strict`` holds what was merely read for review; ``inform`` stores it as marked background."""
    embedder: str = "default"
    """Turns texts into vectors: ``default``, ``minilm`` (English alone), ``none`` (keywords), or one of your own."""
    text_cap: int = TEXT_CAP
    """Longest memory, in characters: every prompt that shows it has to hold it."""
    observe_cap: int = OBSERVE_CAP
    """Longest text that a session reports at once; what is longer is refused before anything is read."""
    field_cap: int = NAME_CAP
    """Longest topic, entity or name, in characters; they are printed into logs, pages and prompts."""
    fields_cap: int = 32
    """How many topics or entities a memory has."""
    metadata_cap: int = 4_000
    """Longest metadata, as JSON, in characters."""
    batch_cap: int = BATCH_CAP
    """Entries of one batch: other writers wait for its transaction."""
    query_cap: int = QUERY_CAP
    """Longest question, in characters; it is embedded, and compared with everything."""
    k_cap: int = 1_000
    """Most memories that one recall answers with."""
    half_life_days: float = 0.0
    """Days in which a memory's weight in recall halves; 0 is off."""
    min_score: float = 0.0
    """Weakest hit that a recall answers with."""
    recall_floor: float = 1.0
    """Times the calibrated floor below which nothing fits; 0 never answers with nothing."""
    flood_share: float = 0.5
    """Share of an answer that hearsay may take, so that nobody floods out what is proven."""
    snapshot_chars: int = 8_000
    """Characters of a snapshot's lines; recall finds the rest."""
    queue_per_principal: int = 200
    """Open review items of one source: nobody fills a reviewer's day."""
    queue_expiry_days: float = 30.0
    """Days after which an item that nobody looked at expires; what the owner said waits without end."""
    busy_seconds: float = 30.0
    """How long a write waits for another process that is writing."""
    forget_undo_days: float = 30.0
    """How long what the owner had forgotten can be brought back; then it is blanked."""
    hearsay_shelf_days: float = 30.0
    """Days after which hearsay fades that nothing came to prove; 0 is never."""
    enrolled_shelf_days: float = 90.0
    """Days after which a system's statement fades that nobody corroborated; 0 is never."""
    learn: str = "verbatim"
    """How a session is remembered: ``verbatim`` (the owner's words), ``off``, or a strategy that adds gists to them."""
    learn_debounce_seconds: float = 30.0
    """How long a session has to be quiet before it is learned from."""
    learn_delay_seconds: float = 600.0
    """How long a session that is not quiet is waited for at most."""
    learn_topics: str = ""
    """What is learned about, as words with commas between ("travel, food"); with a minus before it, what is not
    ("-health")."""
    retention_days: float = 0.0
    """How long what the owner said is kept after it was said last; 0 keeps it until it is forgotten."""
    passage_chars: int = 1_200
    """The longest passage; a longer message becomes several that overlap by a sentence."""
    working_cap: int = 100_000
    """Longest data, and longest context, of a session's working memory, in characters."""
    store: str = field(default="", repr=False)
    """Where keeps are: nothing for files in the data directory, or the connection string of a PostgreSQL database."""
    anchor: str = "keys"
    """Where the newest event is anchored outside the store, so that a restored old copy is noticed; see Integrity."""
    master_key: str = ""
    """Where the master key comes from, if not from the key directory: ``env:NAME``, ``file:PATH``, ``command:LINE``,
    or ``plugin:MODULE:NAME`` for a key service that wraps the keys itself."""
    judge_url: str = ""
    """An OpenAI-compatible endpoint that judges every text on its way in, too; it can only make verdicts stricter."""
    judge_model: str = ""
    """The model to ask there."""
    judge_key_env: str = "TRUEKEEP_JUDGE_KEY"
    """The environment variable that holds the endpoint's key, so that the key stands in no file."""
    judge_seconds: float = 10.0
    """How long its answer may take; a text whose judge did not answer is held."""
    ticket_minutes: float = 15.0
    """How long an answer of the act boundary can be used: after that the call is judged anew."""
    credits_per_hour: int = 60
    """Outcomes of runs that count in an hour, so that nobody talks a memory up in bulk."""
    tools: Mapping[str, Any] = field(default_factory=dict)
    """The ``[tools]`` tables as the operator wrote them; the act boundary reads and checks them."""
    serve: Mapping[str, Any] = field(default_factory=dict)
    """The ``[serve]`` table as the operator wrote it; the service reads and checks it."""
    webhooks: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The ``[webhooks.NAME]`` tables as the operator wrote them; whoever sends reads and checks them."""
    timestamp_url: str = ""
    """An RFC 3161 time-stamping authority that evidence for audits is stamped by, where that is asked for."""
    channels: Mapping[str, Channel] = field(default_factory=lambda: default_channels())  # noqa: PLW0108 - defined below
    """The ``[channels.NAME]`` tables: ways in with their standing and capabilities, beside those of every keep."""

    @classmethod
    def load(cls, config_dir: Path) -> Settings:
        """Defaults, then ``config.toml``, then ``TRUEKEEP_*`` variables."""
        values = _renamed(_from_file(config_dir / "config.toml"))
        channels = default_channels() | _channels(values.pop("channels", {}))
        tables = {name: values.pop(name, {}) for name in ("tools", "serve", "webhooks")}
        if not all(isinstance(table, dict) for table in tables.values()):
            raise ConfigError("[serve], [tools] and [webhooks] must be tables.")
        values |= _renamed(_from_environment())
        typed = {name: _typed(name, value) for name, value in values.items()}
        return replace(cls(), **typed, **tables, channels=channels)

    def with_policy(self, policy: str) -> Settings:
        """The same settings under another preset."""
        return replace(self, policy=policy)


def default_channels() -> dict[str, Channel]:
    """The channels every keep has."""
    text = (resources.files("truekeep") / "data" / "channels.toml").read_text("utf-8")
    return _channels(tomllib.loads(text))


def _channels(table: Any) -> dict[str, Channel]:
    if not isinstance(table, dict):
        raise ConfigError("[channels] must be a table of tables.")
    return {name: _channel(name, entry) for name, entry in table.items()}


def _channel(name: str, entry: Any) -> Channel:
    if not isinstance(entry, dict) or set(entry) - {"standing", "capabilities"}:
        raise ConfigError(f"[channels.{name}] takes 'standing' and 'capabilities' only.")
    is_member = name.startswith(MEMBER)
    capabilities = frozenset(entry.get("capabilities", MEMBER_CAPABILITIES if is_member else ["write"]))
    if unknown := capabilities - CAPABILITIES:
        raise ConfigError(f"[channels.{name}] has an unknown capability: {', '.join(sorted(map(str, unknown)))}.")
    standing = entry.get("standing")
    if is_member:
        # To the member these are the owner's words; to everybody else the rule of influence makes them enrolled.
        if standing not in (None, "enrolled"):
            raise ConfigError(f"[channels.{name}] is a member's; its standing is enrolled.")
        return Channel(name, Standing.OWNER, capabilities)
    if standing is None:
        return Channel(name, None, capabilities)
    try:
        return Channel(name, Standing[str(standing).upper()], capabilities)
    except KeyError:
        raise ConfigError(f"[channels.{name}] standing must be owner, enrolled or hearsay.") from None


def _from_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(disk.read_trusted(path).decode("utf-8"))
    except FileNotFoundError:
        return {}
    except disk.UnsafeFile as error:
        raise ConfigError(
            f"The settings file is not believed, because others can write it: {path}",
            code="config_unsafe",
            hint=f"chmod go-w {path} {path.parent}, and let it belong to you or to root.",
        ) from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"The settings file cannot be read: {path}", hint=str(error)) from error


def _from_environment() -> dict[str, Any]:
    known = [entry.name for entry in fields(Settings) if entry.name not in _TABLES]
    names = {f"{_ENV_PREFIX}{name.upper()}": name for name in (*known, *_RENAMED, "hearsay_may_act_by_credit")}
    return {names[variable]: os.environ[variable] for variable in names if variable in os.environ}


_RENAMED = {
    "extract_strategy": "learn",
    "extract_debounce_seconds": "learn_debounce_seconds",
    "extract_delay_seconds": "learn_delay_seconds",
}
"""Names that settings had in 0.1.0, and the present ones."""


def _renamed(values: dict[str, Any]) -> dict[str, Any]:
    """The settings under their present names. What no longer exists is refused with what to do, never ignored."""
    if _SWITCH.get(str(values.pop("hearsay_may_act_by_credit", False)).casefold(), True):
        raise ConfigError(
            "hearsay_may_act_by_credit is gone: what was merely read never acts.",
            hint="Remove the line. Approve such memories in review, or enrol the system they come from.",
        )
    if "actions" in values:
        raise ConfigError("[actions] is gone: tools are declared, and grants are the owner's.", hint=_as_tools(values))
    present = {_RENAMED.get(name, name): value for name, value in values.items()}
    if present.get("learn") == "":
        # The empty strategy of 0.1.0 was its default, and meant that nobody had chosen.
        del present["learn"]
    return present


def _as_tools(values: Mapping[str, Any]) -> str:
    """The lines that say of each action what its old table said."""
    actions = values["actions"] if isinstance(values["actions"], dict) else {}
    lines = [
        f'[tools."{name}"] reads = {str(not entry.get("consequential", True)).lower()}'
        for name, entry in actions.items()
        if isinstance(entry, dict)
    ]
    return f"Write {'; '.join(lines) or '[tools]'}. Make grants with 'truekeep grants add'."


def _typed(name: str, value: Any) -> Any:
    defaults: dict[str, Any] = {entry.name: entry.default for entry in fields(Settings)}
    if name not in defaults or name in _TABLES:
        raise ConfigError(f"Unknown setting: {name}", hint=f"Settings: {', '.join(sorted(defaults))}.")
    kind = type(defaults[name])
    try:
        if isinstance(value, bool) and kind is not bool:
            raise TypeError
        typed = _SWITCH[str(value).casefold()] if kind is bool else kind(value)
    except (TypeError, ValueError, KeyError):
        raise ConfigError(f"The setting {name} must be a {kind.__name__}.") from None
    if kind in (int, float) and not 0 <= typed < float("inf"):
        raise ConfigError(f"The setting {name} must be a finite number, zero or more.")
    return typed
