"""Yardsticks that nobody here wrote, and what they say about a keep."""
