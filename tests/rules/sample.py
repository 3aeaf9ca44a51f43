"""Rules for tests, written as YAML the way an author would."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

from truekeep.rules import Loaded, Rule, load

HEAD = """\
id: {id}
title: A rule for tests
status: stable
maturity: stable
severity: high
description: Says what it is for.
tags: {{category: prompt-injection}}
agent_source: {{type: {source}}}
response: {{actions: [block_input]}}
"""


def rule_text(detection: str, *, rule_id: str = "sample_rule", source: str = "llm_io", extra: str = "") -> str:
    """A rule file with ``detection`` (YAML) in it."""
    head = HEAD.format(id=rule_id, source=source)
    return f"{head}detection:\n{indent(dedent(detection).strip(), '  ')}\n{dedent(extra)}"


def simple(pattern: str, *, rule_id: str = "sample_rule", field: str = "content", source: str = "llm_io") -> str:
    """A rule file with one regex."""
    quoted = pattern.replace("'", "''")
    detection = f"conditions:\n  - {{field: {field}, operator: regex, value: '{quoted}'}}\ncondition: any"
    return rule_text(detection, rule_id=rule_id, source=source)


def load_text(folder: Path, text: str, name: str = "rule.yaml") -> Loaded:
    """What loading a file with ``text`` gives."""
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return load([file])


def one(folder: Path, text: str) -> Rule:
    """The one rule in ``text``, which must be without fault."""
    loaded = load_text(folder, text)
    assert not loaded.errors, loaded.errors
    return loaded.rules[0]
