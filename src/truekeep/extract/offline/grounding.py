"""Says in the third person, with the speaker's name, what a clause says in the first.

Word by word and mechanically, so that whoever proves the quote can follow. Where that does not work the
clause keeps its own words behind the name: "Ana: we live in Graz".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from truekeep.extract.offline.dates import DateEdit

if TYPE_CHECKING:
    from truekeep.extract.offline.grammar import Grammar

_SPLIT_WORD = re.compile(r"[^\W_]+['\u2019]|[^\W_]+")
_WHOLE_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_SPACES = re.compile(r"\s+")
_TIGHT = re.compile(r"\s+([,;.])")


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    end: int


def grounded(
    clause: str, grammar: Grammar, speaker: str | None, dates: list[DateEdit], *, kind: str, implied: bool
) -> str:
    """The clause about a named person, with its dates made absolute."""
    name = speaker or grammar.user
    edits = _edits(clause, grammar, name, kind=kind, implied=implied)
    if edits is not None:
        text = applied(clause, _without_overlap(edits, dates))
        if not grammar.label.search(text.replace(name, "\u00a6").lower()):
            return _finished(text)
    return labelled(applied(clause, dates), grammar, speaker)


def labelled(clause: str, grammar: Grammar, speaker: str | None) -> str:
    """The clause in its own words, with who said it in front."""
    name = speaker or grammar.user
    return _finished(f"{name[:1].upper()}{name[1:]}: {clause}")


def _edits(clause: str, grammar: Grammar, name: str, *, kind: str, implied: bool) -> list[DateEdit] | None:
    if not grammar.spaced:
        return _unspaced(clause, grammar, name, implied=implied)
    words = _words(clause, grammar)
    if grammar.drops_subject:
        return _dropping(clause, words, grammar, name, kind)
    return _speaking(words, grammar, name, implied=implied)


def _speaking(words: list[_Word], grammar: Grammar, name: str, *, implied: bool) -> list[DateEdit] | None:
    """Languages that say their subject: the pronoun becomes the name, and the verb beside it follows."""
    at = next((i for i, word in enumerate(words) if word.text in grammar.subject), None)
    owned = bool(words) and grammar.words.get(words[0].text) in ("their", "{own}") and grammar.possessive
    if at is None and not implied and not owned:
        return None
    edits = []
    if implied:
        edits.append(DateEdit(0, 0, f"{name} "))
        edits += _verb_edit(words, -1, "", grammar)
    elif at is not None and not owned:
        suffix = grammar.subject[words[at].text]
        space = " " if words[at].text.endswith("'") else ""
        edits.append(DateEdit(words[at].start, words[at].end, f"{name}{suffix}{space}"))
        edits += _verb_edit(words, at, suffix, grammar)
    taken = {edit.start for edit in edits if edit.end > edit.start}
    rest = [word for word in words if word.start not in taken]
    return edits + _word_edits(rest, grammar, name, leads=bool(owned))


def _verb_edit(words: list[_Word], at: int, suffix: str, grammar: Grammar) -> list[DateEdit]:
    """The verb's third person; a contraction such as "I'm" has brought its own."""
    if suffix:
        return []
    after = [word for word in words[at + 1 : at + 6] if word.text not in grammar.adverbs]
    if grammar.inflect is not None:
        return _inflected(after[0], grammar) if after else []
    near = after[:4] + words[max(0, at - 2) : max(at, 0)][::-1]
    for word in near:
        if word.text in grammar.forms:
            return [DateEdit(word.start, word.end, grammar.forms[word.text])]
    return []


def _inflected(verb: _Word, grammar: Grammar) -> list[DateEdit]:
    if verb.text in grammar.forms:
        return [DateEdit(verb.start, verb.end, grammar.forms[verb.text])]
    if verb.text in grammar.invariable or grammar.inflect is None or not grammar.inflect.search(verb.text):
        return []
    return [DateEdit(verb.end, verb.end, "es" if verb.text.endswith(("ch", "sh", "x", "z", "o")) else "s")]


def _word_edits(words: list[_Word], grammar: Grammar, name: str, *, leads: bool) -> list[DateEdit]:
    """Pronouns away from the verb. A possessive that opens the clause takes the name itself."""
    edits = []
    own = _own(grammar, name)
    for at, word in enumerate(words):
        new = grammar.words.get(word.text)
        if new is not None:
            new = own if new == "{own}" or (leads and at == 0) else new
            edits.append(DateEdit(word.start, word.end, new))
    return edits


