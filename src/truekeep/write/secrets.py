"""Secrets in what the owner said: the words are remembered with a placeholder, and the secret waits for the owner."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from truekeep.screens.credentials import redact
from truekeep.trust.policy import Ruling
from truekeep.types import Candidate, Decision, Standing, Threat

if TYPE_CHECKING:
    from truekeep.write.judge import Judged

PLACEHOLDER = "[secret]"
SECRET_APART = "secret_apart"  # noqa: S105 - a code
ASKED = Ruling(
    Decision.QUARANTINE, SECRET_APART, "Keep the secret in it? Until you say so, only its place is remembered."
)
_SECRET = frozenset({Threat.CREDENTIAL, Threat.PLANT})


def without_secret(judged: Judged) -> Candidate | None:
    """The owner's words with a placeholder for each secret, if secrets are all that was found in them."""
    candidate = judged.candidate
    if candidate.standing is not Standing.OWNER or judged.ruling.decision is not Decision.QUARANTINE:
        return None
    if not judged.findings or not all(finding.threat in _SECRET for finding in judged.findings):
        return None
    text = redact(candidate.text, PLACEHOLDER)
    return replace(candidate, text=text, gist=None) if text != candidate.text else None
