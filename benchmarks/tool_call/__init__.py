"""Defences side by side where it counts: at the tool call, each asked about the same calls of the same agent."""
