"""``truekeep rules``: list, show, lint, test, count, add and remove threat rules."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from truekeep.cli.failure import REFUSED
from truekeep.cli.options import Decorated
from truekeep.cli.output import print_json
from truekeep.errors import InvalidRequest, UnknownId
from truekeep.trust.fence import one_line, sanitised

if TYPE_CHECKING:
    from truekeep.rules import Fault, Loaded, Rule

_home = click.option("--home", type=click.Path(file_okay=False), envvar="TRUEKEEP_HOME", help="Where settings are.")
_paths = click.argument("paths", nargs=-1, type=click.Path())


def _format(*choices: str) -> Callable[[Decorated], Decorated]:
    kind = click.Choice(["text", *choices])
    return click.option("--format", "output", type=kind, default="text", help="How to print it.")


@click.group()
def rules() -> None:
    """List, test, lint and add threat rules."""


@rules.command("list")
@_paths
@click.option("--lane", type=click.Choice(["enforce", "alert", "hunt"]), help="Only rules that run in this lane.")
@_format("json")
@_home
def list_rules(paths: tuple[str, ...], lane: Any, output: str, home: str | None) -> None:
    """List the rules in force, or those under PATHS."""
    loaded = _loaded(paths, home)
    chosen = [rule for rule in loaded.rules if lane is None or rule.runs_in(lane)]
    if output == "json":
        print_json([_brief(rule) for rule in chosen])
    else:
        for rule in chosen:
            lane_name = rule.lane or "never"
            title = one_line(rule.title)
            click.echo(f"{rule.id}  {rule.severity.label:<8}  {lane_name:<7}  {rule.response.value:<10}  {title}")
    _say_faults(loaded)


@rules.command()
@click.argument("rule_id")
@click.argument("paths", nargs=-1, type=click.Path())
@_format("json")
@_home
def show(rule_id: str, paths: tuple[str, ...], output: str, home: str | None) -> None:
    """Show one rule: what it looks for, where, and what happens on a match."""
    loaded = _loaded(paths, home)
    rule = next((rule for rule in loaded.rules if rule.id == rule_id), None)
    if rule is None:
        raise UnknownId("no rule of that id is loaded", hint="Run 'truekeep rules list' to see them.")
    if output == "json":
        print_json(_full(rule))
        return
    click.echo(f"{click.style(rule.id, bold=True)}  {one_line(rule.title)}")
    click.echo(f"{rule.severity.label}, {rule.threat.value}, {rule.response.value}, lane {rule.lane or 'never'}")
    click.echo(f"from {one_line(str(rule.file))}:{rule.line}")
    if rule.skipped:
        click.echo(f"skipped: {one_line(rule.skipped)}")
    click.echo(f"\n{sanitised(rule.description)}\n\nfires when: {one_line(rule.combination)}")
    for condition in rule.conditions:
        for spec in condition.patterns:
            click.echo(f"  {condition.name}. {condition.field} {spec.operator} {one_line(spec.source)}")
        if condition.metric:
            click.echo(f"  {condition.name}. {condition.metric} {condition.operator} {condition.threshold:g}")
    click.echo(f"\n{len(rule.cases)} test cases; references: {one_line(', '.join(rule.references)) or 'none'}")


@rules.command()
@_paths
@click.option(
    "--benign", type=click.Path(exists=True, dir_okay=False), help="A file of honest texts, one a line or JSON lines."
)
@click.option("--cases/--no-cases", default=True, help="Run the rules' own test cases as well.")
@_format("json", "sarif")
@_home
def lint(paths: tuple[str, ...], benign: str | None, cases: bool, output: str, home: str | None) -> None:
    """Find what is wrong with rules: broken files, slow patterns, dead conditions, missing cases, false alarms."""
    from truekeep.rules.lint import lint as lint_rules  # noqa: PLC0415 - the library is heavier than the help text

    faults = lint_rules(_loaded(paths, home), benign=_benign(benign), run=cases)
    if output == "json":
        print_json([fault.as_dict() for fault in faults])
    elif output == "sarif":
        from truekeep import __version__  # noqa: PLC0415 - only for this format
        from truekeep.rules.sarif import fault_log  # noqa: PLC0415

        print_json(fault_log(faults, __version__))
    else:
        _print_faults(faults)
    if any(fault.severity == "error" for fault in faults):
        sys.exit(REFUSED)


@rules.command()
@_paths
@_format("json", "junit")
@_home
def test(paths: tuple[str, ...], output: str, home: str | None) -> None:
    """Run the rules' own test cases."""
    from truekeep.rules.casework import run_cases  # noqa: PLC0415 - the library is heavier than the help text

    loaded = _loaded(paths, home)
    outcomes = [outcome for rule in _progress(loaded.rules) for outcome in run_cases([rule])]
    counts = Counter(outcome.result for outcome in outcomes)
    failed = [outcome for outcome in outcomes if outcome.result == "failed"]
    if output == "junit":
        from truekeep.rules.junit import junit  # noqa: PLC0415 - only for this format

        click.echo(junit(outcomes), nl=False)
    elif output == "json":
        members = [
            {"rule": o.rule.id, "group": o.case.group, "number": o.number, "result": o.result, "line": o.case.line}
            for o in outcomes
        ]
        click.echo(json.dumps({"counts": dict(counts), "cases": members}, indent=2))
    else:
        for outcome in failed:
            wanted = "to fire" if outcome.case.fires else "not to fire"
            click.echo(
                f"{one_line(str(outcome.rule.file))}:{outcome.case.line}: {outcome.rule.id} expected {wanted}"
                f" ({one_line(outcome.case.group)})"
            )
        click.echo(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    _say_faults(loaded)
    if failed or loaded.errors:
        sys.exit(REFUSED)


@rules.command()
@_paths
@_format("json")
@_home
def stats(paths: tuple[str, ...], output: str, home: str | None) -> None:
    """Count rules, conditions, patterns and cases by what they are."""
    loaded = _loaded(paths, home)
    summary = _summary(loaded)
    if output == "json":
        click.echo(json.dumps(summary, indent=2))
        return
    for name, value in summary.items():
        shown = ", ".join(f"{key} {count}" for key, count in value.items()) if isinstance(value, dict) else value
        click.echo(f"{name:<14} {shown}")


@rules.command()
@click.argument("path", type=click.Path(exists=True))
@click.option("--lane", type=click.Choice(["enforce", "alert", "hunt"]), default="alert", show_default=True)
@_home
@_format("json")
def add(path: str, lane: Any, home: str | None, output: str) -> None:
    """Use the rules under PATH as well, from now on. They stay where they are."""
    from truekeep.config import Paths  # noqa: PLC0415 - the library is heavier than the help text
    from truekeep.rules import load  # noqa: PLC0415
    from truekeep.rules.registry import read_registry, write_registry  # noqa: PLC0415

    where = Path(path).expanduser().resolve()
    loaded = load([where])
    if not loaded.rules:
        _print_faults(loaded.faults)
        raise InvalidRequest("no usable rules there; nothing was added")
    config = Paths.resolve(home).config
    write_registry(config, read_registry(config).with_source(where, lane))
    running = sum(rule.runs_in(lane) and not rule.skipped for rule in loaded.rules)
    words = f"added {len(loaded.rules)} rules, {running} of which run in lane {lane}"
    _answer(output, words, {"added": len(loaded.rules), "running": running, "lane": lane})
    _say_faults(loaded)


@rules.command()
@_home
@_format("json")
def prepare(home: str | None, output: str) -> None:
    """Compile the rules in force for fast scanning. Long-lived processes do this by themselves."""
    from truekeep.config import Paths  # noqa: PLC0415 - the library is heavier than the help text
    from truekeep.rules import Engine, active  # noqa: PLC0415

    paths = Paths.resolve(home)
    engine = Engine(active(paths.config).rules, cache_dir=paths.cache / "rules")
    engine.wait()
    words = f"{len(engine.rules)} rules ready ({engine.prefilter})"
    _answer(output, words, {"rules": len(engine.rules), "prefilter": str(engine.prefilter)})


@rules.command()
@click.argument("path", type=click.Path())
@_home
@_format("json")
def remove(path: str, home: str | None, output: str) -> None:
    """Stop using the rules under PATH."""
    from truekeep.config import Paths  # noqa: PLC0415 - the library is heavier than the help text
    from truekeep.rules.registry import read_registry, write_registry  # noqa: PLC0415

    config = Paths.resolve(home).config
    registry = read_registry(config)
    where = Path(path).expanduser().resolve()
    smaller = registry.without_source(where)
    if smaller == registry:
        raise UnknownId("that path was not added", hint="Run 'truekeep rules stats' to see which were.")
    write_registry(config, smaller)
    _answer(output, "removed", {"removed": True})


def _answer(output: str, words: str, data: dict[str, Any]) -> None:
    click.echo(json.dumps(data) if output == "json" else words)


def _loaded(paths: Sequence[str], home: str | None) -> Loaded:
    from truekeep.config import Paths  # noqa: PLC0415 - the library is heavier than the help text
    from truekeep.rules import active, load  # noqa: PLC0415

    return load([Path(path) for path in paths]) if paths else active(Paths.resolve(home).config)


def _say_faults(loaded: Loaded) -> None:
    for fault in loaded.errors:
        click.echo(one_line(str(fault)), err=True)


def _print_faults(faults: Sequence[Fault]) -> None:
    for fault in faults:
        click.echo(one_line(str(fault)))
    errors = sum(fault.severity == "error" for fault in faults)
    click.echo(f"{errors} errors, {len(faults) - errors} warnings", err=True)


def _progress(items: Sequence[Rule]) -> Iterator[Rule]:
    """A bar on standard error, on a terminal only."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console  # noqa: PLC0415 - only on a terminal
    from rich.progress import track  # noqa: PLC0415

    yield from track(items, "Testing", console=Console(stderr=True), transient=True)


def _benign(path: str | None) -> list[str]:
    if path is None:
        return []
    from truekeep.cli.scan import pieces  # noqa: PLC0415 - shares its reading of files

    if Path(path).suffix.lower() in (".jsonl", ".ndjson"):
        return [piece.text for piece in pieces((path,))]
    return [line for line in Path(path).read_text(encoding="utf-8").splitlines() if line.strip()]


def _brief(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "title": rule.title,
        "severity": rule.severity.label,
        "status": rule.status,
        "maturity": rule.maturity,
        "lane": rule.lane,
        "class": rule.threat.value,
        "response": rule.response.value,
        "scopes": sorted(rule.scopes),
        "skipped": rule.skipped,
        "file": rule.file,
    }


def _full(rule: Rule) -> dict[str, Any]:
    from truekeep.rules.casework import plain  # noqa: PLC0415 - only for this format

    conditions = [
        {
            "name": condition.name,
            "field": condition.field,
            "patterns": [{"operator": spec.operator, "value": spec.source} for spec in condition.patterns],
            "metric": condition.metric,
            "line": condition.line,
        }
        for condition in rule.conditions
    ]
    return {
        **_brief(rule),
        "description": rule.description,
        "condition": rule.combination,
        "conditions": conditions,
        "actions": list(rule.actions),
        "message_template": rule.message_template,
        "references": plain(rule.references),
        "compliance": plain(rule.compliance),
        "cases": len(rule.cases),
    }


def _summary(loaded: Loaded) -> dict[str, Any]:
    conditions = [condition for rule in loaded.rules for condition in rule.conditions]
    specs = {spec for condition in conditions for spec in condition.patterns}
    cases = Counter(case.group for rule in loaded.rules for case in rule.cases)
    return {
        "rules": len(loaded.rules),
        "conditions": len(conditions),
        "patterns": len(specs),
        "cases": dict(cases),
        "severities": dict(Counter(rule.severity.label for rule in loaded.rules)),
        "lanes": dict(Counter(rule.lane or "never" for rule in loaded.rules)),
        "responses": dict(Counter(rule.response.value for rule in loaded.rules)),
        "sources": dict(Counter(rule.source for rule in loaded.rules)),
        "skipped": sum(bool(rule.skipped) for rule in loaded.rules),
        "errors": len(loaded.errors),
        "digest": loaded.digest,
    }
