"""What a call or an answer would carry away: private values in links, queries and texts, and places of secrets.

Private is what the owner's memories, messages and own systems hold. A value may leave when the request calls for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from truekeep.trust.flow.index import RARE, naming, run_at, stands_whole
from truekeep.trust.flow.reading import TextReading, TypedValue, disguised, hidden_texts, host_of, read, read_table
from truekeep.trust.flow.roles import words_of
from truekeep.trust.flow.structure import link_parts

if TYPE_CHECKING:
    from truekeep.trust.flow.evidence import SessionEvidence
    from truekeep.trust.flow.scope import RequestScope

_LINKS = frozenset({"mail", "url", "host"})
_TOKEN = re.compile(r"(?=[A-Za-z_-]*\d)(?=[\d_-]*[A-Za-z])[A-Za-z0-9_-]{16,}|[0-9a-f]{24,}|[A-Za-z0-9+/_-]{32,}={0,2}")
_LOCAL = re.compile(
    r"localhost|127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|169\.254\.|0\.|\[|.*\.(?:local|internal|lan)$"
)
_NOT_PLACE = re.compile(r"[^\w.~-]+")
_SHORTEST_CODE = 5
_LONG_CODE = 8
_FEW_DIGITS = 3
_SIX_DIGITS = 6
_NEAR_LABEL = 5
_WHOLE_MEMORY = 4
"""Words of the shortest memory that is known by its wording."""


def telling_values(text: str) -> Iterator[tuple[TypedValue, TextReading]]:
    """The values in a text that say something about somebody: addresses, links, accounts, codes; decoded ones too."""
    for version in (text, *hidden_texts(text)):
        reading = read(version)
        for value in reading.values:
            if value.kind in _LINKS or (value.kind == "code" and _is_telling(value.form)):
                yield value, reading


def _is_telling(code: str) -> bool:
    """Whether a code is long enough to be somebody's: an account, a document, a one-time code; no room or version."""
    digits = sum(char.isdigit() for char in code)
    return (len(code) >= _LONG_CODE and digits >= _FEW_DIGITS) or digits >= _SIX_DIGITS


def is_private(evidence: SessionEvidence, value: TextReading, but: frozenset[str] = frozenset()) -> bool:
    """Whether a value stands in the owner's memories, messages or own systems, in whatever disguise.

    ``but`` are results of own systems that do not count.
    """
    if any(True for _ in evidence.memories.hinting(value)) or any(
        held.id not in but for held in evidence.private.hinting(value)
    ):
        return True
    form = disguised(value.flat)
    return any(
        stands_whole(message.reading, value) or (len(form) >= _LONG_CODE and form in disguised(message.reading.flat))
        for message in evidence.requests.messages
    )


def tells_a_memory(evidence: SessionEvidence, text: str, said: frozenset[str]) -> bool:
    """Whether a text has a whole memory of the owner's in it that is about nothing the request speaks of."""
    content, shared = read(text), words_of("shared_words")
    rare = [word for word in content.stems if evidence.memories.counts(word) <= RARE]
    for held in evidence.memories.sharing(rare):
        words = held.reading.words
        if len(words) >= _WHOLE_MEMORY and not naming(words, shared) & said and run_at(content, words) >= 0:
            return True
    return False


def is_own_host(evidence: SessionEvidence, value: TypedValue) -> bool:
    """Whether a host is one the owner named or remembered, or part of one."""
    known = known_hosts(evidence)
    return value.kind == "host" and any(value.form == host or value.form.endswith("." + host) for host in known)


def is_called_for(
    evidence: SessionEvidence, scopes: Iterable[RequestScope], value: TypedValue, text: TextReading
) -> bool:
    """Whether an open request, or the owner's last message, calls for a value."""
    spelt = read(text.flat[value.start : value.end])
    last = evidence.requests.messages[-1:]
    return any(stands_whole(message.reading, spelt) for message in last) or any(
        scope.calls_for(value, text) for scope in scopes
    )


def names_secret_place(text: str) -> bool:
    """Whether a path, command or query goes to a place where secrets are kept."""
    parts = {part for part in _NOT_PLACE.split(text.lower()) if part}
    parts |= {part for word in parts for part in word.split("/")}
    if parts & _secret_places() or any(part.startswith(".env") for part in parts):
        return True
    is_place = len(parts) == 1 or "select" in parts or any(mark in text for mark in "/\\;|=*")
    return is_place and bool(parts & words_of("secret_words"))


@cache
def _secret_places() -> frozenset[str]:
    """As they are spelled, unlike other tables of words."""
    return frozenset(read_table("act", "roles.toml")["secret_places"].split())


