"""``truekeep audit``: the audit log, read, verified, handed on, and what to do when something is gone.

Each command is loaded when it is called.
"""

from __future__ import annotations

import click

from truekeep.cli.lazy import CommandTable, LazyGroup

_COMMANDS: CommandTable = {
    "events": ("audit_log:events", "Print what happened, in order."),
    "verify": ("audit_log:verify", "Check every row and every event again."),
    "export": ("audit_export:export", "Print every event as a line for a SIEM, or send it to syslog."),
    "evidence": ("audit_evidence:evidence", "Write signed evidence of what is in the log, for an audit."),
    "evidence-verify": ("audit_evidence:evidence_verify", "Check a file of evidence, without the keep."),
    "accept": ("audit_log:accept", "Let a store count as it is, though something is gone."),
    "salvage": ("audit_log:salvage", "Print what still verifies as JSON lines."),
}


@click.group(cls=LazyGroup, table=_COMMANDS)
def audit() -> None:
    """Read and verify the audit log, hand it on, and decide what to do when something is gone."""
