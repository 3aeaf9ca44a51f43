"""Settings: every limit and default, where files live, and how TOML and environment change them."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any, Self

from truekeep.errors import ConfigError
from truekeep.types import MEMBER, Channel, Standing

CAPABILITIES = frozenset(
    {"write", "read", "confirm", "delete", "observe", "propose", "credit", "review", "custom-prompts"}
)
MEMBER_CAPABILITIES = frozenset({"write", "confirm", "delete", "read", "observe"})
_ENV_PREFIX = "TRUEKEEP_"
_TABLES = frozenset({"channels", "actions", "serve"})
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
        """``home`` wins over ``$TRUEKEEP_HOME``, which wins over the XDG directories; ``$TRUEKEEP_KEYS`` moves keys."""
        root = home if home is not None else os.environ.get("TRUEKEEP_HOME")
        if root:
            base = Path(root).expanduser().absolute()
            data, keys, config = base / "data", base / "keys", base
        else:
            config = _xdg("XDG_CONFIG_HOME", ".config")
            data, keys = _xdg("XDG_DATA_HOME", ".local/share"), config / "keys"
        if moved := os.environ.get("TRUEKEEP_KEYS"):
            keys = Path(moved).expanduser().absolute()
        # What is cached is derived from rules alone and named by their hash, so all homes share it.
        return cls(data=data, keys=keys, config=config, cache=_xdg("XDG_CACHE_HOME", ".cache"))


def _xdg(variable: str, default: str) -> Path:
    root = os.environ.get(variable, "")
    base = Path(root) if root.startswith("/") else Path.home() / default
    return base / "truekeep"


@dataclass(frozen=True, slots=True)
class Settings:
    """All limits and defaults. Unknown names in a file or the environment are errors, never ignored."""

    policy: str = "strict"
    embedder: str = "minilm"
    text_cap: int = 8_000
    observe_cap: int = 100_000
    field_cap: int = 200
    fields_cap: int = 32
    metadata_cap: int = 4_000
    batch_cap: int = 10_000
    query_cap: int = 10_000
    k_cap: int = 1_000
    half_life_days: float = 0.0
    min_score: float = 0.0
    flood_share: float = 0.5
    snapshot_cap: int = 1_000
    queue_per_principal: int = 200
    queue_expiry_days: float = 30.0
    busy_seconds: float = 30.0
    hearsay_shelf_days: float = 30.0
    enrolled_shelf_days: float = 90.0
    extract_strategy: str = ""
    extract_debounce_seconds: float = 30.0
    extract_delay_seconds: float = 600.0
    working_cap: int = 100_000
    anchor: str = "keys"
    master_key: str = ""
    judge_url: str = ""
    judge_model: str = ""
    judge_key_env: str = "TRUEKEEP_JUDGE_KEY"
    judge_seconds: float = 10.0
    ticket_minutes: float = 15.0
    credits_per_hour: int = 60
    hearsay_may_act_by_credit: bool = False
    actions: Mapping[str, Any] = field(default_factory=dict)
    """The ``[actions]`` tables as the operator wrote them; the act boundary reads and checks them."""
    serve: Mapping[str, Any] = field(default_factory=dict)
    """The ``[serve]`` table as the operator wrote it; the service reads and checks it."""
    channels: Mapping[str, Channel] = field(default_factory=lambda: default_channels())  # noqa: PLW0108 - defined below

    @classmethod
    def load(cls, config_dir: Path) -> Settings:
        """Defaults, then ``config.toml``, then ``TRUEKEEP_*`` variables."""
        values = _from_file(config_dir / "config.toml")
        channels = default_channels() | _channels(values.pop("channels", {}))
        actions, serve = values.pop("actions", {}), values.pop("serve", {})
        if not isinstance(serve, dict):
            raise ConfigError("[serve] must be a table.")
        values |= _from_environment()
        typed = {name: _typed(name, value) for name, value in values.items()}
        return replace(cls(), **typed, actions=actions, serve=serve, channels=channels)

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
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"The settings file cannot be read: {path}", hint=str(error)) from error


def _from_environment() -> dict[str, Any]:
    names = {
        f"{_ENV_PREFIX}{entry.name.upper()}": entry.name for entry in fields(Settings) if entry.name not in _TABLES
    }
    return {names[variable]: os.environ[variable] for variable in names if variable in os.environ}


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
