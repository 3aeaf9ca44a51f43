"""Say who is behind a channel: one registrable domain for a page or mail, one plain name for the rest.

Independence and revocation are counted in principals, so every spelling of one party has to come out the
same: subdomains, ports, letter case, IDN and punycode, trailing dots, user-info and paths do not matter.
Look-alike domains stay apart; they are hearsay either way.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import TYPE_CHECKING
from urllib.parse import unquote

from truekeep.errors import InvalidName

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

HOST_KINDS = frozenset({"web", "email"})
"""Kinds of channel whose principal is always a host; elsewhere a name is enough."""
_LONGEST = 2_048
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
    if not isinstance(given, str) or not given or len(given) > _LONGEST:
        raise InvalidName("The principal must be a URL, a domain or a name.", hint=_HINT)
    text = _STRIPPED.sub("", given).strip()
    if channel_kind == "email":
        return registrable_domain(text.rstrip("> ").rpartition("@")[2])
    if channel_kind in HOST_KINDS or _SCHEME.match(text) or text.startswith(("//", "\\\\")):
        return registrable_domain(text)
    return _plain_name(text)


_HINT = "Give a URL or domain for web and mail, and a name of 1 to 100 letters, digits or .-_@+ otherwise."


def _plain_name(text: str) -> str:
    name = unicodedata.normalize("NFKC", text).casefold()
    if not _NAME.fullmatch(name):
        raise InvalidName("The principal is not a usable name.", hint=_HINT)
    return name


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
