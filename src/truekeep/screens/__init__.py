"""Screens: they report what they see in a candidate and never decide."""

from truekeep.screens.base import Screen, Screened

__all__ = ["Screen", "Screened", "default_screens"]


def default_screens() -> tuple[Screen, ...]:
    """The screens that need no configuration, quickest first; each loads its data when it is first used."""
    from truekeep.screens.credentials import credentials  # noqa: PLC0415 - keeps `import truekeep` quick
    from truekeep.screens.disguise import disguised_text  # noqa: PLC0415
    from truekeep.screens.hearsay import hearsay  # noqa: PLC0415
    from truekeep.screens.hidden import hidden_text  # noqa: PLC0415
    from truekeep.screens.instruction import instruction_like  # noqa: PLC0415
    from truekeep.screens.learned import learned  # noqa: PLC0415
    from truekeep.screens.stuffing import stuffing  # noqa: PLC0415

    return (hidden_text, disguised_text, credentials, stuffing, instruction_like, learned, hearsay)
