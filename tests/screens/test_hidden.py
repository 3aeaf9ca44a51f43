"""Hidden text is reported; honest joiners, marks and flags are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truekeep.screens.hidden import hidden_text
from truekeep.screens.panel import Screened
from truekeep.types import Standing, Threat


def rules(text: str) -> set[str]:
    return {finding.rule_id for finding in hidden_text(Screened({"text": text}, Standing.OWNER))}


def tags(text: str) -> str:
    return "".join(chr(0xE0000 + ord(char)) for char in text)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("pass\u200bword", "invisible_characters"),
        ("pass\u200dword", "invisible_characters"),
        ("i\u00adg\u00adn\u00adore", "invisible_characters"),
        ("nice\u2060day", "invisible_characters"),
        ("dark mode \u200b\u200c\u200b\u200c\u200b", "invisible_characters"),
        ("thumbs up 👍\ufe0f\ufe01\ufe02", "invisible_characters"),
        ("ok\U000e0120\U000e0133\U000e0121", "invisible_characters"),
        ("a\x00b", "invisible_characters"),
        ("blank\u3164name", "invisible_characters"),
        ("pay \u202e0001\u202c now", "direction_override"),
        ("\u2067abc\u2069 is fine", "direction_override"),
        ("open \u2066 never closed", "direction_override"),
        ("closed \u2069 never opened", "direction_override"),
        ("\x1b[8mhidden\x1b[0m", "ansi_escape"),
        ("\x9b31mred", "ansi_escape"),
        ("hi\U000e0069\U000e0067", "tag_characters"),
        (
            "flag 🏴" + tags("ignoreall") + "\U000e007f",
            "tag_characters",
        ),
    ],
)
def test_hidden_text_is_reported(text: str, rule: str) -> None:
    assert rule in rules(text)


@pytest.mark.parametrize(
    "text",
    [
        "My family 👨‍👩‍👧‍👦 and my 🏳️‍🌈 flag, 👩🏽‍🚀 too ❤️‍🔥",
        "Keycaps 1️⃣ #️⃣ and ©️ ™️ ☺️ ✔️",
        "می‌خواهم به خانه‌ام بروم",
        "هذا نص عربي\u200f (ABC)\u200e 123",
        "אני גר בתל אביב\u200f!",
        "क्‍या हाल है श्री‌मान",
        "നന്‍മ",
        "ฉัน\u200bรัก\u200bกาแฟ",
        "\ufeffA file that began with a byte order mark",
        "Donau\u00addampf\u00adschiff\u00adfahrt, copied from a page",
        "Da\u00adten\u00adschutz\u00ader\u00adklä\u00adrung",
        "Scotland 🏴" + tags("gbsct") + "\U000e007f and England 🏴" + tags("gbeng") + "\U000e007f",
        "a trailing one from a chat program\u200b",
        "\u2068Jana\u2069 joined the group",
        "葛\U000e0100城市",
        "tabs\tand\nnew lines\r\nare fine",
        "شركة \u202aNorthwind\u202c",
        "e\u0301tude, Ku\u0308che, nai\u0308ve",
    ],
)
def test_honest_text_is_left_alone(text: str) -> None:
    assert rules(text) == set()


def test_a_finding_says_where_and_in_which_field() -> None:
    (finding,) = hidden_text(Screened({"text": "fine", "topics": "pass\u200bword"}, Standing.OWNER))
    assert (finding.field, finding.span, finding.threat) == ("topics", (4, 5), Threat.HIDDEN_TEXT)


@given(st.text(st.characters()))
def test_any_string_can_be_screened(text: str) -> None:
    for finding in hidden_text(Screened({"text": text})):
        assert 0 <= finding.span[0] <= finding.span[1] <= len(text)


@given(st.text(st.characters(max_codepoint=0x24F, categories=["L", "N", "P", "Zs"])))
def test_letters_digits_and_punctuation_never_count_as_hidden(text: str) -> None:
    assert rules(text) == set()
