"""Senders: whether a page of this service, a page of somebody else's or no page at all sent a request.

Browsers say so in ``Sec-Fetch-Site``, older ones with some requests in ``Origin``; no page can make them say otherwise.
Programs say nothing.
"""

from __future__ import annotations

from enum import Enum
from urllib.parse import urlsplit

from starlette.datastructures import Headers


class Sender(Enum):
    """Who sent a request, as far as its headers tell."""

    OWN_PAGE = "own page"
    FOREIGN_PAGE = "foreign page"
    NO_PAGE = "no page"


def sender_of(headers: Headers) -> Sender:
    """Who sent a request with these headers. Whatever cannot be read is a foreign page's."""
    sites = headers.getlist("sec-fetch-site")
    if sites == ["none"]:  # the person themselves, by the address bar
        return Sender.NO_PAGE
    if sites:
        return Sender.OWN_PAGE if sites == ["same-origin"] else Sender.FOREIGN_PAGE
    origins = headers.getlist("origin")
    if not origins:
        return Sender.NO_PAGE
    try:
        places = {urlsplit(origin).netloc for origin in origins}
    except ValueError:
        return Sender.FOREIGN_PAGE
    return Sender.OWN_PAGE if places == {headers.get("host")} else Sender.FOREIGN_PAGE
