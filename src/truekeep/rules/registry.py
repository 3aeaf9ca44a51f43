"""What a user added to the built-in rules: paths, their lane, and overrides and suppressions with their reasons."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from truekeep import disk
from truekeep.errors import ConfigError
from truekeep.rules.loader import builtin, load
from truekeep.rules.model import LANES, Fault, Lane, Loaded, Rule
from truekeep.types import Response, Severity

FILE = "rules.toml"
MAX_BYTES = 1_000_000
"""It is read before anything is known about it."""


@dataclass(frozen=True, slots=True)
class RuleSource:
    """A file or directory of rules, and the lane its rules run in."""

    path: Path
    lane: Lane = "alert"


@dataclass(frozen=True, slots=True)
class Override:
    """What one rule is changed to, and why. ``response`` or ``severity`` unset leaves the rule's own."""

    reason: str
    response: Response | None = None
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class Registry:
    """The user's additions; every change to a rule carries its reason."""

    sources: tuple[RuleSource, ...] = ()
    overrides: Mapping[str, Override] = field(default_factory=dict)
    suppressions: Mapping[str, str] = field(default_factory=dict)

    def with_source(self, path: Path, lane: Lane) -> Registry:
        """The registry with ``path`` added, or moved to another lane."""
        kept = tuple(source for source in self.sources if source.path != path)
        return replace(self, sources=(*kept, RuleSource(path, lane)))

    def without_source(self, path: Path) -> Registry:
        """The registry without ``path``."""
        return replace(self, sources=tuple(source for source in self.sources if source.path != path))


def read_registry(config_dir: Path) -> Registry:
    """The registry in ``config_dir``; an empty one if there is none. Anything unknown in it is an error."""
    import tomllib  # noqa: PLC0415  # most keeps have no registry

    file = config_dir / FILE
    try:
        data = disk.read_trusted(file, 10 * MAX_BYTES)
    except FileNotFoundError:
        return Registry()
    except disk.UnsafeFile:
        raise ConfigError(
            f"{FILE} is not believed, because others can write it or its directory",
            code="config_unsafe",
            hint=f"chmod go-w {file} {config_dir}",
        ) from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{FILE} is larger than {MAX_BYTES:,} bytes")
    try:
        table = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{FILE} cannot be read: {error}") from None
    unknown = set(table) - {"source", "override", "suppress"}
    if unknown:
        raise ConfigError(f"{FILE} has unknown tables: {', '.join(sorted(unknown))}")
    return Registry(
        sources=tuple(_source(entry) for entry in _list(table, "source")),
        overrides={str(_need(entry, "id", "override")): _override(entry) for entry in _list(table, "override")},
        suppressions={
            str(_need(entry, "id", "suppress")): str(_need(entry, "reason", "suppress"))
            for entry in _list(table, "suppress")
        },
    )


def write_registry(config_dir: Path, registry: Registry) -> None:
    """Write the registry in place of the old one, all or nothing."""
    disk.make_directory(config_dir)
    disk.replace(config_dir / FILE, _rendered(registry).encode())


def active(config_dir: Path) -> Loaded:
    """The built-in rules and the user's, with lanes, overrides and suppressions applied."""
    return combined(builtin(), read_registry(config_dir))


def changed_digest(base: str, registry: Registry) -> str:
    """The digest of rules with that digest after the registry's overrides and suppressions."""
    digest = hashlib.sha256(base.encode())
    digest.update(_rendered(registry).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def combined(base: Loaded, registry: Registry) -> Loaded:
    """``base`` with the registry's rules added and its changes made; what cannot be applied is a fault."""
    faults = list(base.faults)
    rules = {rule.id: rule for rule in base.rules}
    added = hashlib.sha256()
    for source in registry.sources:
        loaded = load([source.path])
        faults += loaded.faults
        added.update(f"{loaded.digest} {source.lane}\n".encode())
        for rule in loaded.rules:
            if rule.id in rules:
                reason = f"id '{rule.id}' is already used by {rules[rule.id].file}"
                faults.append(Fault(rule.file, rule.line, reason, "error", rule.id))
            elif rule.runs_in(source.lane) and not (rule.needs_confirmation and source.lane != "hunt"):
                rules[rule.id] = rule
    faults += _unknown_ids(registry, rules)
    digest = base.digest + (added.hexdigest() if registry.sources else "")
    kept = tuple(_changed(rule, registry) for rule in rules.values() if rule.id not in registry.suppressions)
    return Loaded(kept, tuple(faults), changed_digest(digest, registry))


def _changed(rule: Rule, registry: Registry) -> Rule:
    override = registry.overrides.get(rule.id)
    if override is None:
        return rule
    return replace(
        rule,
        response=rule.response if override.response is None else override.response,
        severity=rule.severity if override.severity is None else override.severity,
    )


def _unknown_ids(registry: Registry, rules: Mapping[str, Rule]) -> list[Fault]:
    named = [*registry.overrides, *registry.suppressions]
    return [
        Fault(FILE, 0, f"'{rule_id[:64]}' is overridden or suppressed but is not a loaded rule", "warning")
        for rule_id in named
        if rule_id not in rules
    ]


def _list(table: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    entries = table.get(key, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ConfigError(f"{FILE}: write each {key} as [[{key}]]")
    return entries


def _need(entry: Mapping[str, Any], key: str, table: str) -> Any:
    value = entry.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"{FILE}: every [[{table}]] needs '{key}'", hint="Say why in 'reason'; it is kept and shown.")
    return value


def _source(entry: Mapping[str, Any]) -> RuleSource:
    lane = entry.get("lane", "alert")
    if lane not in get_args(Lane):
        raise ConfigError(f"{FILE}: lane must be one of {', '.join(LANES)}")
    return RuleSource(Path(str(_need(entry, "path", "source"))), lane)


def _override(entry: Mapping[str, Any]) -> Override:
    try:
        response = Response(entry["response"]) if "response" in entry else None
        severity = Severity[str(entry["severity"]).upper()] if "severity" in entry else None
    except (ValueError, KeyError):
        raise ConfigError(f"{FILE}: an override's response or severity is not one there is") from None
    return Override(str(_need(entry, "reason", "override")), response, severity)


def _rendered(registry: Registry) -> str:
    """The registry as TOML; JSON strings are TOML strings."""
    lines = ["# Written by `truekeep rules`; safe to edit."]
    for source in registry.sources:
        lines += ["", "[[source]]", f"path = {json.dumps(str(source.path))}", f'lane = "{source.lane}"']
    for rule_id, override in registry.overrides.items():
        lines += ["", "[[override]]", f"id = {json.dumps(rule_id)}"]
        if override.response is not None:
            lines.append(f'response = "{override.response.value}"')
        if override.severity is not None:
            lines.append(f'severity = "{override.severity.label}"')
        lines.append(f"reason = {json.dumps(override.reason)}")
    for rule_id, reason in registry.suppressions.items():
        lines += ["", "[[suppress]]", f"id = {json.dumps(rule_id)}", f"reason = {json.dumps(reason)}"]
    return "\n".join(lines) + "\n"
