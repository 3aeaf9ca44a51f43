"""One party is one principal, however its address is spelt."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truekeep.trust.principal import principal_of


@pytest.mark.parametrize(
    "spelling",
    [
        "https://example.com/page",
        "example.com",
        "EXAMPLE.com.",
        "http://www.example.com:8443/a/b?c=d#e",
        "//a.b.c.example.com",
        "https://nytimes.com@example.com/",
        "https://user:pass@news.example.com:80",
        "https:\\\\example.com\\path",
        "https://nytimes.com\\@example.com",
        "https://exa\tmple.com/",
        "https://example%2Ecom/",
        "https://ex\u00adample.com",
        "https://ｅｘａｍｐｌｅ.com",
        "https://example。com/",
        "ftp://example.com",
    ],
)
def test_every_spelling_of_a_site_is_one_principal(spelling: str) -> None:
    expected = "nytimes.com" if "nytimes.com\\" in spelling else "example.com"
    assert principal_of("web", spelling) == expected


def test_a_backslash_ends_the_host_as_it_does_in_a_browser() -> None:
    assert principal_of("web", "https://evil.example\\@bank.example.com") == "evil.example"


@pytest.mark.parametrize(
    ("given_url", "principal"),
    [
        ("https://shop.example.co.uk", "example.co.uk"),
        ("https://alice.github.io/x", "alice.github.io"),
        ("https://bob.github.io/x", "bob.github.io"),
        ("https://bücher.example/", "xn--bcher-kva.example"),
        ("https://XN--BCHER-KVA.example/", "xn--bcher-kva.example"),
        ("http://[::1]:80/", "::1"),
        ("http://[::ffff:127.0.0.1]/", "127.0.0.1"),
        ("http://127.0.0.1:8080", "127.0.0.1"),
        ("http://2130706433/", "127.0.0.1"),
        ("http://0x7f.1/", "127.0.0.1"),
        ("http://0177.0.0.1/", "127.0.0.1"),
        ("http://localhost:3000", "localhost"),
        ("http://wiki/page", "wiki"),
        ("github.io", "github.io"),
    ],
)
def test_suffixes_foreign_names_and_addresses_come_out_in_one_form(given_url: str, principal: str) -> None:
    assert principal_of("web", given_url) == principal


def test_look_alike_domains_stay_apart() -> None:
    names = {
        principal_of("web", url)
        for url in (
            "nytimes.com",
            "ny-times.com",
            "nytirnes.com",
            "nуtimes.com",
            "nytimes.com.co",
            "nytimes.co",
        )
    }
    assert len(names) == 6


def test_a_mail_sender_counts_as_the_domain_of_the_address() -> None:
    assert principal_of("email", "Eva <eva@mail.example.org>") == "example.org"
    assert principal_of("email", "mallory@EXAMPLE.org") == "example.org"
    assert principal_of("email", "example.org") == "example.org"


def test_people_and_systems_are_plain_names() -> None:
    assert principal_of("crm", "Salesforce-EU") == "salesforce-eu"
    assert principal_of("member", "eva@example.com") == "eva@example.com"
    assert principal_of("tool", "https://api.example.com/v1") == "example.com"
    assert principal_of("web", None) is None


NAMES_OF_HOSTS = [
    ("web", "not a url at all"),
    ("web", "http://exa mple.com"),
    ("web", "http://1.2.3.4.5/"),
    ("web", "http://" + "a." * 200 + "com"),
    ("email", "nobody@"),
    ("email", "Petra from accounting"),
    ("tool", "notes:search"),
    ("tool", "github:acme/shop#412"),
    ("file", "/inbox/agreement.pdf"),
    ("crm", "no spaces forbidden"),
    ("crm", "../etc/passwd"),
    ("crm", "x" * 3_000),
    ("crm", "<script>\u202e"),
]


@pytest.mark.parametrize(("kind", "given"), NAMES_OF_HOSTS)
def test_any_name_a_host_has_is_taken_and_stands_for_nobody_else(kind: str, given: str) -> None:
    principal = principal_of(kind, given)
    assert principal is not None
    assert principal.startswith("~")
    assert len(principal) <= 120
    assert re.fullmatch(r"[\w~.@+:/#-]+", principal)
    assert principal_of(kind, principal) == principal


def test_names_that_differ_stay_apart() -> None:
    found = {principal_of(kind, given) for kind, given in NAMES_OF_HOSTS}
    assert len(found) == len(NAMES_OF_HOSTS)
    assert principal_of("tool", "acme.example") != principal_of("tool", "acme example")
    assert principal_of("crm", "x" * 3_000) != principal_of("crm", "x" * 3_001)


@pytest.mark.parametrize("nobody", ["", "   ", "\n"])
def test_an_empty_name_names_nobody(nobody: str) -> None:
    assert principal_of("web", nobody) is None


@given(st.text(max_size=60))
def test_any_text_gives_a_stable_principal(text: str) -> None:
    principal = principal_of("web", text)
    if principal is not None:
        assert principal_of("web", f"[{principal}]" if _is_ipv6(principal) else principal) == principal


def _is_ipv6(principal: str) -> bool:
    return ":" in principal and not principal.startswith("~")


_LABELS = st.from_regex(r"[a-z][a-z0-9]{0,10}", fullmatch=True)


@given(st.lists(_LABELS, max_size=4), st.integers(1, 65535), st.text("abc/?=#&", max_size=20), st.booleans())
def test_subdomains_ports_and_paths_never_make_another_principal(
    labels: list[str], port: int, path: str, upper: bool
) -> None:
    host = ".".join([*labels, "northwind.example"])
    url = f"https://someone@{host.upper() if upper else host}.:{port}/{path}"
    assert principal_of("web", url) == "northwind.example"
