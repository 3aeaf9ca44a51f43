"""Attacks on the defences, and what they came to."""
