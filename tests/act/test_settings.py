"""The act boundary's settings: tools by pattern; those of the first release are refused, never ignored."""

from __future__ import annotations

from pathlib import Path

import pytest

from truekeep import Keep
from truekeep.errors import ConfigError


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ('[actions.pay_bill]\nconsequential = true\ngrants = ["billing"]', '[tools."pay_bill"] reads = false'),
        ("[actions.look]\nconsequential = false", '[tools."look"] reads = true'),
        ("[actions.pay]\n", "truekeep grants add"),
        ("hearsay_may_act_by_credit = true", "Approve such memories in review"),
    ],
)
def test_settings_of_the_first_release_are_refused_with_the_line_that_replaces_them(
    home: Path, line: str, instead: str
) -> None:
    home.mkdir()
    (home / "config.toml").write_text(line)
    with pytest.raises(ConfigError) as refused:
        Keep.open("shop", home=home)
    assert instead in (refused.value.hint or "")


def test_a_switch_of_the_first_release_that_was_off_is_taken_as_it_is_now(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("hearsay_may_act_by_credit = false")
    with Keep.open("shop", home=home, background=False) as keep:
        assert keep.remember("Northwind's account is 1180-22", via="user").decision == "accept"


def test_the_settings_declare_tools_by_pattern_and_the_longest_one_counts(home: Path) -> None:
    home.mkdir()
    declared = '[tools."notes_*"]\nreads = true\nown = true\n[tools."notes_send_*"]\nreads = false\n'
    (home / "config.toml").write_text(declared)
    with Keep.open("shop", home=home, policy="inform", background=False) as keep:
        session = keep.session("s-1", mediated=True)
        session.observe("web", "The weather in Nitra is fine today.", principal="https://news.example")
        session.observe("user", "What is new?")
        assert session.check_action("notes_digest", {"about": "Nitra"}).code == "reads"
        assert session.check_action("notes_send_digest", {"to": "audit@evil.example"}).decision != "allow"
        assert session.check_action("mail_digest", {"about": "Nitra"}).decision != "allow"
