"""Signals: what happens in a keep, told to the systems that operators have already."""
