"""Find proper names by their capitals, and say where a capital proves nothing."""

from __future__ import annotations

from collections.abc import Collection

from truekeep.text.language import Language
from truekeep.text.salient.model import Kind, Salient
from truekeep.text.salient.tokens import Token

_ENDS = frozenset(".!?:;\n")
_BINDERS = frozenset({"of", "de", "van", "von", "di", "da", "del", "la", "&"})
# German writes every noun with a capital, so there it proves nothing.
_CAPITAL_NOUNS = frozenset({"de"})


def names(
    tokens: list[Token],
    lower: list[str],
    language: Language,
    taken: Collection[int],
    not_names: Collection[str],
) -> list[Salient]:
    """Runs of capitalised words outside other values."""
    found: list[Salient] = []
    place = 0
    while place < len(tokens):
        if not _is_capital(tokens[place], lower[place], language, taken, not_names):
            place += 1
            continue
        end = _run_end(tokens, lower, place, language, taken, not_names)
        found.append(_name(tokens, place, end, language))
        place = end
    return found


def _is_capital(token: Token, low: str, language: Language, taken: Collection[int], not_names: Collection[str]) -> bool:
    if token.kind != "word" or not token.text[0].isupper() or token.start in taken:
        return False
    bare = bare_word(low)
    return bare not in language.roles and low not in language.roles and bare not in not_names


def _run_end(
    tokens: list[Token],
    lower: list[str],
    place: int,
    language: Language,
    taken: Collection[int],
    not_names: Collection[str],
) -> int:
    end = place + 1
    while end < len(tokens) and tokens[end].start - tokens[end - 1].end <= 1:
        if tokens[end - 1].text.endswith(("'s", "s'")):
            break
        if _is_capital(tokens[end], lower[end], language, taken, not_names):
            end += 1
        elif (
            lower[end] in _BINDERS
            and end + 1 < len(tokens)
            and _is_capital(tokens[end + 1], lower[end + 1], language, taken, not_names)
            and lower[end] not in ("of", "da")
        ):
            end += 2
        else:
            break
    return end


def _name(tokens: list[Token], place: int, end: int, language: Language) -> Salient:
    words = [bare_word(token.text.casefold()) for token in tokens[place:end]]
    begins = place == 0 or tokens[place - 1].text in _ENDS or tokens[place - 1].text == '"'
    telling = end - place > 1 or tokens[place].text.endswith(("'s", "s'")) or not tokens[place].text[1:].islower()
    sure = (telling or not begins) and language.name not in _CAPITAL_NOUNS
    span = (tokens[place].start, tokens[end - 1].end)
    # "Pay Northwind" may be a firm, or Northwind after a verb that begins the sentence.
    also = (" ".join(words[1:]),) if begins and len(words) > 1 else ()
    return Salient(Kind.NAME, " ".join(words), span, also=also, sure=sure)


def bare_word(low: str) -> str:
    """A word without its possessive ending."""
    if low.endswith("'s"):
        return low[:-2]
    return low.rstrip("'")
