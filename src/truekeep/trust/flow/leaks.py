"""What a call or an answer would carry away: private values in links, queries and texts, and places of secrets.

Private is what the owner's memories, messages and own systems hold. A value may leave when the request calls for it.
It is known again in its encodings, written backwards or with shifted letters, and split over the parts of a link.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from truekeep.trust.flow.index import RARE, HeldText, naming, run_at, stands_whole
from truekeep.trust.flow.reading import TextReading, TypedValue, disguised, host_of, normal, read, read_table
from truekeep.trust.flow.roles import words_of
from truekeep.trust.flow.structure import link_parts
from truekeep.trust.flow.unwrapping import is_opaque_together, opaque_runs, shifted, unwrapped

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
_MOST_RUNS = 50  # of one text; one is enough to ask about
_MOST_CARRIED, _LONGEST_PART = 64, 2_000
"""Parts of one link that are looked at, and characters of each; a link with more carries too much to be let through."""
_MOST_WINDOWS = 1_500
"""Places within the parts of one answer's links at which a private value is looked for; the longer a link, the more."""
_SHORTEST_WINDOW, _LONGEST_WINDOW = 6, 26
_DOOR_CODE = 4
"""Figures of the shortest number that opens something."""
_LONGEST_COMPOSED = 400
"""Characters of a link that an agent writes itself; a longer one may carry anything in plain words."""
_FIGURES = re.compile("[0-9ol]")
_FIGURE_RUN = re.compile(r"(?<![0-9])[0-9]{4,26}(?![0-9])")
_YEAR_OR_DAY = re.compile(r"(?:l9|2o)\d\d(?:[ol]\d[olol23]\d)?")
_LONG_CODE = 8
_FEW_DIGITS = 3
_SIX_DIGITS = 6
_NEAR_LABEL = 5
_WHOLE_MEMORY = 4
"""Words of the shortest memory that is known by its wording."""


@lru_cache(maxsize=64)
def telling_values(text: str) -> tuple[tuple[TypedValue, TextReading], ...]:
    """The values in a text that say something about somebody: addresses, links, accounts, codes; decoded ones too.

    A long run that nobody can read may hold any of them, as may a text with too much in it to undo: both are codes.
    """
    found = []
    for version in (text, *unwrapped(text).texts):
        reading = read(version)
        for value in reading.values:
            if value.kind in _LINKS or (value.kind == "code" and _is_telling(value.form)):
                found.append((value, reading))
    whole = read(text)
    runs = list(islice(opaque_runs(whole.cased), _MOST_RUNS))
    if not unwrapped(text).is_all:
        runs.append((0, len(whole.flat)))
    found += [(TypedValue("code", whole.flat[start:end], start, end), whole) for start, end in runs]
    return tuple(found)


def _is_telling(code: str) -> bool:
    """Whether a code is long enough to be somebody's: an account, a document, a one-time code; no room or version."""
    digits = sum(char.isdigit() for char in code)
    return (len(code) >= _LONG_CODE and digits >= _FEW_DIGITS) or digits >= _SIX_DIGITS


def is_private(evidence: SessionEvidence, value: TextReading, but: frozenset[str] = frozenset()) -> bool:
    """Whether a value stands in the owner's memories, messages or own systems, in whatever disguise.

    ``but`` are texts that do not count, because they hold the whole link that the value is part of.
    """
    return any(_is_held(evidence, one, but) for one in (value, read(shifted(value.flat))))


def _is_held(evidence: SessionEvidence, value: TextReading, but: frozenset[str]) -> bool:
    if any(held.id not in but for held in evidence.memories.hinting(value)) or any(
        held.id not in but for held in evidence.private.hinting(value)
    ):
        return True
    form = disguised(value.flat)
    return any(
        stands_whole(message.reading, value) or (len(form) >= _LONG_CODE and (form in loose or form[::-1] in loose))
        for message in evidence.requests.messages
        for loose in (disguised(message.reading.flat),)
    )


def tells_a_memory(evidence: SessionEvidence, text: str, said: frozenset[str]) -> bool:
    """Whether a text has a whole memory of the owner's in it that is about nothing the request speaks of.

    Or a name out of one, or anything of one in an encoding.
    """
    content, shared = read(text), words_of("shared_words")
    rare = [word for word in content.stems if evidence.memories.counts(word) <= RARE]
    for held in evidence.memories.sharing(rare):
        words = held.reading.words
        if len(words) >= _WHOLE_MEMORY and not naming(words, shared) & said and run_at(content, words) >= 0:
            return True
    return _names_private(evidence, text, said) or any(
        _tells_figures(evidence, version) or _names_private(evidence, version, said)
        for version in unwrapped(text).texts
    )


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
    if parts & _secret_places() or any(map(_KEPT_SECRET.fullmatch, parts)) or _KEPT_BELOW.search(text.lower()):
        return True
    is_place = len(parts) == 1 or "select" in parts or any(mark in text for mark in "/\\;|=*")
    return is_place and bool(parts & words_of("secret_words"))


