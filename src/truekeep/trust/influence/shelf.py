"""How long what is unproven stays. The owner's words and what a person approved never fade. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from truekeep.trust.origin import is_lasting
from truekeep.types import Approval, Standing


@dataclass(frozen=True, slots=True)
class Shelf:
    """Shelf lives in days, counted from when a memory was written; zero is for ever."""

    hearsay_days: float = 0.0
    enrolled_days: float = 0.0

    def fades_at(self, standing: Standing, approval: Approval | None, written_at: datetime) -> datetime | None:
        """When a memory that has not come to be able to act by then expires; what may act does not."""
        if is_lasting(standing, approval):
            return None
        days = self.enrolled_days if standing is Standing.ENROLLED else self.hearsay_days
        try:
            return written_at + timedelta(days=days) if days > 0 else None
        except OverflowError:
            return None
