"""Take commands and links apart by their structure, never by the words in them."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, unquote, urlsplit

_OPERATORS = re.compile(r"&&|\|\||[;|&\n\r\v\f\x1c-\x1e\x85\u2028\u2029]|\$\(|`|<\(|>\(|>>?|<<?")
_SUBSTITUTION = re.compile(r"\$\(|`|\$\{|<\(|>\(")


def simple_commands(text: str) -> list[str]:
    """The commands of a command line, without what joins them; a text without operators is one command."""
    return [part.strip() for part in _OPERATORS.split(text) if part.strip()]


def has_substitution(text: str) -> bool:
    """Whether a command line is filled in from elsewhere while it runs."""
    return bool(_SUBSTITUTION.search(text))


def link_parts(url: str) -> list[str]:
    """What a link carries beside the place it goes to: host labels, path segments, parameters, fragment; decoded."""
    try:
        # Without its scheme a host would be taken for a path, and its own name for something that it carries.
        parts = urlsplit(url if "://" in url or url.startswith("mailto:") else f"//{url}")
    except ValueError:
        return [url]
    carried = [*(parts.hostname or "").split(".")[:-2], *parts.path.split("/"), parts.fragment, parts.username or ""]
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        carried += [name, value]
    if parts.query and "=" not in parts.query:
        carried.append(parts.query)
    return [unquote(part) for part in carried if part]
