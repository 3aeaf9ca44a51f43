"""Screens: they report what they see in a candidate and never decide."""

from truekeep.screens.base import Screen, Screened

__all__ = ["Screen", "Screened", "default_screens"]


def default_screens() -> tuple[Screen, ...]:
    """The screens that need no configuration, quickest first."""
    from truekeep.screens.hidden import hidden_text  # noqa: PLC0415 - screens load their data when first used

    return (hidden_text,)
