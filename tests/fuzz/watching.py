"""What counts as a finding: any error but the house's own, a call that takes too long, a promise that does not hold."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from typing import TypeVar

from tests.yardstick import allowed
from truekeep import TruekeepError

SLOWEST = 1.0
"""Seconds of CPU that one call may take."""
Answer = TypeVar("Answer")


class Finding(Exception):
    """Something that must not happen."""


def watched(what: str, call: Callable[[], Answer]) -> Answer | None:
    """Make a call; it answers or raises one of the house's errors, soon. Gives none for an error."""
    started = time.thread_time()
    try:
        return call()
    except TruekeepError as error:
        promise(bool(error.code and str(error)), f"{what}: an error without code or message")
        return None
    except Exception as error:
        raise Finding(f"{what}: {type(error).__name__}: {traceback.format_exc(limit=-4)}") from error
    finally:
        spent = time.thread_time() - started
        promise(spent <= SLOWEST or spent <= allowed(SLOWEST), f"{what}: {spent:.2f} s of CPU")


def promise(holds: bool, what: str) -> None:
    """A promise that has to hold."""
    if not holds:
        raise Finding(what)
