"""Adapters: one line in an agent's program, and every way into its context and every call it makes is mediated.

``mediator`` is the part that knows no framework; beside it is one module for each framework. ``conformance`` is the
suite that every adapter passes, ours or anybody's.
"""
