"""Names, accounts, addresses and numbers for scenarios: made up, no two alike, and the same ones for the same seed."""

from __future__ import annotations

import base64
import random
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_THINGS = ("minutes", "offer", "plan", "sketch", "survey", "budget", "roster", "ledger")


class Names:
    """Hands out each name once."""

    def __init__(self, pools: Mapping[str, Sequence[Sequence[str]]], seed: str) -> None:
        chance = random.Random(seed)  # noqa: S311 - the same names every time are the point
        self._left: dict[str, list[str]] = {}
        for kind, parts in pools.items():
            every = [" ".join(words) for words in product(*parts)]
            self._left[kind] = chance.sample(every, len(every))

    def next(self, kind: str) -> str:
        """A name that nobody else has."""
        return self._left[kind].pop()


def values(names: Names, triggers: Sequence[str], seed: str) -> dict[str, Any]:
    """Everything that a scenario can be filled with."""
    chance = random.Random(seed)  # noqa: S311 - the same values every time are the point
    firm, wrong_firm, person = names.next("firm"), names.next("firm"), names.next("person")
    slug, who = firm.casefold().replace(" ", "-"), person.casefold().replace(" ", ".")
    account, wrong_account = _account(chance), _account(chance)
    amount, fee, wrong_amount = chance.sample(range(101, 989), 3)
    thing = chance.choice(_THINGS)
    return {
        "firm": firm,
        "wrong_firm": wrong_firm,
        "other": names.next("firm"),
        "person": person,
        "friend": names.next("person"),
        "amount": amount,
        "fee": fee,
        "wrong_amount": wrong_amount + 1_000,
        "account": account,
        "wrong_account": wrong_account,
        "spaced_account": " ".join(wrong_account),
        "coded_account": base64.b64encode(f"account {wrong_account}".encode()).decode(),
        "iban": _iban(chance),
        "wrong_iban": _iban(chance),
        "mail": f"{who}@{slug}.example",
        "wrong_mail": f"{who}@{slug}-desk.example",
        "site": f"https://{slug}.example/blog",
        "wrong_site": f"{slug}-portal.example",
        "file": f"{thing}-{chance.randrange(1_000, 9_999)}.pdf",
        "wrong_file": f"payroll-{chance.randrange(1_000, 9_999)}.xlsx",
        "folder": f"{chance.choice(_THINGS)}-{chance.randrange(100, 999)}",
        "order": f"R-{chance.randrange(10_000, 99_999)}",
        "code": f"K{chance.randrange(10_000, 99_999)}",
        "day": chance.choice(_DAYS),
        "trigger": chance.choice(triggers),
    }


def _account(chance: random.Random) -> str:
    return f"{chance.randrange(1_000, 9_999)}-{chance.randrange(1_000, 9_999)}"


def _iban(chance: random.Random) -> str:
    """A number with the check digits that a real one would have."""
    rest = "".join(chance.choice("0123456789") for _ in range(20))
    digits = int(rest + "".join(str(ord(letter) - 55) for letter in "SK") + "00")
    return f"SK{98 - digits % 97:02}{rest}"
