"""Canonical forms of addresses and identifiers: links, hosts, mail, accounts, wallets, phones, paths."""

from __future__ import annotations

import re
from urllib.parse import unquote

from truekeep.text.salient.plain import plain

_SPOKEN = re.compile(r" ?[\[(]?\b(at|dot)\b[\])]? ?")
_TRAILING = ".,;:!?)]}'\""
_DEFAULT_PORT = {"http": ":80", "https": ":443"}
# In "1-12" and "11-2" the dash is all that tells them apart.
_SHORT = 4
_SEPARATORS = re.compile(r"[\W_]+")


def email(text: str) -> str:
    """A mail address; providers differ on the local part, so only its letter case is folded."""
    if "@" not in text:
        text = _SPOKEN.sub(lambda m: "@" if m[1] == "at" else ".", text)
    return text.strip(_TRAILING).casefold()


def trimmed(url: str) -> str:
    """A link without the punctuation of the sentence around it."""
    end = len(url)
    while end and url[end - 1] in _TRAILING and not (url[end - 1] == ")" and "(" in url[:end]):
        end -= 1
    return url[:end]


def url(text: str) -> str:
    """A link with scheme and host folded, default port, fragment-less root and percent-encoding removed."""
    text = trimmed(text)
    if text.startswith("www."):
        text = "http://" + text
    scheme, mark, rest = text.partition("://")
    if not mark:
        return unquote(text).casefold()
    scheme = scheme.casefold().replace("hxxp", "http")
    cut = min((place for mark in "/?#" if (place := rest.find(mark)) >= 0), default=len(rest))
    host, tail = rest[:cut].casefold().rstrip("."), rest[cut:]
    host = host.removesuffix(_DEFAULT_PORT.get(scheme, "\0")).rstrip(".")
    return f"{scheme}://{unquote(host)}{unquote(tail).rstrip('/')}"


def host_of(canonical_url: str) -> str:
    """The host in a canonical link, without user-info and port."""
    rest = canonical_url.partition("://")[2]
    authority = re.split(r"[/?#\\]", rest, maxsplit=1)[0]
    return authority.rpartition("@")[2].partition(":")[0]


def compact(text: str) -> str:
    """An identifier without the spaces and dashes that people add for reading; short ones keep theirs apart."""
    bare = _SEPARATORS.sub("", text).upper()
    return bare if len(bare) > _SHORT else _SEPARATORS.sub("-", text).strip("-").upper()


_RUN = re.compile(r"(?<!\d)\d{2,}+(?:[ .-]\d{2,}+)++")
_SHORTEST_RUN = 6


def digit_runs(text: str) -> list[str]:
    """Long numbers written in groups, joined; whoever regroups an account number still writes its digits."""
    joined = [compact(match[0]) for match in _RUN.finditer(plain(text).text)]
    return [digits for digits in joined if len(digits) >= _SHORTEST_RUN]


def phone(text: str) -> str:
    """A phone number as digits; an international prefix of two zeros is a plus."""
    digits = "".join(char for char in text if char.isdigit())
    if text.startswith("+"):
        return "+" + digits
    return "+" + digits[2:] if text.startswith("00") else digits


def iban_checks(compacted: str) -> bool:
    """Whether the check digits of an IBAN are right (ISO 7064 mod 97-10)."""
    turned = compacted[4:] + compacted[:4]
    return int("".join(str(int(char, 36)) for char in turned)) % 97 == 1


def wallet(text: str) -> str:
    """A wallet address; hexadecimal ones ignore letter case, the others do not."""
    return text.lower() if text.startswith("0x") else text


def path(text: str) -> str:
    """A file path with one kind of slash."""
    return unquote(text.replace("\\", "/")).rstrip("/.,;:")