_KEPT_SECRET = re.compile(
    r"\.env.*|.+\.env|id_(?:rsa|dsa|ecdsa|ed25519)(?!.*\.pub).*|.+\.(?:pem|p12|pfx|jks|kdbx|keystore|keyring|keychain(?:-db)?|tfstate)"
    r"|(?:private|server|tls|ssl|client|ca|host|master|secret)[\w.-]*\.key|(?:secring|pubring|trustdb)\.\w+"
    r"|.*credentials?\.(?:json|ya?ml|xml|ini|toml|db)|logins\.json|\.?vault-token"
)
"""Files that hold keys by their kind, whoever made them."""
_KEPT_BELOW = re.compile(r"/proc/[^/]+/environ\b|/login data\b|/\.?config/gh/|/keyrings?/|/keychains?/|/run/secrets\b")


@cache
def _secret_places() -> frozenset[str]:
    """As they are spelled, unlike other tables of words."""
    return frozenset(read_table("act", "roles.toml")["secret_places"].split())


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
    look, pieces = _look(host), _pieces(host)
    return any(_alike(look, _look(other)) or (len(pieces) > 1 and pieces == _pieces(other)) for other in known)


def _pieces(host: str) -> list[str]:
    """The words of a host's registered name, in whatever order: "bank-marlow" is "marlow-bank"."""
    return sorted(max(host.split(".")[:-1] or [host], key=len).split("-"))


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
    return disguised(longest).replace("rn", "m").replace("vv", "w")


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


# --- links ---------------------------------------------------------------------------------------------------------


def links_in(text: str) -> list[str]:
    """The links of a text, as they are spelled."""
    reading = read(text)
    return [reading.cased[value.start : value.end] for value in reading.values if value.kind == "url"]


def link_fault(evidence: SessionEvidence, url: str, scopes: Iterable[RequestScope]) -> str:
    """What speaks against following a link: its fault's code, or nothing."""
    return LinkCheck(evidence, tuple(scopes)).fault(url)


@dataclass(slots=True)
class LinkCheck:
    """Looks at the links of one call or answer, for a bounded amount of work in all."""

    evidence: SessionEvidence
    scopes: Sequence[RequestScope]
    _room: int = _MOST_WINDOWS

    def fault(self, url: str) -> str:
        """What speaks against following a link: its fault's code, or nothing."""
        evidence, value, host = self.evidence, read(url), host_of(url)
        if is_twin(evidence, host) or _FALSE_HOST.match(url):
            return "look_alike_host"
        if self._carries_private(url, value):
            return "private_value_in_link"
        if evidence.requests.name(value) or any(True for _ in evidence.memories.holding(value)):
            return ""
        is_token = any(_TOKEN.fullmatch(part) for part in link_parts(url))
        if not any(True for index in (evidence.foreign, evidence.private) for _ in index.holding(value)):
            is_blob = is_opaque_together(link_parts(url)) or len(url) > _LONGEST_COMPOSED
            return "blob_in_link" if is_blob else "composed_link"
        if _LOCAL.match(host) or not url.lower().startswith(("http://", "https://", "www.")):
            return "link_to_inner_place"
        return "token_in_link" if is_token else ""

    def tells(self, parts: Sequence[str]) -> bool:
        """Whether a private value is split over these, in a row."""
        return any(self._is_carried(part, frozenset(), is_composed=True) for part in (*parts, "".join(parts)))

    def _carries_private(self, url: str, value: TextReading) -> bool:
        """Whether a link carries private values beside the place it goes to."""
        evidence = self.evidence
        # A link that stands whole in a text was written there: its own parts leave nothing that its writer had not.
        given = frozenset(held.id for index in (evidence.private, evidence.memories) for held in index.holding(value))
        is_composed = not given and not evidence.requests.name(value)
        is_composed = is_composed and not any(True for _ in evidence.foreign.holding(value))
        parts = _carried(url) if is_composed else link_parts(url)
        if len(parts) > _MOST_CARRIED or any(len(part) > _LONGEST_PART for part in parts):
            return is_composed
        return any(self._is_carried(part, given, is_composed=is_composed) for part in parts)

    def _is_carried(self, part: str, given: frozenset[str], *, is_composed: bool) -> bool:
        if is_composed and not unwrapped(part).is_all:
            return True
        for version in (part, *unwrapped(part).texts):
            whole = read(version)
            # "grants-2025" are words of a request for grants in 2025.
            if self._is_last_said(whole):
                continue
            if is_composed and (
                self._holds_private(version)
                or _names_private(self.evidence, version, self._said())
                or _tells_figures(self.evidence, version)
            ):
                return True
            is_code = len(version) >= _SHORTEST_CODE and any(char.isdigit() for char in version)
            if is_code and is_private(self.evidence, whole, given):
                return True
            for found, reading in telling_values(version):
                spelt = read(reading.flat[found.start : found.end])
                is_asked = is_called_for(self.evidence, self.scopes, found, reading)
                if not is_asked and is_private(self.evidence, spelt, given):
                    return True
        return False

    def _said(self) -> frozenset[str]:
        return frozenset(word for message in self.evidence.requests.messages for word in message.reading.stems)

    def _is_last_said(self, value: TextReading) -> bool:
        form = disguised(value.flat)
        return any(form in disguised(message.reading.flat) for message in self.evidence.requests.messages[-1:])

    def _holds_private(self, text: str) -> bool:
        """Whether a private value of some figures stands anywhere in a text, without what parts and surrounds it."""
        form = disguised(text)
        said = "".join(disguised(message.reading.flat) for message in self.evidence.requests.messages[-1:])
        for length in range(_SHORTEST_WINDOW, min(_LONGEST_WINDOW, len(form)) + 1):
            for start in range(len(form) - length + 1):
                window = form[start : start + length]
                if len(_FIGURES.findall(window)) < _DOOR_CODE or _YEAR_OR_DAY.match(window) or window in said:
                    continue
                if self._room <= 0:
                    return True
                self._room -= 1
                if _is_held(self.evidence, TextReading(window, window, ()), frozenset()):
                    return True
        return False