def _own(grammar: Grammar, name: str) -> str:
    """The possessive of a name; German names that end in a hiss take only an apostrophe."""
    if grammar.possessive.endswith("'s") or not name.lower().endswith(("s", "x", "z", "ß")):
        return grammar.possessive.format(name=name)
    return f"{name}'"


def _dropping(clause: str, words: list[_Word], grammar: Grammar, name: str, kind: str) -> list[DateEdit] | None:
    """Languages that leave their subject out: the name goes in front, and the first verb form follows."""
    pair = _dative_pair(clause, grammar)
    if pair is not None:
        return _experienced(clause, words, grammar, name, pair)
    verb = _verb_change(words, grammar, kind)
    if verb is None:
        return None
    edits = [DateEdit(0, 0, f"{name} "), verb]
    edits += [DateEdit(word.start, word.end, "") for word in words if word.text in grammar.subject]
    taken = {edit.start for edit in edits if edit.end > edit.start}
    rest = [word for word in words if word.start not in taken]
    return edits + _word_edits(rest, grammar, name, leads=False) + _lowered(rest, grammar)


def _verb_change(words: list[_Word], grammar: Grammar, kind: str) -> DateEdit | None:
    """The first verb form in the third person. Where the past is made with "to be", the third person has none."""
    if kind == "event" and grammar.past_auxiliary is not None:
        for word in words:
            if word.text == grammar.past_auxiliary:
                return DateEdit(word.start, word.end, "")
    for word in words:
        if word.text in grammar.forms:
            return DateEdit(word.start, word.end, grammar.forms[word.text])
    return None


def _dative_pair(clause: str, grammar: Grammar) -> str | None:
    lowered = clause.lower()
    pairs = grammar.dative.get("pairs", ())
    return next((pair for pair in pairs if re.search(rf"\b{pair}\b", lowered)), None)


def _experienced(clause: str, words: list[_Word], grammar: Grammar, name: str, pair: str) -> list[DateEdit]:
    """ "me gusta el té": the person liking is not the subject, so the name goes in front with its preposition."""
    lowered = clause.lower()
    at = lowered.index(pair)
    prefix = grammar.dative["prefix"].format(name=name)
    dropped = next((text for text in grammar.dative["drop"] if lowered.startswith(text)), "")
    edits = [DateEdit(0, len(dropped), prefix if dropped else f"{prefix} ")]
    edits.append(DateEdit(at, at + len(pair), grammar.dative["pairs"][pair]))
    outside = [w for w in words if w.start >= len(dropped) and not at <= w.start < at + len(pair)]
    return edits + _lowered(outside, grammar) + _word_edits(outside, grammar, name, leads=False)


def _lowered(words: list[_Word], grammar: Grammar) -> list[DateEdit]:
    """The word that no longer opens the clause loses its capital, if it is one the language knows."""
    first = words[0] if words and words[0].start == 0 else None
    if first is None or first.text not in grammar.vocabulary or first.text in grammar.words:
        return []
    return [DateEdit(first.start, first.end, first.text)]


def _unspaced(clause: str, grammar: Grammar, name: str, *, implied: bool) -> list[DateEdit] | None:
    (subject,) = grammar.subject
    edits = [DateEdit(m.start(), m.end(), name) for m in re.finditer(re.escape(subject), clause)]
    if not edits and not implied:
        return None
    return edits if edits else [DateEdit(0, 0, name)]


def _words(clause: str, grammar: Grammar) -> list[_Word]:
    pattern = _SPLIT_WORD if grammar.splits_apostrophes else _WHOLE_WORD
    return [_Word(m[0].lower().replace("\u2019", "'"), m.start(), m.end()) for m in pattern.finditer(clause)]


def _without_overlap(edits: list[DateEdit], dates: list[DateEdit]) -> list[DateEdit]:
    """Both lists together; inside a date phrase only the date is put in."""
    inside = [e for e in edits if not any(d.start <= e.start < d.end and e.end > e.start for d in dates)]
    return inside + dates


def applied(clause: str, edits: list[DateEdit]) -> str:
    """The clause with every edit carried out; of two that overlap, the first."""
    pieces, done = [], 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.start < done:
            continue
        pieces += [clause[done : edit.start], edit.text]
        done = edit.end
    return "".join([*pieces, clause[done:]])


def _finished(text: str) -> str:
    text = _TIGHT.sub(r"\1", _SPACES.sub(" ", text)).strip(" ,;:")
    return text[:1].upper() + text[1:]
