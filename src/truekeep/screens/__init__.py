"""Screens: they report what they see in a candidate and never decide."""
