"""Failures: an error as a line and a hint on standard error, and the exit code that goes with it."""

from __future__ import annotations

import json
import os
import sys
import traceback

import click

from truekeep.errors import InputError, NotAllowed, StoreTampered, TruekeepError, UnknownId
from truekeep.trust.fence import one_line

REFUSED, USAGE, INTERNAL = 1, 2, 3


def explain(error: Exception) -> int:
    """Say what happened and what to do about it; a traceback only when it is asked for."""
    if isinstance(error, click.ClickException):
        return _explain_usage(error)
    if isinstance(error, TruekeepError):
        if _json_wanted():
            told = {name: one_line(value) for name, value in error.as_dict().items()}
            click.echo(json.dumps(told), err=True)
        else:
            click.echo(f"truekeep: {one_line(str(error))}", err=True)
            if since := getattr(error, "since", ""):
                click.echo(f"  known good: {since}", err=True)
            if error.hint:
                click.echo(f"  hint: {one_line(error.hint)}", err=True)
        return _exit_code(error)
    if os.environ.get("TRUEKEEP_DEBUG"):
        traceback.print_exception(error)
    click.echo(f"truekeep: internal error ({type(error).__name__}). Set TRUEKEEP_DEBUG=1 for the details.", err=True)
    return INTERNAL


def _explain_usage(error: click.ClickException) -> int:
    """What the parser says, on one line: it repeats what was typed, perhaps by a program that was told to."""
    context = getattr(error, "ctx", None)
    if isinstance(context, click.Context):
        click.echo(context.get_usage(), err=True)
        click.echo(f"Try '{context.command_path} {context.help_option_names[-1]}' for help.\n", err=True)
    click.echo(f"Error: {one_line(error.format_message())}", err=True)
    return error.exit_code


def _exit_code(error: TruekeepError) -> int:
    if isinstance(error, NotAllowed | StoreTampered):
        return REFUSED
    return USAGE if isinstance(error, InputError | UnknownId) else INTERNAL


def _json_wanted() -> bool:
    arguments = sys.argv[1:]
    return "--format=json" in arguments or ("--format" in arguments and "json" in arguments)
