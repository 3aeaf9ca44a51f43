"""The reference of the settings, from the classes that read them, with what each is for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from reference.python_api import _prose, _quoted
from reference.source import definition, described_fields, line

CLASSES = (
    ("truekeep.config", "Settings", "config.toml", "TRUEKEEP_"),
    ("truekeep.serve.settings", "ServeSettings", "[serve]", "TRUEKEEP_SERVE_"),
    ("truekeep.signals.webhooks", "WebhookSettings", "[webhooks.NAME]", ""),
)


def settings(module: str, name: str) -> Iterator[tuple[str, str, str, str]]:
    """Each setting: name, type, default, and what it is for."""
    found = definition(module, name)
    if found is not None and isinstance(found[1], ast.ClassDef):
        yield from described_fields(found[1])


def page() -> str:
    """All settings."""
    return "# Settings\n\nA name that nobody knows is an error, never ignored.\n\n" + "\n".join(
        part for one in CLASSES for part in _table(*one)
    )


def _table(module: str, name: str, place: str, prefix: str) -> Iterator[str]:
    where = f"In the environment each is `{prefix}NAME`." if prefix else "In the settings file only."
    yield f"## `{place}`\n\n{where}\n"
    yield "| setting | type | default | what it is for |\n|---|---|---|---|"
    for setting, kind, default, words in settings(module, name):
        yield f"| `{setting}` | `{line(kind)}` | {_quoted(default)} | {_prose(line(words))} |"
    yield ""