def _names_private(evidence: SessionEvidence, text: str, said: frozenset[str]) -> bool:
    """Whether two words in a row are a name, or a house in a street, of a private text's that nobody spoke of.

    Read backwards and with shifted letters, too.
    """
    for row in (read(one).words[:_MOST_CARRIED] for one in (text, text[::-1], shifted(text))):
        for pair in pairwise(row):
            names = naming(pair, frozenset())
            is_known = len(names) < len(set(pair)) or names & said
            if not is_known and any(_is_name(held, pair) for held in _telling_of(evidence, names)):
                # Whoever wrote what was read knows a name that stands there.
                return not any(index.counts(name) for name in names for index in (evidence.foreign, evidence.public))
    return False


def _tells_figures(evidence: SessionEvidence, text: str) -> bool:
    """Whether a number that opens something, and that a private text gives, stands between other characters."""
    last = evidence.requests.messages[-1:]
    runs = (run for run in _FIGURE_RUN.findall(normal(text)) if not _YEAR_OR_DAY.fullmatch(disguised(run)))
    return any(
        _is_held(evidence, read(run), frozenset())
        for run in islice(runs, _MOST_CARRIED)
        if not any(run in message.reading.flat for message in last)
    )


def _telling_of(evidence: SessionEvidence, names: Iterable[str]) -> Iterator[HeldText]:
    """Private texts that have one of these words, if it tells them apart."""
    for index in (evidence.memories, evidence.private):
        yield from index.sharing(name for name in names if index.counts(name) <= RARE)


def _is_name(held: HeldText, pair: tuple[str, ...]) -> bool:
    """Whether a text has these words in a row, each with a capital or a figure at its beginning."""
    place = run_at(held.reading, pair)
    if place < 0:
        return False
    row = held.reading.between(place, len(held.reading.flat))[: len(pair)]
    shown = [held.reading.cased[start] for _, start, _ in row]
    return all(char.isupper() or char.isdigit() for char in shown)


def _carried(url: str) -> list[str]:
    """What a link carries: each part, and those of one kind in a row, as a value is split over several."""
    if _ADDRESSED.match(url):
        # It is spoken with whom it names; only what it is to say is carried.
        return [value for pair in parse_qsl(url.partition("?")[2], keep_blank_values=True) for value in pair if value]
    plain = url.translate(_UNSEEN_BY_BROWSERS)
    place, _, query = plain.partition("?")
    authority, *path = place.split("://", 1)[-1].split("/")
    values = [value for _, value in parse_qsl(query, keep_blank_values=True)]
    # As it is spelt: an encoding needs its capitals.
    labels = authority.rpartition("@")[2].split(".")[:-2]
    rows = (values, labels, path, [*labels, *path, *values], parts := link_parts(plain))
    return list(dict.fromkeys(part for part in (*parts, *labels, *map("".join, rows)) if part))


_FALSE_HOST = re.compile(r"[a-z][a-z0-9+.-]*:[/\\\\]{2}[^/?#\\\\@]*\.[^/?#\\\\@]*@", re.IGNORECASE)
"""What stands before an "@" and looks like the host is not where a link goes."""
_ADDRESSED = re.compile(r"(?:mailto|tel|sms|geo|facetime|whatsapp):", re.IGNORECASE)
_UNSEEN_BY_BROWSERS = str.maketrans({"\\": "/", "\t": None, "\n": None, "\r": None})