def links_in(text: str) -> list[str]:
    """The links of a text, as they are spelled."""
    reading = read(text)
    return [reading.cased[value.start : value.end] for value in reading.values if value.kind == "url"]


def is_composed_host(evidence: SessionEvidence, text: str) -> bool:
    """Whether a text is a host's name that stands nowhere: looking it up tells whoever runs the domain the rest."""
    value = read(text)
    end = len(value.flat.rstrip())
    is_host = " " not in value.flat.strip() and any(v.kind == "host" and v.end == end for v in value.values)
    if not is_host or any(key.startswith(("url:", "mail:")) for key in value.sole):
        return False
    indexes = (evidence.memories, evidence.foreign, evidence.private, evidence.public)
    return not evidence.requests.name(value) and not any(True for index in indexes for _ in index.holding(value))


def is_twin(evidence: SessionEvidence, host: str) -> bool:
    """Whether a host looks like one the owner knows and is another."""
    known = known_hosts(evidence)
    if host in known or any(host.endswith("." + other) for other in known):
        return False
    look = _look(host)
    return any(_alike(look, _look(other)) for other in known)


def known_hosts(evidence: SessionEvidence) -> set[str]:
    """Hosts in acting memories and in the owner's messages."""
    said = (value for message in evidence.requests.messages for value in message.reading.values)
    named = {value.form.rpartition("@")[2].removeprefix("www.") for value in said if value.kind in ("host", "mail")}
    return named | evidence.memories.hosts("host") | evidence.memories.hosts("mail")


@lru_cache(maxsize=4096)
def _look(host: str) -> str:
    """The registered name as an eye reads it: decoded, folded, without hyphens and endings."""
    shown = host
    if "xn--" in host:
        try:
            shown = host.encode("ascii").decode("idna")
        except UnicodeError:
            shown = ".".join(_basic(label) for label in host.split("."))
    labels = [label for label in shown.removeprefix("www.").split(".") if label]
    longest = max(labels[:-1] or labels or [""], key=len)
    return disguised(longest)


def _basic(label: str) -> str:
    """The plain letters of a label in an encoding that cannot be undone."""
    return label.removeprefix("xn--").rpartition("-")[0] if label.startswith("xn--") else label


def _alike(look: str, known: str) -> bool:
    if min(len(look), len(known)) < _NEAR_LABEL:
        return False
    return look == known or (known in look and len(look) <= 2 * len(known)) or _one_edit(look, known)


def _one_edit(first: str, second: str) -> bool:
    """Whether one letter more, less or other makes one word the other."""
    if abs(len(first) - len(second)) > 1:
        return False
    place = next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
    return (
        first[place + 1 :] == second[place + 1 :]
        or first[place:] == second[place + 1 :]
        or first[place + 1 :] == second[place:]
    )


def link_fault(evidence: SessionEvidence, url: str, scopes: Iterable[RequestScope]) -> str:
    """What speaks against following a link: its fault's code, or nothing."""
    value, host = read(url), host_of(url)
    known = evidence.requests.name(value) or any(True for _ in evidence.memories.holding(value))
    if is_twin(evidence, host):
        return "look_alike_host"
    if carries_private(evidence, url, scopes):
        return "private_value_in_link"
    if known:
        return ""
    found = [*evidence.foreign.holding(value), *evidence.private.holding(value)]
    if not found:
        return "composed_link"
    if _LOCAL.match(host) or not url.lower().startswith(("http://", "https://", "www.")):
        return "link_to_inner_place"
    return "token_in_link" if any(_TOKEN.fullmatch(part) for part in link_parts(url)) else ""


def carries_private(evidence: SessionEvidence, url: str, scopes: Iterable[RequestScope]) -> bool:
    """Whether a link carries private values beside the place it goes to."""
    scopes = tuple(scopes)
    # A link that stands whole in a result was written there: its own parts leave nothing that its writer had not.
    given = frozenset(held.id for held in evidence.private.holding(read(url)))
    for part in link_parts(url):
        for version in (part, *hidden_texts(part)):
            whole = read(version)
            is_code = len(version) >= _SHORTEST_CODE and any(char.isdigit() for char in version)
            # "grants-2025" are words of a request for grants in 2025.
            form = disguised(whole.flat)
            if any(form in disguised(message.reading.flat) for message in evidence.requests.messages[-1:]):
                continue
            if is_code and is_private(evidence, whole, given):
                return True
            for value, reading in telling_values(version):
                spelt = read(reading.flat[value.start : value.end])
                if is_private(evidence, spelt, given) and not is_called_for(evidence, scopes, value, reading):
                    return True
    return False
