"""Consolidation: what is remembered more than once becomes one memory, and nothing else changes."""
