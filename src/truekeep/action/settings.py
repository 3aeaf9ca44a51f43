"""What an operator says about an action: what is traced, what is exempt, how fresh, and which grants stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from truekeep.action.arguments import Scalar
from truekeep.errors import ConfigError
from truekeep.text import folded
from truekeep.text.salient import Kind, salient_values

_ACTION_KEYS = frozenset({"consequential", "traced", "exempt", "freshness_days", "asked_by", "grants"})
_GRANT_KEYS = frozenset({"name", "arguments", "until", "per_day"})


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a grant allows for one argument: one of some values, or a number from zero up to a limit."""

    values: frozenset[str] = frozenset()
    most: Decimal | None = None

    def covers(self, value: Scalar) -> bool:
        """Whether the value is within the grant."""
        if self.most is not None:
            amount = _amount(value)
            return amount is not None and 0 <= amount <= self.most
        return spelling(value) in self.values


@dataclass(frozen=True, slots=True)
class Grant:
    """A standing permission with limits; it names at least one argument."""

    name: str
    arguments: Mapping[str, Allowed]
    until: datetime | None = None
    per_day: int | None = None

    def covers(self, arguments: Mapping[str, Any], now: datetime, used_today: int | None) -> bool:
        """Whether every argument it names is there and within its limits, today."""
        if self.until is not None and now >= self.until:
            return False
        if self.per_day is not None and (used_today is None or used_today >= self.per_day):
            return False
        return all(
            name in arguments and _is_scalar(arguments[name]) and allowed.covers(arguments[name])
            for name, allowed in self.arguments.items()
        )


@dataclass(frozen=True, slots=True)
class ActionSettings:
    """One ``[actions.NAME]`` table. Without one, everything is traced and the name decides the consequence."""

    consequential: bool | None = None
    traced: frozenset[str] | None = None
    exempt: frozenset[str] = frozenset()
    freshness_days: float | None = None
    asked_by: tuple[str, ...] = ()
    grants: tuple[Grant, ...] = ()

    def is_exempt(self, argument: str) -> bool:
        """Whether the operator takes this argument out of the tracing."""
        return argument in self.exempt or (self.traced is not None and argument not in self.traced)


@dataclass(frozen=True, slots=True)
class ActionsSettings:
    """All ``[actions]`` settings."""

    actions: Mapping[str, ActionSettings] = field(default_factory=dict)

    def of(self, name: str) -> ActionSettings:
        """The settings of one action; spelling its name in another case does not escape them."""
        found = self.actions.get(name)
        if found is None:
            folded_names = {known.casefold(): settings for known, settings in self.actions.items()}
            found = folded_names.get(name.casefold())
        return found or ActionSettings()

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> ActionsSettings:
        """The settings in an ``[actions]`` table; anything unknown or empty is an error, never ignored."""
        if not isinstance(table, Mapping):
            raise ConfigError("[actions] must be a table of tables.")
        return cls({name: _action(name, entry) for name, entry in table.items()})


def spelling(value: Scalar) -> str:
    """A value as grants compare it: type and canonical form."""
    if isinstance(value, str):
        values = [found for found in salient_values(value) if found.kind not in (Kind.NAME, Kind.QUOTED)]
        if len(values) == 1 and values[0].span == (0, len(value)):
            return values[0].key
        return f"text:{folded(value)}"
    if isinstance(value, bool) or value is None:
        return f"choice:{value}"
    return f"number:{Decimal(str(value)).normalize():f}"


def _amount(value: Scalar) -> Decimal | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return Decimal(str(value))
    found = [v for v in salient_values(value) if v.kind in (Kind.NUMBER, Kind.MONEY)]
    if len(found) != 1 or found[0].span != (0, len(value)) or found[0].also:
        return None
    return Decimal(found[0].value.partition(" ")[0])


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _action(name: str, entry: Any) -> ActionSettings:
    where = f"[actions.{name}]"
    if not isinstance(entry, Mapping) or set(entry) - _ACTION_KEYS:
        raise ConfigError(f"{where} takes {', '.join(sorted(_ACTION_KEYS))} only.")
    consequential, days = entry.get("consequential"), entry.get("freshness_days")
    if consequential is not None and not isinstance(consequential, bool):
        raise ConfigError(f"{where} consequential must be true or false.")
    if days is not None and (isinstance(days, bool) or not isinstance(days, int | float) or not 0 < days < 1e5):
        raise ConfigError(f"{where} freshness_days must be a number of days above zero.")
    traced = _names(where, "traced", entry["traced"]) if "traced" in entry else None
    if traced is not None and not traced:
        # An empty list would read as "trace everything" to one person and "nothing" to the next.
        raise ConfigError(f"{where} traced must name at least one argument; leave it out to trace all.")
    asked_by = _names(where, "asked_by", entry.get("asked_by", []))
    if any(len(word.split()) != 1 for word in asked_by):
        raise ConfigError(f"{where} asked_by must be a list of single words.")
    grants = entry.get("grants", [])
    if not isinstance(grants, list):
        raise ConfigError(f"{where} grants must be a list of tables.")
    return ActionSettings(
        consequential=consequential,
        traced=traced,
        exempt=_names(where, "exempt", entry.get("exempt", [])),
        freshness_days=None if days is None else float(days),
        asked_by=tuple(folded(word) for word in sorted(asked_by)),
        grants=tuple(_grant(where, grant) for grant in grants),
    )


def _names(where: str, what: str, value: Any) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise ConfigError(f"{where} {what} must be a list of names.")
    return frozenset(value)


def _grant(where: str, entry: Any) -> Grant:
    if not isinstance(entry, Mapping) or set(entry) - _GRANT_KEYS or not isinstance(entry.get("name"), str):
        raise ConfigError(f"{where} a grant has a name and takes {', '.join(sorted(_GRANT_KEYS))} only.")
    arguments = entry.get("arguments")
    if not isinstance(arguments, Mapping) or not arguments:
        # A grant without limits would be a hole, so it is not a grant.
        raise ConfigError(f"{where} a grant must limit at least one argument.")
    per_day = entry.get("per_day")
    if per_day is not None and (isinstance(per_day, bool) or not isinstance(per_day, int) or per_day < 1):
        raise ConfigError(f"{where} per_day must be a whole number above zero.")
    allowed = {str(name): _allowed(where, value) for name, value in arguments.items()}
    return Grant(entry["name"], allowed, _until(where, entry.get("until")), per_day)


def _allowed(where: str, value: Any) -> Allowed:
    if isinstance(value, list) and value and all(_is_scalar(item) for item in value):
        return Allowed(values=frozenset(spelling(item) for item in value))
    if isinstance(value, Mapping) and set(value) == {"max"} and not isinstance(value["max"], bool):
        try:
            return Allowed(most=Decimal(str(value["max"])))
        except InvalidOperation:
            pass
    raise ConfigError(f"{where} a grant gives each argument a list of values or {{max = number}}.")


def _until(where: str, value: Any) -> datetime | None:
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if value is None:
        return None
    raise ConfigError(f"{where} until must be a date.")
