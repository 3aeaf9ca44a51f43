"""The screens in force: the built-in ones and the rules, the operator's own included."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path

from truekeep import __version__
from truekeep.config import Paths
from truekeep.errors import UnknownScope
from truekeep.rules import Engine, Event, Loaded, active, builtin
from truekeep.rules.loader import builtin_digest
from truekeep.rules.registry import FILE, changed_digest, combined, read_registry
from truekeep.screens.credentials import credentials
from truekeep.screens.hearsay import hearsay
from truekeep.screens.hidden import disguised_text, hidden_text
from truekeep.screens.instruction import instruction_like
from truekeep.screens.panel import Panel, Screen, Screened
from truekeep.screens.stuffing import stuffing
from truekeep.types import Finding, Severity, Standing, Threat

DEFAULT_SCREENS: tuple[Screen, ...] = (
    hidden_text,
    disguised_text,
    credentials,
    stuffing,
    instruction_like,
    hearsay,
)
"""The screens that need no configuration, quickest first; each loads its data when it is first used."""
SCOPES = ("relaxed", "strict")
_CODE = 4
"""Raised whenever the code of a screen, not only its data, comes to answer differently."""
Stamp = tuple[tuple[int, int] | None, ...]
_panels: dict[tuple[str, str], Panel] = {}
_engines: dict[str, Engine] = {}


class RuleScreen:
    """Runs one rule engine over everything that is to be screened."""

    def __init__(self, engine: Engine, scope: str = "strict") -> None:
        self.engine = engine
        self.scope = scope

    def __call__(self, screened: Screened) -> list[Finding]:
        """One finding for each rule and field; a scan that was cut short is a finding too."""
        return [finding for name in screened.fields for finding in self._field(name, screened.fields[name])]

    def _field(self, name: str, text: str) -> Iterator[Finding]:
        scan = self.engine.scan(Event.memory_write(text))
        for match in scan.matches:
            rule = match.rule
            if self.scope in rule.scopes:
                yield Finding(
                    rule_id=rule.id,
                    threat=rule.threat,
                    severity=rule.severity,
                    span=match.span,
                    field=name,
                    screen="rules",
                    response=rule.response,
                    reason=rule.title,
                )
        if scan.overrun is not None:
            yield Finding("scan_overrun", Threat.SCREEN_FAILURE, Severity.HIGH, field=name, reason=scan.overrun)


class LivePanel:
    """The panel of an open keep: rules that are added or removed while it is open count from the next call on."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._stamp: Stamp | None = None
        self._panel = self.current()

    @property
    def digest(self) -> str:
        """The digest of the screens in force at this moment."""
        return self.current().digest

    def examine(self, fields: Mapping[str, str], standing: Standing) -> list[Finding]:
        """Everything any screen in force sees in these fields."""
        return self.current().examine(fields, standing)

    def current(self) -> Panel:
        """The screens with the rules that are registered now."""
        found = stamp(self._paths.config)
        if self._stamp is None or found != self._stamp:
            self._panel = panel("strict", self._paths)
            self._stamp = found
        return self._panel


def panel(scope: str = "strict", paths: Paths | None = None) -> Panel:
    """The screens of one scope, with the rules that are in force now.

    The operator's own files are read at once, since they may change; the product's rules when there is something
    to scan, since reading them takes longer than opening a keep.
    """
    if scope not in SCOPES:
        raise UnknownScope("No such scan scope.")
    where = paths or Paths.resolve()
    registry = read_registry(where.config)
    if registry.sources:
        loaded = combined(builtin(), registry)
        return _panel(loaded.digest, scope, lambda: _engine(loaded, where.cache))
    digest = changed_digest(builtin_digest(), registry)
    return _panel(digest, scope, lambda: _engine(combined(builtin(), registry), where.cache))


def _panel(rules: str, scope: str, engine: Callable[[], Engine]) -> Panel:
    """One panel for each set of rules and scope, however many keeps use it."""
    if (rules, scope) not in _panels:
        version = hashlib.sha256(f"{__version__} {_CODE}\n{scope}\n{rules}\n{_data_digest()}".encode()).hexdigest()
        _panels[rules, scope] = Panel(lambda: (RuleScreen(engine(), scope), *_others(scope)), version)
    return _panels[rules, scope]


def _others(scope: str) -> tuple[Screen, ...]:
    # The relaxed scope is for text that may well be an order, such as a chat: only clear attacks count there.
    return DEFAULT_SCREENS if scope == "strict" else (hidden_text,)


def engine_in_use(paths: Paths) -> tuple[int, str]:
    """How many rules are in force, and which engine looks for all of them at once."""
    engine = _engine(active(paths.config), paths.cache)
    return len(engine.rules), str(engine.prefilter)


@cache
def _data_digest() -> str:
    """The hash of the tables and weights that the built-in screens answer from."""
    data = Path(str(resources.files("truekeep") / "data"))
    folders = (data / "screens", data / "languages")
    digest = hashlib.sha256()
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        digest.update(path.relative_to(data).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _engine(loaded: Loaded, cache_dir: Path) -> Engine:
    """One engine for each set of rules, however many keeps use it."""
    if loaded.digest not in _engines:
        _engines[loaded.digest] = Engine(loaded.rules, cache_dir=cache_dir / "rules")
    return _engines[loaded.digest]


def stamp(config: Path) -> Stamp:
    """What changes when the operator adds, changes or removes rules; cheap enough to ask on every call."""
    own = _file_stamp(f"{config}/{FILE}")
    return (own, *(_file_stamp(path) for path in _sources(config, own)))


@cache
def _sources(config: Path, _own: tuple[int, int] | None) -> tuple[str, ...]:
    return tuple(str(source.path) for source in read_registry(config).sources)


def _file_stamp(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - asked on every call, and a Path costs more than the answer
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
