"""Retrieval hijack: how often a planted record comes up, how often it may act, and what the gate costs."""
