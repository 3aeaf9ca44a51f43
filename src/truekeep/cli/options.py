"""The options every command shares, and the keep they lead to."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from truekeep.errors import MissingExtra, UnknownId

if TYPE_CHECKING:
    from truekeep.keep import Keep

Decorated = Callable[..., Any]
_DEFAULT = "default"
_NAMED = 10
_SECONDS_OF_A_TURN = 0.0005


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
        default=_DEFAULT,
        show_default=True,
        help="Which owner's memory.",
    )
    return common(keep(command))


def require_extra(extra: str, *modules: str) -> None:
    """Say the one line that installs what a command needs, if that is missing."""
    if any(find_spec(name) is None for name in modules):
        raise MissingExtra(extra)


def open_keep(
    keep_name: str, home: str | None, policy: str | None = None, *, new: bool = False, embeds: bool = False
) -> Keep:
    """The keep that the options name. Only a command that writes makes one that is not there yet (``new``).

    One that ``embeds`` a text or two would spend half of its time loading what does that, were it not loaded meanwhile.
    """
    if embeds:
        _load_embedder_ahead(home)
    from truekeep.keep import Keep  # noqa: PLC0415 - the library is heavier than the help text

    if not new:
        require_keep(keep_name, home)
    return Keep.open(keep_name, home=home, policy=policy, background=False)


def _load_embedder_ahead(home: str | None) -> None:
    from truekeep.config import Paths, Settings  # noqa: PLC0415 - the library is heavier than the help text
    from truekeep.embed import expect_few_texts, load_ahead  # noqa: PLC0415

    # A text or two is multiplied by one thread; numpy would start another for every core, which spin.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # The loading thread waits for the interpreter after each file that it checked; five milliseconds a time add up.
    sys.setswitchinterval(_SECONDS_OF_A_TURN)
    expect_few_texts()
    load_ahead(Settings.load(Paths.resolve(home).config).embedder)


def require_keep(keep_name: str, home: str | None) -> None:
    """Refuse a name that was mistyped: an empty keep in its place would look like lost memories, and verify."""
    from truekeep.config import Paths, Settings  # noqa: PLC0415 - the library is heavier than the help text
    from truekeep.stores.files import anchor_path, database_path, keep_names  # noqa: PLC0415
    from truekeep.trust.origin import keep_name as checked  # noqa: PLC0415

    paths, name = Paths.resolve(home), checked(keep_name)
    there = keep_names(paths, Settings.load(paths.config))
    if name in there or database_path(paths, name).exists() or anchor_path(paths, name).exists():
        return
    if name == _DEFAULT and not there:
        return  # a fresh installation: nobody mistyped anything, there is nothing yet
    known = f"Keeps here: {', '.join(there[:_NAMED])}{', …' if len(there) > _NAMED else ''}." if there else ""
    hint = f"{known} 'truekeep remember' makes a new one.".strip()
    raise UnknownId("There is no keep of that name here.", code="unknown_keep", hint=hint)
