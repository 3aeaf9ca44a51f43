"""Scanning without a keep: what the screens and the policy would say of a text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from truekeep.config import OBSERVE_CAP
from truekeep.errors import InvalidRequest, InvalidText
from truekeep.screens.standard import panel
from truekeep.trust.candidate import checked_text
from truekeep.trust.policy import blocked_sentence, decide, preset
from truekeep.types import Finding, Standing, Threat

_OWNER_SOURCE = "user_direct"


def scan_content(text: str, scope: str = "strict") -> list[str]:
    """The ids of the threats in a text, worst first; an empty list means clean."""
    return list(dict.fromkeys(finding.rule_id for finding in threats(text, scope)))


def first_threat_message(text: str, scope: str = "strict") -> str:
    """The sentence a refusal of this text would carry, or an empty string if it is clean."""
    found = threats(text, scope)
    return blocked_sentence(found[0]) if found else ""


def threats(text: str, scope: str = "strict") -> list[Finding]:
    """What the screens of that scope hold against a text, worst first; a harmless preference is no threat."""
    screens = panel(scope)
    if not isinstance(text, str):
        raise InvalidText("The text must be a string.", code="text_not_a_string")
    if not text.strip():
        return []
    findings = screens.examine({"text": checked_text(text, OBSERVE_CAP)}, Standing.OWNER)
    held = [finding for finding in findings if finding.threat is not Threat.PREFERENCE]
    return sorted(held, key=lambda finding: -finding.severity)


def screen_candidate(candidate: Mapping[str, Any]) -> str:
    """``accept``, ``quarantine`` or ``reject`` for an extracted fact with its provenance.

    ``provenance.source_type`` of ``user_direct`` is the owner's channel; anything else, or none, is hearsay.
    """
    if not isinstance(candidate, Mapping) or not isinstance(candidate.get("provenance", {}), Mapping):
        raise InvalidRequest("A candidate is a mapping with 'fact' and 'provenance'.")
    provenance = candidate.get("provenance", {})
    fields = {"text": checked_text(candidate.get("fact"), OBSERVE_CAP)}
    if provenance.get("quote"):
        fields["quote"] = checked_text(provenance["quote"], OBSERVE_CAP)
    standing = Standing.OWNER if provenance.get("source_type") == _OWNER_SOURCE else Standing.HEARSAY
    findings = panel().examine(fields, standing)
    return decide(preset("strict"), standing, findings).decision.value
