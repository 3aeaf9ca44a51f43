"""Kinds of text that screens get wrong: honest ones that were refused, hostile ones that passed. ``kinds.yaml``."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from truekeep.screens.standard import panel
from truekeep.trust.policy import decide, preset
from truekeep.types import Decision, Standing

KINDS = yaml.safe_load(Path(__file__).with_name("kinds.yaml").read_text(encoding="utf-8"))


def of(group: str) -> list[object]:
    return [pytest.param(texts, id=kind) for kind, texts in KINDS[group].items()]


def decision(text: str, standing: Standing, policy: str) -> Decision:
    return decide(preset(policy), standing, panel().examine({"text": text}, standing)).decision


@pytest.mark.parametrize("texts", of("rejected"))
def test_a_plants_voice_is_refused_on_every_channel(texts: list[str]) -> None:
    for text in texts:
        assert decision(text, Standing.OWNER, "strict") is Decision.REJECT, text
        assert decision(text, Standing.HEARSAY, "inform") is Decision.REJECT, text


@pytest.mark.parametrize("texts", of("hostile"))
def test_an_attack_of_a_known_kind_is_held_or_refused_on_every_channel(texts: list[str]) -> None:
    for text in texts:
        assert decision(text, Standing.OWNER, "strict") is not Decision.ACCEPT, text
        assert decision(text, Standing.HEARSAY, "inform") is not Decision.ACCEPT, text


@pytest.mark.parametrize("texts", of("honest"))
def test_an_honest_text_of_a_kind_that_was_refused_is_accepted_from_the_owner(texts: list[str]) -> None:
    for text in texts:
        assert decision(text, Standing.OWNER, "strict") is Decision.ACCEPT, text


@pytest.mark.parametrize("texts", of("honest"))
def test_an_honest_text_is_never_lost_as_hearsay(texts: list[str]) -> None:
    for text in texts:
        assert decision(text, Standing.HEARSAY, "inform") is not Decision.REJECT, text


@pytest.mark.parametrize("texts", of("quoted"))
def test_a_text_that_quotes_an_attack_is_held_for_a_person_and_never_lost(texts: list[str]) -> None:
    for text in texts:
        assert decision(text, Standing.OWNER, "strict") is Decision.QUARANTINE, text
        assert decision(text, Standing.HEARSAY, "inform") is Decision.QUARANTINE, text
