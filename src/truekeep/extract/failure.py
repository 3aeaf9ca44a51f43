"""What goes wrong when a model is asked; whether to try again is part of the error."""

from __future__ import annotations

from truekeep.errors import TruekeepError


class ModelError(TruekeepError):
    """The extraction model could not be used. Nothing is lost: the conversation stays where it is.

    The message never repeats what the model sent, nor the address or key it was asked with.
    """

    code = "model_failed"
    default_hint = "The conversation stays queued; check the endpoint, the model's name and the limits."

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        hint: str | None = None,
        may_retry: bool = False,
        wait: float | None = None,
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.may_retry = may_retry
        self.wait = wait
        """Seconds the endpoint asked to be left alone, if it did."""
