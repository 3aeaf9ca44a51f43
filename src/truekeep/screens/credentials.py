"""Secrets that do not belong in a memory: passwords, codes, keys, cards, and requests to plant one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from truekeep.data import read_table
from truekeep.screens.lexicon import plain
from truekeep.screens.panel import Screened
from truekeep.text.view import GIVE_WAY
from truekeep.types import Finding, Severity, Threat

SCREEN = "credentials"
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"[\u0600-\u06ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# A token that could be a key: long, without spaces, letters and digits mixed, or one of the known frames.
_KEY_LIKE = re.compile(r"[A-Za-z0-9_.+/=~:@-]{16,300}")
_FRAMED = re.compile(r"-----BEGIN |://[^\s/:@]{1,64}:[^\s/@]{1,64}@")
_ENDS = re.compile(r"[\s.!\"'”`]*(?:$|[.!;\n,)])")
_CARD = re.compile(r"(?<![\w.,-])(?:\d[ -]?){12,18}\d(?![\w-])")
_FEWEST_DIGITS = 3
_TEST = re.compile(r"\b(?:test|example|dummy|sample|placeholder)\b", re.I)
_AROUND = 40
_MANY_DIGITS = re.compile(r"\d[\d -]{11}")
_CARD_WORD = re.compile(
    r"\b(?:card|visa|mastercard|amex|maestro|cvv|cvc|kart\w*|carte|tarjeta|carta|cart[aã]o|карт\w*)\b|卡|カード|카드|بطاقة",
    re.I,
)
# Detectors of published formats only; those that guess from entropy or variable names would flag plain facts.
_DETECTORS = (
    ("artifactory", "ArtifactoryDetector"),
    ("aws", "AWSKeyDetector"),
    ("azure_storage_key", "AzureStorageKeyDetector"),
    ("basic_auth", "BasicAuthDetector"),
    ("discord", "DiscordBotTokenDetector"),
    ("github_token", "GitHubTokenDetector"),
    ("gitlab_token", "GitLabTokenDetector"),
    ("jwt", "JwtTokenDetector"),
    ("mailchimp", "MailchimpDetector"),
    ("npm", "NpmDetector"),
    ("openai", "OpenAIDetector"),
    ("private_key", "PrivateKeyDetector"),
    ("pypi_token", "PypiTokenDetector"),
    ("sendgrid", "SendGridDetector"),
    ("slack", "SlackDetector"),
    ("square_oauth", "SquareOAuthDetector"),
    ("stripe", "StripeDetector"),
    ("telegram_token", "TelegramBotTokenDetector"),
    ("twilio", "TwilioKeyDetector"),
)


_STEP = 20
"""Tokens that the detectors look at in about a millisecond."""


@cache
def _detectors() -> tuple[Any, ...]:
    from importlib import import_module  # noqa: PLC0415 - loaded when a text first holds a key-like token

    return tuple(getattr(import_module(f"detect_secrets.plugins.{m}"), name)() for m, name in _DETECTORS)


def _known_formats(text: str) -> Iterator[tuple[int, int]]:
    for place, match in enumerate(_KEY_LIKE.finditer(text), 1):
        if not place % _STEP:
            GIVE_WAY.get()()
        token = match[0]
        if not any(char.isdigit() or char in ":_" for char in token):
            continue
        for detector in _detectors():
            if next(iter(detector.analyze_string(token)), None) is not None:
                yield match.span()
                break
    for match in _FRAMED.finditer(text):
        yield match.span()


def _cards(text: str) -> Iterator[tuple[int, int]]:
    if _MANY_DIGITS.search(text) and _CARD_WORD.search(text):
        for match in _CARD.finditer(text):
            digits = re.sub(r"\D", "", match[0])
            if digits[0] in "3456" and _luhn(digits) and not _is_made_up(text, match, digits):
                yield match.span()


def _is_made_up(text: str, match: re.Match[str], digits: str) -> bool:
    """A published test number, which is made of very few digits and called one: 4242 four times."""
    around = text[max(0, match.start() - _AROUND) : match.end() + _AROUND]
    return len(set(digits)) <= _FEWEST_DIGITS and _TEST.search(around) is not None


def _luhn(digits: str) -> bool:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 * (value > 9)
    return total % 10 == 0


def _entries(table: dict[str, str], name: str) -> list[str]:
    found = {plain(entry.strip()) for entry in table[name].split("|") if entry.strip()}
    return sorted(found, key=lambda entry: (-len(entry), entry))


class _Phrases:
    """The compiled phrases that introduce a secret."""

    def __init__(self) -> None:
        table = read_table("screens", "credentials.yaml")
        either = {name: "|".join(re.escape(entry) for entry in _entries(table, name)) for name in table}
        self.cues = frozenset(
            _WORD.findall(entry)[0] for name in ("secret", "code", "remember") for entry in _entries(table, name)
        )
        filler, longer = (rf"(?:\s+(?:{either['filler']})(?:\s+[\w'-]{{1,20}}){{1,{most}}})?" for most in (2, 4))
        joined = rf"{longer}[^\S\n]*(?:(?P<is>{either['is']})[^\S\n]*:?[^\S\n]+|[:=][^\S\n]*)"
        value = r"[\"'“`]?(?P<value>[^\s\"'”`,;]{3,64})"
        self.secret = re.compile(rf"(?<![\w-])(?:{either['secret']}){joined}{value}")
        self.code = re.compile(
            rf"(?<!\w)(?P<noun>{either['code']}){filler}\s*(?:(?:{either['is']})\s*:?\s+|[:=]?\s*)[\"'“`]?(?P<value>[\w#*-]{{0,16}}\d[\w#*-]{{1,30}})"
        )
        self.plant = re.compile(
            rf"(?<!\w)(?:{either['remember']})\s+(?:[\w'-]+\s+){{0,3}}?(?:{either['planted']})"
            rf"{filler}\s*(?:(?:{either['is']})\s*:?\s+|[:=]\s*)?[\"'“`]?(?P<value>[^\s\"'”`,;]{{3,64}})"
        )
        self.not_a_value = frozenset(_entries(table, "not_a_value"))
        self.qualifier = re.compile(rf"(?:{either['qualifier']})\s+$")
        parts = (
            rf"(?:{either['parts_secret']}|{either['parts_code']})[^\w\s]{{0,2}}\s?[^\s\d]{{0,6}}?[^\w]{{0,3}}"
            r"(?P<value>(?=[a-z!@#$%^&*_-]*[0-9])[a-z0-9!@#$%^&*_-]{3,64})"
        )
        self.parts = re.compile(parts)
        self.parts_plant = re.compile(
            rf"(?:{either['parts_remember']})[^.!?\n]{{0,20}}?(?P<value>[a-z0-9_-]*\d[a-z0-9_-]{{2,}})"
        )

    def secrets(self, text: str) -> Iterator[tuple[str, int, int]]:
        """Rule id and place of every secret that is spelled out."""
        places = self._places(text)
        for match in _matches(self.plant, text, places):
            if _code_like(match["value"]):
                yield "planted_code", match.start(), match.end()
        for match in _matches(self.secret, text, places):
            if self._is_value(match["value"], match["is"] is not None and _ENDS.match(text, match.end())):
                yield "spelled_out_secret", match.start("value"), match.end("value")
        for match in _matches(self.code, text, places):
            if not self.qualifier.search(text[max(0, match.start() - 16) : match.start()]):
                yield "spelled_out_code", match.start("value"), match.end("value")
        if _UNSPACED.search(text):
            for match in self.parts_plant.finditer(text):
                yield "planted_code", match.start(), match.end()
            for match in self.parts.finditer(text):
                yield "spelled_out_secret", match.start("value"), match.end("value")

    def _places(self, text: str) -> list[int]:
        """Where a phrase may begin: at one of the words that one begins with, of which most texts have few."""
        present = self.cues.intersection(_WORD.findall(text))
        if not present:
            return []
        either = "|".join(re.escape(cue) for cue in sorted(present))
        return [match.start() for match in re.finditer(rf"(?:{either})(?![^\W_])", text)]

    def _is_value(self, value: str, stated: object) -> bool:
        """Anything that looks made up; a plain word only where the sentence says that it is the secret and ends."""
        word = value.strip(".,!?)(").lower()
        if len(word) < 3 or word in self.not_a_value:
            return False
        return any(char.isdigit() or char in "!@#$%^&*+=~" for char in word) or bool(stated and word.isalpha())


def _matches(pattern: re.Pattern[str], text: str, places: list[int]) -> Iterator[re.Match[str]]:
    done = 0
    for place in places:
        match = pattern.match(text, place) if place >= done else None
        if match is not None:
            done = match.end()
            yield match


def _code_like(value: str) -> bool:
    core = value.strip(".,!?")
    return any(char.isdigit() for char in core) or (len(core) >= 4 and not core.islower() and not core.istitle())


@cache
def _phrases() -> _Phrases:
    return _Phrases()


_REASONS = {
    "planted_code": "asks to remember a code, a key or a password",
    "spelled_out_secret": "spells out a password or a key",
    "spelled_out_code": "spells out a PIN or an access code",
    "card_number": "holds a payment card number",
    "known_credential": "holds a credential of a published format",
}


def _found(screened: Screened, field: str) -> Iterator[tuple[str, tuple[int, int]]]:
    text = screened.fields[field]
    for span in _known_formats(text):
        yield "known_credential", span
    for span in _cards(text):
        yield "card_number", span
    for view in screened.views(field)[:2]:
        GIVE_WAY.get()()
        for rule_id, start, end in _phrases().secrets(view.text.lower()):
            yield rule_id, view.raw_span(start, end)


def credentials(screened: Screened) -> list[Finding]:
    """One finding for each kind of secret in a field; findings never hold the secret itself."""
    findings: dict[tuple[str, str], Finding] = {}
    for field in screened.fields:
        for rule_id, span in _found(screened, field):
            threat = Threat.PLANT if rule_id == "planted_code" else Threat.CREDENTIAL
            finding = Finding(rule_id, threat, Severity.HIGH, span, field, SCREEN, reason=_REASONS[rule_id])
            findings.setdefault((field, rule_id), finding)
    return list(findings.values())


def redact(text: str, mask: str = "[redacted]") -> str:
    """The text with every secret masked, for logs, review pages and error messages."""
    spans = sorted(span for _, span in _found(Screened({"text": text}), "text"))
    pieces, done = [], 0
    for start, end in spans:
        if end > done:
            pieces += [text[done : max(start, done)], mask]
            done = end
    return "".join([*pieces, text[done:]])
