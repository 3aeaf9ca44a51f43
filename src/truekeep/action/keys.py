"""The keys under which a value is indexed and looked up: exact ones that prove, loose ones that recognise."""

from __future__ import annotations

import re
from datetime import datetime

from truekeep.text.salient import Kind, Salient, loose
from truekeep.text.salient.codes import host_of
from truekeep.text.salient.dates import resolved

_TOKEN = re.compile(r"[^\W_]+")


def value_keys(value: Salient, at: datetime | None, *, is_loose: bool) -> set[str]:
    """Everything a value can be looked up by."""
    keys = {value.key}
    if value.kind is Kind.MONEY:
        amount, _, currency = value.value.partition(" ")
        keys |= {f"amount:{amount}", f"currency:{currency}"}
    elif value.kind is Kind.DATE and at is not None:
        keys |= {f"date:{day}" for day in resolved(value.value, at)}
    elif value.kind in _ADDRESSES:
        keys.add(f"host:{host(value)}")
    if value.kind in JOINABLE:
        keys.add(f"joined:{joined(value.value)}")
    if is_loose:
        keys |= {f"loose:{loose(reading)}" for reading in (value.value, *value.also)}
        if value.kind in JOINABLE:
            keys |= {f"looseid:{loose(reading)}" for reading in (value.value, *value.also)}
        if value.kind is Kind.MONEY:
            keys |= {f"amount:{reading.partition(' ')[0]}" for reading in value.also}
        if value.kind in _ADDRESSES:
            keys.add(f"loosehost:{loose(host(value))}")
    return keys


_ADDRESSES = frozenset({Kind.URL, Kind.EMAIL, Kind.DOMAIN})
JOINABLE = frozenset({Kind.IBAN, Kind.CODE, Kind.PHONE, Kind.WALLET, Kind.EMAIL, Kind.URL, Kind.DOMAIN, Kind.NUMBER})


def host(value: Salient) -> str:
    """The host of a link, mail address or domain."""
    if value.kind is Kind.URL:
        return host_of(value.value)
    return value.value.rpartition("@")[2]


def joined(text: str) -> str:
    """A value as one run of letters and digits, for values that were split over several arguments."""
    return "".join(_TOKEN.findall(text)).casefold()
