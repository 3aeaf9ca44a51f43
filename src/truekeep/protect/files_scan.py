"""Looks for threats in instruction files: own rules, the built-in pack but for rules against mere orders, two screens.

Orders are normal in these files. What counts is what an order is for: sending data out, running foreign code, reading
credentials, switching checks off, hiding from people, and spreading into other memory files.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from truekeep.config import Paths
from truekeep.data import read_table
from truekeep.errors import RuleError
from truekeep.protect.files_walk import InstructionFile
from truekeep.rules import Engine, Event, Match, Rule, Scan, ScanLimits, active, load
from truekeep.rules.expression import any_of
from truekeep.rules.loader import BUILTIN
from truekeep.rules.result import excerpt
from truekeep.rules.sarif import Scanned
from truekeep.screens.hidden import disguised_text, hidden_text
from truekeep.screens.panel import Screened
from truekeep.types import Finding, Response

RULES = BUILTIN.parent / "protect" / "rules"
_ROUNDS = 25
"""Times one file is looked at. Each shows every rule's first place, so a file full of plants ends as an overrun."""
_LIMITS = ScanLimits(characters=1_000_000, seconds=20.0)
"""A whole instruction file is one text; its size is bounded by the walk."""


class InstructionScanner:
    """One engine for all files of a scan."""

    def __init__(self, paths: Paths) -> None:
        self._engine = Engine(instruction_rules(paths.config), limits=_LIMITS, cache_dir=paths.cache / "rules")

    def scanned(self, file: InstructionFile) -> Scanned:
        """What is found in one file; one that could not be read is an overrun, which is never clean."""
        if file.unread:
            return Scanned(file.name, "", Scan((), file.unread))
        text = file.text
        if not text.strip():
            return Scanned(file.name, text, Scan(()))
        matches, overrun = self._every_place(text)
        seen = {match.rule.id for match in matches}
        screened = [match for match in _of_screens(text) if match.rule.id not in seen]
        ordered = sorted((*matches, *screened), key=lambda match: (match.span, match.rule.id))
        return Scanned(file.name, text, Scan(tuple(ordered), overrun))

    def _every_place(self, text: str) -> tuple[list[Match], str | None]:
        """Every place at which a rule matches. A scan shows the first one of each, so those are blanked for the next.

        Otherwise a harmless match that somebody accepted would hide a hostile one further down.
        """
        found: list[Match] = []
        left = text
        for _ in range(_ROUNDS):
            scan = self._engine.scan(Event.memory_write(left))
            found += scan.matches
            if scan.overrun or not scan.matches:
                return found, scan.overrun
            blanked = _blanked(left, scan.matches)
            if blanked == left:
                return found, None
            left = blanked
        return found, "there are more findings than are listed"


def instruction_rules(config: Path) -> tuple[Rule, ...]:
    """The rules that instruction files are looked at with, the operator's own included."""
    left_out = {entry["rule"] for entry in read_table("protect", "instruction_files.toml")["left_out"]}
    kept = [rule for rule in active(config).rules if rule.id not in left_out]
    return (*kept, *_own_rules())


@cache
def _own_rules() -> tuple[Rule, ...]:
    loaded = load([RULES], check_patterns=False)
    if loaded.errors:
        raise RuleError(f"the rules for instruction files are broken; first: {loaded.errors[0]}")
    return loaded.rules


def _blanked(text: str, matches: Iterable[Match]) -> str:
    """The text with what matched replaced by blanks; lines stay where they are."""
    for match in matches:
        start, end = match.span
        hidden = "".join("\n" if char == "\n" else " " for char in text[start:end])
        text = text[:start] + hidden + text[end:]
    return text


def _of_screens(text: str) -> list[Match]:
    """What the screens see that no rule can say: characters nobody sees, and language in disguise."""
    screened = Screened({"text": text})
    return [_as_match(text, finding) for finding in (*hidden_text(screened), *disguised_text(screened))]


def _as_match(text: str, finding: Finding) -> Match:
    span = finding.span
    rule = Rule(
        id=finding.rule_id,
        title=finding.reason[:1].upper() + finding.reason[1:],
        description=finding.reason,
        severity=finding.severity,
        status="stable",
        maturity="stable",
        lane="enforce",
        threat=finding.threat,
        response=Response.QUARANTINE,
        scopes=frozenset({"strict"}),
        source="screens",
        conditions=(),
        expression=any_of(()),
        combination="any",
    )
    return Match(rule, "screen", "content", span, "raw", excerpt(text, span))
