"""The threat-rule screen: the rules in force over every field, as findings."""

from __future__ import annotations

from collections.abc import Iterator

from truekeep.rules import Engine, Event
from truekeep.screens.base import Screened
from truekeep.types import Finding, Severity, Threat


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
