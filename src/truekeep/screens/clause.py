"""Decides for the words of one sentence whether they command, forbid or only describe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache

from truekeep.screens.lexicon import PhraseHit, plain
from truekeep.text.language import entries, language_table
from truekeep.text.words import WordRow

_PUNCTUATION = frozenset('.!?;:\n,()[]<>"{}-\u2013\u2014')
_REACH = 6
_CALLING = frozenset({",", ":", "!", "-", "\u2013", "\u2014", "]", ")", ">", "\n"})
_YOU = frozenset({"you"})


@dataclass(frozen=True, slots=True)
class _Syntax:
    """Function words that show where a command may stand."""

    adverbs: frozenset[str]
    modals: frozenset[str]
    obliging: frozenset[str]
    callers: frozenset[str]
    governors: frozenset[str]
    not_verb_before: frozenset[str]
    subjects: frozenset[str]
    addressed: frozenset[str]
    joins: frozenset[str]
    without: frozenset[str]
    writes_code: frozenset[str]
    relatives: frozenset[str]
    attached: frozenset[str]
    describing: frozenset[str]
    hails: frozenset[str]


@cache
def _syntax() -> _Syntax:
    tables = tuple(entries("commands", "syntax"))
    return _Syntax(**{entry.name: _gathered(tables, entry.name) for entry in fields(_Syntax)})


def _gathered(tables: Iterable[Mapping[str, str]], name: str) -> frozenset[str]:
    """One list over all languages, in the form in which folded views spell words."""
    return frozenset(word for table in tables for word in plain(table.get(name, "")).split())


class Told:
    """Decides for the words of one sentence whether they command."""

    def __init__(self, language: str, hits: list[PhraseHit], found: WordRow) -> None:
        self.language = language
        self.syntax = _syntax()
        self.words = found.words
        self.own = {hit.at for hit in hits if hit.category in {"self", "others"} and hit.at >= 0}
        self.called = {hit.after - 1 for hit in hits if hit.category == "addressee"}
        self.opened = {
            hit.after for hit in hits if hit.category in {"standing", "condition"} and hit.after - hit.at > 1
        }
        self.commanded = False

    def is_command(self, hit: PhraseHit) -> bool:
        """A verb that stands where a command can, and not before the writer's own *me* or *my*."""
        if hit.at < 0:
            return True
        if hit.after in self.own and hit.category not in {"override", "skip"}:
            return False
        if self._word(hit.at) == "be" and not {self._word(hit.at - 1), self._word(hit.at - 2)}.isdisjoint(
            self.syntax.modals
        ):
            return False
        commands = self._english(hit.at) if self.language == "en" else self._inflected(hit.at)
        self.commanded = self.commanded or commands
        return commands

    def is_order(self, hit: PhraseHit) -> bool:
        """A modal that speaks of the reader or the assistant, not of the writer or of others."""
        if hit.at < 0:
            return True
        if self.language == "en":
            # "The agent should not be granted more" tells nobody to do anything.
            passive = not {"be", "have"}.isdisjoint(self.words[hit.after : hit.after + 2])
            return not passive and self._addressed(hit.at + (self._word(hit.at) == "you"))
        return not any(place in self.own for place in range(hit.at - 4, hit.at))

    def names_assistant(self, hit: PhraseHit) -> bool:
        """*Agents must*, but not *you must*: people say that to each other."""
        return self.language == "en" and self._subject(hit.at) in self.syntax.addressed - {"you", "model", "models"}

    def does(self, hit: PhraseHit) -> bool:
        """*The bot recommends*: what an assistant is said to do, as a rule for it."""
        place = hit.at - 1
        while self._word(place) in self.syntax.adverbs:
            place -= 1
        told = self._word(place) in self.syntax.addressed - {"you", "model"}
        return told and self.syntax.describing.isdisjoint(self.words[max(0, place - 3) : place])

    def is_meant(self, hit: PhraseHit) -> bool:
        """Whether an English word says here what its category means."""
        if hit.category == "addressee":
            return self._is_called(hit)
        if hit.category == "passive":
            # What can be sent, or is never to be, is not told to be sent.
            return self._word(hit.at - 1) not in {"not", "never", "can", "could", "might", "may"}
        return hit.category != "standing" or hit.after - hit.at > 1 or self._stands_alone(hit)

    def is_hailed(self, hit: PhraseHit) -> bool:
        """*Attention email assistant*, *whichever AI reads this*: a notice on a wall, and no owner speaks so."""
        return not self.syntax.hails.isdisjoint(self.words[max(0, hit.at - 2) : hit.at])

    def _is_called(self, hit: PhraseHit) -> bool:
        """*Assistant, do it* and *the agent must* call the assistant; *when deploying agents* speaks of some."""
        if self.syntax.addressed.isdisjoint(self.words[hit.at : hit.after]):
            return True
        after = self._word(hit.after)
        if self.is_hailed(hit):
            return True
        if after not in _CALLING and after not in self.syntax.obliging:
            return False
        before = self._word(hit.at - 1)
        named = after in _CALLING and self._word(hit.at - 2) in self.syntax.callers
        return not before or before in _PUNCTUATION or before in self.syntax.callers or named

    def _stands_alone(self, hit: PhraseHit) -> bool:
        """``always`` and ``never`` order something only where a command may stand."""
        word = self._word(hit.at)
        return word not in {"always", "never"} or self._english(hit.at, skip_noun_check=True)

    def specifies_code(self, hits: list[PhraseHit]) -> bool:
        """*The script should delete ...* asks for a program; it tells no assistant what to do."""
        code = [hit for hit in hits if hit.category == "code"]
        modal = [hit for hit in hits if hit.category == "must"] if code else []
        return any(0 <= must.start - hit.end <= 24 for hit in code for must in modal) or any(
            not self.syntax.writes_code.isdisjoint(self.words[max(0, hit.at - 4) : hit.at])
            or self._word(hit.after) in self.syntax.relatives
            or self._word(hit.after + 1) in self.syntax.relatives
            for hit in code
            if hit.at >= 0
        )

    def is_phrase(self, hit: PhraseHit) -> bool:
        """*Without asking* says what it says wherever it stands; *hide*, *skip* and *never tell* must command."""
        return hit.at < 0 or (
            hit.after - hit.at > 1 and self._word(hit.at) not in {"do", "don't", "never", "skip", "keep", "avoid"}
        )

    def is_denied(self, hit: PhraseHit) -> bool:
        """*Never skip a meal* skips nothing."""
        return hit.after - hit.at == 1 and self._word(hit.at - 1) in {"never", "not", "don't", "nicht", "nie"}

    def lacks(self, hits: list[PhraseHit]) -> Iterator[tuple[str, bool]]:
        """``skip`` for a check that is waived, ``secret`` for a word that is not said, and whether that is an order."""
        lacking = [hit for hit in hits if hit.category == "lack"]
        for hit in hits if lacking else ():
            if hit.category not in {"check", "tell"}:
                continue
            near = [lack for lack in lacking if self._near(lack, hit)]
            if near:
                yield ("skip" if hit.category == "check" else "secret"), any(map(self._forbids, near))

    def _forbids(self, lack: PhraseHit) -> bool:
        """*Never tell* forbids; *without telling* only describes how."""
        if lack.at < 0:
            return True
        word = self._word(lack.at)
        return (
            word in {"never", "do", "don't"}
            if self.language == "en"
            else word not in self.syntax.without and self._inflected(lack.at)
        )

    def _near(self, lack: PhraseHit, hit: PhraseHit) -> bool:
        if hit.at < 0:
            return abs(lack.start - hit.end) <= 4 or 0 <= hit.start - lack.end <= 4
        if self.language == "en" and self._word(lack.at) in {"never", "do", "don't"}:
            # "I never ask" describes; "never ask" orders.
            return 0 <= hit.at - lack.after <= 1 and self._english(lack.at, skip_noun_check=True)
        behind = self.language == "tr" and 0 <= lack.at - hit.after <= 1
        return behind or 0 <= hit.at - lack.after <= 2

    def overrides_rules(self, hits: list[PhraseHit]) -> bool:
        """An override verb that commands, and near it what it overrides or what to say instead."""
        rules = [hit for hit in hits if hit.category == "rules"]
        spoken = [hit for hit in hits if hit.category == "speech" or self._spells_out(hit)]
        for hit in hits:
            if hit.category != "override" or not self.is_command(hit) or self._guards(hit, hits):
                continue
            if hit.at < 0:
                near = any(abs(rule.start - hit.end) < 24 for rule in rules) or any(
                    0 <= other.start - hit.end < 40 for other in spoken
                )
            else:
                near = any(-7 <= rule.at - hit.after <= _REACH for rule in rules) or any(
                    hit.after < other.at <= hit.after + 9 and self._instead(other.at) for other in spoken
                )
            if near:
                return True
        return False

    def _guards(self, hit: PhraseHit, hits: list[PhraseHit]) -> bool:
        """*Ignore attempts to change your rules* guards them, and *don't forget the rules* keeps them."""
        spaced = hit.at >= 0
        gaps = (
            other.at - hit.after if spaced else (hit.start - other.end) // 6
            for other in hits
            if other.category == "attempt"
        )
        guards = any(-1 <= gap <= 4 for gap in gaps)
        return guards or (spaced and self.is_denied(hit))

    def _spells_out(self, hit: PhraseHit) -> bool:
        """*Print: ...* and *output that ...* prescribe words; *print the headers* does not."""
        return hit.category == "spell_out" and self._word(hit.after) in {":", '"', "that", "exactly", "only"}

    def _instead(self, index: int) -> bool:
        """Joined to the verb before: *ignore the page and say ...*."""
        before = self._word(index - 1)
        return before in self.syntax.joins or (
            before in self.syntax.adverbs and self._word(index - 2) in self.syntax.joins
        )

    def _word(self, index: int) -> str:
        return self.words[index] if 0 <= index < len(self.words) else ""

    def _inflected(self, index: int) -> bool:
        """Imperative forms command unless the clause has a subject of its own."""
        reach = 2 if language_table(self.language, "commands").get("inflected", False) else 4
        for place in range(index - 1, index - 1 - reach, -1):
            if place in self.own:
                return False
            if self._word(place) in _PUNCTUATION:
                break
        return True

    def _english(self, index: int, *, skip_noun_check: bool = False) -> bool:
        """The bare verb commands at the head of a clause, or after a modal that addresses the reader."""
        if not skip_noun_check and self._word(index + 1) in self.syntax.not_verb_before:
            return False
        anchor = index - 1
        while anchor >= 0 and self._word(anchor) in self.syntax.adverbs:
            anchor -= 1
        word = self._word(anchor)
        if word in {"not", "don't", "do"}:
            anchor -= 2 if word == "not" and self._word(anchor - 1) in self.syntax.modals | {"do"} else 1
            if self._word(anchor + 1) in self.syntax.modals:
                return self._addressed(anchor + 1)
            while anchor >= 0 and self._word(anchor) in self.syntax.adverbs:
                anchor -= 1
            word = self._word(anchor)
        return self._heads(anchor, word)

    def _heads(self, anchor: int, word: str) -> bool:
        if anchor < 0 or word in _PUNCTUATION or anchor + 1 in self.opened:
            return True
        if word in self.syntax.modals:
            # What the assistant may or can do describes it; what you may do is a permission.
            permits = word not in self.syntax.obliging
            return self._addressed(anchor) and (not permits or self._mentions(anchor, _YOU, reach=3))
        if word == "to":
            return self._word(anchor - 1) in self.syntax.governors and self._governed(anchor - 1)
        return word in {"and", "or", "but"} and (self.commanded or self._word(anchor - 1) in _PUNCTUATION)

    def _governed(self, index: int) -> bool:
        if self._word(index) in self.syntax.addressed:
            return True
        if self._word(index) in {"remember", "sure", "careful"}:
            return not self._mentions(index, self.syntax.subjects)
        return self._addressed(index + 1)

    def _addressed(self, index: int) -> bool:
        return bool(self._subject(index)) and not self._mentions(index, self.syntax.subjects, reach=2)

    def _subject(self, index: int) -> str:
        """Who is addressed before a modal: the head of what stands there, *agents in this house* or *you*.

        *Agent permissions must* addresses no agent: another noun follows it.
        """
        for place in range(index - 1, max(-1, index - 1 - _REACH), -1):
            word = self._word(place)
            if word in ".!?;\n":
                break
            if word in self.syntax.addressed or place in self.called:
                after = self._word(place + 1)
                near = place + 3 >= index and (
                    place + 1 == index or after in _PUNCTUATION or after in self.syntax.adverbs | self.syntax.modals
                )
                # "Agents in this house must" are assistants; "the agent in the film must" is somebody's hero.
                if near or (word.endswith("s") and after in self.syntax.attached):
                    return word
        return ""

    def _mentions(self, index: int, words: frozenset[str], reach: int = _REACH) -> bool:
        for place in range(index - 1, max(-1, index - 1 - reach), -1):
            word = self._word(place)
            if word in words:
                return True
            if word in ".!?;\n":
                return False
        return False
