"""Tests with a real mem0, which would report to its makers: it looks for the variable when it is first imported."""

import os

os.environ.setdefault("MEM0_TELEMETRY", "False")
