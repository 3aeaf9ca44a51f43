"""Salient values: the numbers, amounts, dates, names and addresses that a claim or a call turns on."""

from __future__ import annotations

from dataclasses import replace

from truekeep.text.salient.model import Kind, Salient
from truekeep.text.salient.plain import loose, plain
from truekeep.text.salient.scan import Scan, scan

__all__ = ["Kind", "Salient", "Scan", "loose", "plain", "salient_values", "scan"]


def salient_values(text: str) -> tuple[Salient, ...]:
    """Typed, canonical values in the order of the text, with spans in the raw text."""
    found = scan(text)
    if found.view.text is text:
        return tuple(found.values)
    return tuple(replace(value, span=found.view.raw_span(*value.span)) for value in found.values)
