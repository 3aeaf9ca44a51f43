"""Shell completion."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for SHELL.

    For bash, add to ~/.bashrc:  eval "$(truekeep completion bash)"
    """
    from truekeep.cli import cli  # noqa: PLC0415 - the group loads this module

    kind = get_completion_class(shell)
    if kind is None:
        raise click.ClickException(f"This click has no completion for {shell}.")
    click.echo(kind(cli, {}, "truekeep", "_TRUEKEEP_COMPLETE").source())
