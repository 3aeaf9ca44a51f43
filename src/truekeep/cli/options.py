"""The options every command shares, and the keep they lead to."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from truekeep.errors import MissingExtra

if TYPE_CHECKING:
    from truekeep.keep import Keep

Decorated = Callable[..., Any]


def formatted(command: Decorated) -> Decorated:
    """``--format``."""
    choice = click.Choice(["text", "json"])
    return click.option("--format", "output", type=choice, default="text", help="How to print the answer.")(command)


def common(command: Decorated) -> Decorated:
    """``--home`` and ``--format``."""
    home = click.option(
        "--home",
        type=click.Path(file_okay=False),
        envvar="TRUEKEEP_HOME",
        help="Where data, keys and settings are. Default: the XDG directories.",
    )
    return home(formatted(command))


def with_keep(command: Decorated) -> Decorated:
    """``--keep`` and the common options."""
    keep = click.option(
        "--keep",
        "keep_name",
        envvar="TRUEKEEP_KEEP",
        default="default",
        show_default=True,
        help="Which owner's memory.",
    )
    return common(keep(command))


def require_extra(extra: str, *modules: str) -> None:
    """Say the one line that installs what a command needs, if that is missing."""
    if any(find_spec(name) is None for name in modules):
        raise MissingExtra(extra)


def open_keep(keep_name: str, home: str | None, policy: str | None = None) -> Keep:
    """The keep that the options name."""
    from truekeep.keep import Keep  # noqa: PLC0415 - the library is heavier than the help text

    return Keep.open(keep_name, home=home, policy=policy)
