"""Settings on the terminal: what counts, where it was set, and no secret."""

from __future__ import annotations

import os
import re
from dataclasses import fields
from typing import Any
from urllib.parse import urlsplit

import click

from truekeep.cli.options import common
from truekeep.cli.output import console, print_json, table
from truekeep.config import Paths, Settings, default_channels
from truekeep.trust.fence import one_line

_SECRET = ("key", "secret", "token", "password")
_NO_SECRET = frozenset({"judge_key_env", "tls_key", "jwt_keys"})
_MASK = "********"
_PASSWORD = re.compile(r"([?&](?:ssl)?password=)[^&]*", re.IGNORECASE)
"""A password among the options of a connection string."""


@click.group()
def config() -> None:
    """Show the settings that count."""


@config.command()
@common
def show(home: str | None, output: str) -> None:
    """Print every setting, its value and where it was set: default, file or environment."""
    paths = Paths.resolve(home)
    settings = Settings.load(paths.config)
    listed = _general(settings, paths) + _service(settings)
    where = {"data": str(paths.data), "keys": str(paths.keys), "config": str(paths.config / "config.toml")}
    own = sorted(set(settings.channels) - set(default_channels()))
    if output == "json":
        names = {"channels": own, "tools": sorted(settings.tools), "webhooks": sorted(settings.webhooks)}
        print_json({"paths": where, "settings": listed, **names})
        return
    out = console()
    for name, path in where.items():
        out.print(f"{name:7} {one_line(str(path))}", soft_wrap=True)
    listing = table("setting", "from", "value", wide="value")
    for one in listed:
        listing.add_row(one["name"], one["from"], one_line(str(one["value"])))
    out.print(listing)


def _general(settings: Settings, paths: Paths) -> list[dict[str, Any]]:
    names = [entry for entry in fields(Settings) if entry.name not in ("channels", "tools", "serve", "webhooks")]
    written = _written(paths)
    return [
        _entry(
            entry.name,
            getattr(settings, entry.name),
            _source(f"TRUEKEEP_{entry.name.upper()}", in_file=entry.name in written),
        )
        for entry in names
    ]


def _service(settings: Settings) -> list[dict[str, Any]]:
    from truekeep.serve.settings import PREFIX, ServeSettings  # noqa: PLC0415 - loads when it is asked for

    chosen = ServeSettings.load(settings.serve)
    return [
        _entry(
            f"serve.{entry.name}",
            getattr(chosen, entry.name),
            _source(f"{PREFIX}{entry.name.upper()}", in_file=entry.name in settings.serve),
        )
        for entry in fields(ServeSettings)
    ]


def _written(paths: Paths) -> set[str]:
    import tomllib  # noqa: PLC0415 - only here

    path = paths.config / "config.toml"
    return set(tomllib.loads(path.read_text("utf-8"))) if path.is_file() else set()


def _source(variable: str, *, in_file: bool) -> str:
    if variable in os.environ:
        return "environment"
    return "file" if in_file else "default"


def _entry(name: str, value: Any, source: str) -> dict[str, Any]:
    return {"name": name, "value": _masked(name.rpartition(".")[2], value), "from": source}


def _masked(name: str, value: Any) -> Any:
    """A value without what must not be seen over a shoulder: keys, and passwords within addresses."""
    if not isinstance(value, str) or not value:
        return value
    if name not in _NO_SECRET and any(word in name for word in _SECRET):
        return value if value.startswith(("env:", "file:", "command:", "keys")) else _MASK
    return _without_password(value) if "://" in value else value


def _without_password(address: str) -> str:
    """An address without its password, wherever connection strings allow one; one that is not understood is hidden."""
    try:
        where = urlsplit(address)
    except ValueError:
        return _MASK
    if where.password is not None:
        address = address.replace(f":{where.password}@", f":{_MASK}@")
    return _PASSWORD.sub(rf"\1{_MASK}", address)
