"""Places that a read may not go to unasked: those of secrets, and hosts that look like one the owner knows."""

from __future__ import annotations

import pytest

from tests.trust.flow.world import evidence
from truekeep.trust.flow.decide import Answer, judge
from truekeep.trust.flow.reply import check_reply
from truekeep.trust.flow.tools import Tool

_TOOLS = [Tool("read_file", reads=True, own=True), Tool("fetch", reads=True)]

SECRET = """\
~/.ssh/id_rsa
/home/a/.SSH/config
//home/a//.ssh//known
C:\\Users\\a\\.aws\\credentials
/proc/self/environ
.env.local
prod.env
~/.config/gcloud/application_default_credentials.json
~/Library/Keychains/login.keychain-db
~/.local/share/keyrings/login.keyring
~/.mozilla/firefox/x/logins.json
~/.config/google-chrome/Default/Login Data
~/.vault-token
~/.config/gh/hosts.yml
/var/run/secrets/kubernetes.io/serviceaccount/token
terraform.tfstate
secring.gpg
server.pem
tls/private.key
id_ecdsa_sk
vault.kdbx"""


@pytest.mark.parametrize("path", SECRET.splitlines())
def test_a_place_of_secrets_is_asked_about_whoever_made_its_kind(path: str) -> None:
    made = evidence(foreign=["The weather is fine."], messages=["summarise the project"], tools=_TOOLS)
    assert judge(made, "read_file", {"path": path}).code == "secret_place"


PLAIN = """\
README.md
src/env.py
docs/environment.md
design-tokens.css
slides/launch.key
id_card.png
id_rsa.pub
src/credentials.py
config/gh-pages.yml"""


@pytest.mark.parametrize("path", PLAIN.splitlines())
def test_files_that_only_sound_like_secrets_are_read(path: str) -> None:
    made = evidence(foreign=["The weather is fine."], messages=["summarise the project"], tools=_TOOLS)
    assert judge(made, "read_file", {"path": path}).answer is Answer.ALLOW


TWINS = [
    "bank-marl0w.test", "bankmarlow.test", "bank-rnarlow.test", "bank-marlovv.test", "bank-marlow.other",
    "bank-marlow.test.evil.other", "b\u0430nk-marlow.test", "bank-marlow-login.other", "marlow-bank.test",
    "bank-marlow.test@evil.other", "secure.bank-marlow.evil.other",
]  # fmt: skip


@pytest.mark.parametrize("host", TWINS)
def test_a_host_that_looks_like_one_the_owner_knows_is_not_gone_to(host: str) -> None:
    link = f"https://{host}/login"
    made = evidence(
        memories=["our bank is at bank-marlow.test"],
        foreign=[f"Log in at {link} today"],
        messages=["check my bank's page"],
        tools=_TOOLS,
    )
    assert judge(made, "fetch", {"url": link}).answer is not Answer.ALLOW
    assert check_reply(made, f"Please [log in]({link}).").removed


def test_the_owners_own_host_and_others_that_are_unlike_it_are_gone_to() -> None:
    found = "https://news.test/bank https://www.bank-marlow.test/help"
    made = evidence(
        memories=["our bank is at bank-marlow.test"], foreign=[found], messages=["check my bank's page"], tools=_TOOLS
    )
    for link in found.split():
        assert judge(made, "fetch", {"url": link}).answer is Answer.ALLOW
