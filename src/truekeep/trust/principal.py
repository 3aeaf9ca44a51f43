"""Say who is behind a channel: one registrable domain for a page or mail, one plain name for the rest.

Independence and revocation are counted in principals, so every spelling of one party has to come out the
same: subdomains, ports, letter case, IDN and punycode, trailing dots, user-info and paths do not matter.
Look-alike domains stay apart; they are hearsay either way.

Hosts name their sources as they have them: a display name, a path, ``notes:search``. Whatever is neither a domain nor a
plain name is kept as a label behind ``~``, which no domain and no plain name begins with, so that it stands for nobody
else.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from hashlib import sha256
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import TYPE_CHECKING
from urllib.parse import unquote

from truekeep.errors import InvalidName

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

HOST_KINDS = frozenset({"web", "email"})
"""Kinds of channel whose principal is always a host; elsewhere a name is enough."""
_LONGEST = 2_048
"""The longest URL that browsers agree on."""
_NAME = re.compile(r"[^\W_][\w.@+-]{0,99}")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}:(?=[/\\]{2})")
_STRIPPED = re.compile(r"[\t\r\n]")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER_LIKE = re.compile(r"0x[0-9a-f]*|[0-9]+")
_DOTS = str.maketrans("\u3002\uff0e\uff61", "...")


def principal_of(channel_kind: str, given: str | None) -> str | None:
    """The principal behind ``given``, or None when nobody was named and it therefore counts as nobody."""
    if given is None:
        return None
    if not isinstance(given, str):
        raise InvalidName("The principal must be text.", hint=_HINT)
    text = _STRIPPED.sub("", given).strip()
    if not text:
        return None
    is_mail = channel_kind == "email" and "@" in text
    try:
        if is_mail or channel_kind in HOST_KINDS or _SCHEME.match(text) or text.startswith(("//", "\\\\")):
            return registrable_domain((text.rstrip("> ").rpartition("@")[2] if is_mail else text)[:_LONGEST])
    except InvalidName:
        return _label(text)
    name = unicodedata.normalize("NFKC", text).casefold()
    return name if _NAME.fullmatch(name) else _label(text)


_HINT = "Give a URL, a domain or any name as text."
_NOT_IN_LABEL = re.compile(r"[^\w.@+:/#-]+")
_IS_LABEL = re.compile(r"~[\w.@+:/#-]{1,100}(?:~[0-9a-f]{16})?")
_LONGEST_LABEL = 100
"""A longer name is kept as its beginning and a hash of all of it."""


def _label(text: str) -> str:
    """A name as a host has it, in one spelling; a long one is known by its beginning and a hash of the whole."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    if _IS_LABEL.fullmatch(plain):
        return plain
    label = _NOT_IN_LABEL.sub("_", plain)
    if len(label) <= _LONGEST_LABEL:
        return f"~{label}"
    return f"~{label[:_LONGEST_LABEL]}~{sha256(plain.encode('utf-8', 'replace')).hexdigest()[:16]}"


def registrable_domain(url_or_host: str) -> str:
    """The domain somebody registered, in ASCII; an address literal or a single label stands for itself."""
    host = _host(url_or_host)
    if host.startswith("["):
        return _ipv6(host)
    host = _ascii(host)
    labels = host.split(".")
    if _NUMBER_LIKE.fullmatch(labels[-1]):
        return _ipv4(labels)
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise InvalidName("The principal is not a usable host name.", hint=_HINT)
    return _suffixes().privatesuffix(host) or host


def _host(url: str) -> str:
    """The host as a browser would find it, which is not where ``urlsplit`` looks in hostile input."""
    scheme = _SCHEME.match(url)
    rest = (url[scheme.end() :] if scheme else url).replace("\\", "/").lstrip("/")
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    host = authority.rpartition("@")[2]
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def _ascii(host: str) -> str:
    text = unquote(host).translate(_DOTS)
    plain = unicodedata.normalize("NFKC", text).casefold()
    plain = "".join(char for char in plain if unicodedata.category(char) != "Cf").rstrip(".")
    if plain.isascii() and "xn--" not in plain:
        return plain
    import idna  # noqa: PLC0415 - its tables are only needed for names beyond ASCII

    try:
        return idna.encode(idna.decode(plain, uts46=True), uts46=True).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        raise InvalidName("The principal is not a usable host name.", hint=_HINT) from None


def _ipv4(labels: list[str]) -> str:
    """An IPv4 address in any spelling a browser takes: dotted, short, one number, octal, hexadecimal."""
    try:
        parts = [_ip_number(label) for label in labels]
        *front, last = parts
        if len(parts) > 4 or any(part > 255 for part in front) or last >= 256 ** (5 - len(parts)):
            raise ValueError
        value = sum(part << (8 * (3 - place)) for place, part in enumerate(front)) + last
        return str(IPv4Address(value))
    except (ValueError, AddressValueError):
        raise InvalidName("The principal is not a usable network address.", hint=_HINT) from None


def _ip_number(label: str) -> int:
    if label.startswith("0x"):
        return int(label[2:] or "0", 16)
    return int(label, 8) if len(label) > 1 and label.startswith("0") else int(label)


def _ipv6(host: str) -> str:
    try:
        address = IPv6Address(host[1:-1].partition("%")[0])
    except ValueError:
        raise InvalidName("The principal is not a usable network address.", hint=_HINT) from None
    return str(address.ipv4_mapped or address)


@cache
def _suffixes() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList  # noqa: PLC0415 - reading the list takes a tenth of a second

    return PublicSuffixList()
