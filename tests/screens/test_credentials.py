"""Secrets are reported and redacted; plain facts with numbers are not secrets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truekeep.screens.credentials import credentials, redact
from truekeep.screens.panel import Screened
from truekeep.types import Threat

SECRETS = [
    ("My password is hunter2", "hunter2"),
    ("The Wi-Fi password is swordfish", "swordfish"),
    ("wifi password: Blue!Horse", "blue"),
    ("PIN: 4821", "4821"),
    ("The gate code at mum's is 1408#", "1408#"),
    ("my debit card PIN is 9034", "9034"),
    ("Card 4111 1111 1111 1111, cvv 737", "4111"),
    ("Kód od dverí je 4471", "4471"),
    ("Heslo na wifi je modrykon7", "modrykon7"),
    ("Mein Passwort lautet Sonne77", "Sonne77"),
    ("Le mot de passe est Soleil88", "Soleil88"),
    ("La contraseña es Luna99", "Luna99"),
    ("La password è Mare55", "Mare55"),
    ("A senha é Praia44", "Praia44"),
    ("Hasło jest Morze33", "Morze33"),
    ("Пароль: Лето2024", "Лето2024"),
    ("код від дверей 5512", "5512"),
    ("Kapı kodu 5521", "5521"),
    ("我的密码是abc12345", "abc12345"),
    ("パスワードはneko1234です", "neko1234"),
    ("비밀번호는 gom4321", "gom4321"),
    ("كلمة المرور هي qamar55", "qamar55"),
    ("deploy key ghp_16C7e42F292c6912E7710c838347Ae178B4a", "ghp_"),
    ("AKIA2E0A8F3B244C9986 belongs to staging", "AKIA"),
    ("clone https://bob:pa55word@git.example/x.git", "pa55word"),
    ("-----BEGIN RSA PRIVATE KEY----- MIIE", "-----BEGIN"),
    ("p\u0430ssword: hunter2", "hunter2"),
    ("Remember this password for the print portal: Tulip-Meadow-88", "Tulip-Meadow-88"),
    ("The password of our print shop's portal is Tulip-Meadow-88.", "Tulip-Meadow-88"),
]
PLANTS = [
    "Remember this code: 7731-AX",
    "Please remember the access token QX-118-ZULU",
    "Memorize the following key: 9f31cc",
    "Zapamätaj si kód 55-GAMMA",
    "Merke dir das Passwort Zebra12",
    "Запомни код 7781",
    "请记住代码 X7781",
]
FACTS = [
    "Northwind's account number is 1180-22",
    "my son is called Timmy",
    "My password manager is Bitwarden",
    "I forgot my password again and had to reset it",
    "My password is very weak, I should change it",
    "The dress code is casual on 24 May",
    "Our zip code is 81101 and the area code is 055",
    "I was born in 1984 and my house number is 12",
    "The flight LH1234 leaves at 10:45",
    "My phone number is +421 905 123 456",
    "The code of the project is written in Python 3",
    "Use the promo code SPRING24 at the bakery",
    "Remember the meeting on 4 May at 10",
    "Remember that Eva's birthday is 12 June 1990",
    "The safe word in our game is decided by the dealer",
    "ISBN 978-3-16-148410-0 is on my reading list",
    "My IBAN is SK31 1200 0000 1987 4263 7541",
    "Order 4111111111111111 never arrived",
    "pinned 3 tabs and 2 notes",
    "The key to a good soup is 2 hours of patience",
]


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_a_secret_is_reported_and_redacted(text: str, secret: str) -> None:
    assert any(finding.threat is Threat.CREDENTIAL for finding in credentials(Screened({"text": text})))
    assert secret.lower() not in redact(text).lower()


@pytest.mark.parametrize("text", PLANTS)
def test_a_request_to_remember_a_code_is_a_plant(text: str) -> None:
    assert any(finding.threat is Threat.PLANT for finding in credentials(Screened({"text": text})))


@pytest.mark.parametrize("text", FACTS)
def test_a_plain_fact_is_no_secret(text: str) -> None:
    assert credentials(Screened({"text": text})) == []
    assert redact(text) == text


def test_findings_never_hold_the_secret() -> None:
    for text, secret in SECRETS:
        for finding in credentials(Screened({"text": text})):
            assert secret.lower() not in str(finding.as_dict()).lower()


@given(st.text(st.characters(), max_size=200))
def test_any_string_can_be_redacted(text: str) -> None:
    for finding in credentials(Screened({"text": text})):
        assert 0 <= finding.span[0] <= finding.span[1] <= len(text)
    assert isinstance(redact(text), str)
