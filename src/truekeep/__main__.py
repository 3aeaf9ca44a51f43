"""``python -m truekeep`` is the command line."""

from truekeep.cli import main

main()
