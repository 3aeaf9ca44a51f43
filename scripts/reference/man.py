"""The man page, from the commands; ``python scripts/reference/man.py`` writes it anew."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.commands import commands

PAGE = Path(__file__).parents[2] / "docs" / "man" / "truekeep.1"
_TOP = r""".\" Written by scripts/reference/man.py.
.TH TRUEKEEP 1 "" "truekeep" "User Commands"
.SH NAME
truekeep \- long-term memory for AI agents that cannot be poisoned into acting
.SH SYNOPSIS
.B truekeep
.I COMMAND
.RI [ OPTION ]...
.SH DESCRIPTION
Memories are kept in one encrypted file per owner. Whether one may drive an action follows from the channel it came
over, never from its wording.
.B truekeep
.I COMMAND
.B \-\-help
lists a command's options.
.SH COMMON OPTIONS
.TP
.BI \-\-home " DIRECTORY"
Where data, keys and settings are. Default: the XDG directories.
.TP
.BI \-\-keep " NAME"
Which owner's memory. Default:
.BR default .
.TP
.BR \-\-format " " text | json
How to print the answer.
"""
_END = r""".SH EXIT STATUS
.TP
.B 0
Fine.
.TP
.B 1
There were findings, or it was refused or held.
.TP
.B 2
Wrong use, or a part that is not installed.
.TP
.B 3
An internal error.
.SH ENVIRONMENT
.TP
.B TRUEKEEP_HOME
As
.BR \-\-home .
.TP
.B TRUEKEEP_KEEP
As
.BR \-\-keep .
.TP
.B TRUEKEEP_CONFIG
A directory of settings and rules that lies apart from the data.
.TP
.B TRUEKEEP_KEYS
A directory of keys that lies apart from the data.
.TP
.B NO_COLOR
Print without colours.
.PP
Every setting can be given as
.BR TRUEKEEP_ \fINAME\fR.
.SH SEE ALSO
.BR "truekeep doctor" ,
which says what is installed and where things are.
"""


def page() -> str:
    """All commands with their first sentence."""
    parts = [
        f".TP\n.B {_plain(name)}\n{_plain(command.get_short_help_str(limit=400))}\n" for name, command in commands()
    ]
    return _TOP + ".SH COMMANDS\n" + "".join(parts) + _END


def _plain(text: str) -> str:
    """Text that groff takes as it is: nothing in it is a request or an escape."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    escaped = "".join(sign if sign.isascii() else rf"\[u{ord(sign):04X}]" for sign in escaped)
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), "utf-8")
