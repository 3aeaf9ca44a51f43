"""The judgement on one reading: it describes, states a wish of the owner's, or directs, and in whose voice.

Three voices decide what an order is worth. A *plant's* speaks to the assistant, of the user, or in the name of a
system or a policy, as no owner writes to himself: ``authority-directive``. The owner's *own* speaks of me and mine:
``preference``. What is in between, a bare order about money, access or data, is a ``directive`` that waits for one step
of the owner's. A sentence that tells of attackers and what they do describes, unless it also speaks to its reader.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from truekeep.screens.grammar import DOMAINS, Sentence
from truekeep.types import Severity, Threat

_STAKES = frozenset({"money", "access", "leaving"})


@dataclass(frozen=True, slots=True)
class Judgement:
    """One reason to hold a text back, or to note that it is only a preference."""

    rule_id: str
    threat: Threat
    severity: Severity
    reason: str


OVERRIDE = Judgement(
    "override_instructions", Threat.INJECTION, Severity.CRITICAL, "tells the reader to set its instructions aside"
)
IDENTITY = Judgement("identity_change", Threat.AUTHORITY, Severity.HIGH, "gives the assistant another identity or mode")
EVASION = Judgement(
    "directs_evasion", Threat.AUTHORITY, Severity.CRITICAL, "orders secrecy, omission or the skipping of a check"
)
STANDING = Judgement(
    "standing_order", Threat.AUTHORITY, Severity.HIGH, "a standing order about money, access, data or tools"
)
CLAIMED = Judgement(
    "claimed_authority", Threat.AUTHORITY, Severity.HIGH, "an order in the name of a system, a policy or an authority"
)
ADDRESSED = Judgement(
    "addressed_order", Threat.AUTHORITY, Severity.HIGH, "an order to the assistant about money, access, data or tools"
)
WAIVER = Judgement("waived_check", Threat.AUTHORITY, Severity.HIGH, "says that money or access needs no confirmation")
SCRIPTED = Judgement(
    "scripted_answer", Threat.AUTHORITY, Severity.HIGH, "prescribes what to do or say when someone asks"
)
DIRECTIVE = Judgement("assistant_directive", Threat.DIRECTIVE, Severity.MEDIUM, "tells the assistant how to behave")
PREFERENCE = Judgement("style_preference", Threat.PREFERENCE, Severity.INFO, "a preference about style or taste")


@dataclass(frozen=True, slots=True)
class Clues:
    """What a sentence says, reduced to what the judgement turns on."""

    language: str
    says: set[str]
    everything: set[str]
    commands: set[str]
    overrides_rules: bool
    claimed: bool
    reaches_out: bool

    @property
    def addressed(self) -> bool:
        """The assistant is named."""
        return "addressee" in self.says

    @property
    def lasting(self) -> bool:
        """It is to hold beyond this once."""
        return bool(self.says & {"standing", "condition"})

    @property
    def evades(self) -> bool:
        """Something is to be kept silent, or a check is to be skipped."""
        return bool(self.says & {"secret", "skip"})

    @property
    def things(self) -> bool:
        """Money or access is spoken of."""
        return bool(self.says & {"money_noun", "access_noun"})

    @property
    def told(self) -> bool:
        """Somebody is told to do something that matters."""
        return bool(self.commands) or "must" in self.says

    @property
    def own(self) -> bool:
        """The writer speaks of himself."""
        return "self" in self.says

    @property
    def planted(self) -> bool:
        """A voice that no owner has: to the assistant, of the user, in somebody's name, or of silence and no checks."""
        both = {"secret", "skip"} <= self.says
        return self.addressed or self.claimed or both or bool(self.says & {"user", "identity", "mode"})

    @property
    def specifies_code(self) -> bool:
        """It says what a program is to do, which reaches nobody outside."""
        return "specified" in self.says and not (
            self.claimed or self.reaches_out or self.overrides_rules or self.addressed
        )

    @property
    def protects(self) -> bool:
        """What is not to be said or written down is a secret: *never log access tokens*."""
        return "access_noun" in self.says and not (self.planted or self.says & {"skip", "money_noun", "condition"})

    @property
    def tells_of_attacks(self) -> bool:
        """It describes what attackers do, to no reader in particular."""
        return "attack" in self.says and not (self.says & {"you", "standing", "authority"} or self.reaches_out)


def _override(clues: Clues) -> Judgement | None:
    return OVERRIDE if clues.overrides_rules else None


def _identity(clues: Clues) -> Judgement | None:
    """Outright for unmistakable phrases; playing a role alone is a game."""
    if "role" in clues.says and (clues.claimed or clues.evades or "lawless" in clues.says):
        return None if clues.own else IDENTITY
    unmistakable = clues.language == "en" and "identity" in clues.says
    return IDENTITY if unmistakable or (clues.says & {"identity", "mode"} and not clues.own) else None


def _evasion(clues: Clues) -> Judgement | None:
    """An order to stay silent or to skip a check, about something or with something behind it."""
    if not clues.evades or clues.protects:
        return None
    backed = clues.lasting or clues.claimed or clues.addressed or bool(clues.says & {"all", "user"})
    about = bool(clues.commands - {"tool", "promote", "secret", "skip"}) or clues.things
    # What is not to be mentioned of me and mine is mine to say; who is not to be checked is not.
    discreet = clues.own and "skip" not in clues.says and not clues.planted
    told = clues.told or bool(clues.everything) or (clues.lasting and "user" in clues.says)
    ordered = told and (about or backed) and not discreet
    decreed = "authority" in clues.says and not clues.own
    twice = {"secret", "skip"} <= clues.commands
    aside = bool(clues.everything) and clues.things and not clues.own
    return EVASION if ordered or decreed or twice or aside else None


def _harmless(clues: Clues) -> Judgement | None:
    """Style and taste, with nothing at stake and nobody behind it."""
    at_stake = clues.says & {"money_noun", "access_noun", "secret", "skip", "identity", "condition"}
    if at_stake or clues.claimed or clues.addressed or clues.reaches_out or "style" not in clues.says:
        return None
    return None if clues.commands & {"access", "leaving", "override", "tool"} else _preference(clues)


def _claimed(clues: Clues) -> Judgement | None:
    if not clues.claimed or not (clues.told or clues.everything):
        return None
    return CLAIMED if clues.commands or clues.things or clues.evades else DIRECTIVE


def _addressed(clues: Clues) -> Judgement | None:
    if "does" in clues.says and not clues.own and (clues.lasting or clues.evades or "all" in clues.says):
        return ADDRESSED
    if not clues.addressed or not (clues.told or (clues.everything and clues.things)):
        return None
    at_stake = bool(clues.commands) or clues.things or clues.evades
    if clues.own and not ("must" in clues.says and at_stake):
        return None
    return ADDRESSED if at_stake else DIRECTIVE


def _scripted(clues: Clues) -> Judgement | None:
    """When others ask, do this: a rule that someone else triggers."""
    triggered = "condition" in clues.says or {"standing", "user"} <= clues.says
    if not triggered or clues.own:
        return None
    if clues.commands & _STAKES:
        return STANDING
    if clues.commands & {"tool", "promote"} or clues.everything & {"speech", "spell_out"}:
        return SCRIPTED
    return DIRECTIVE if clues.everything and clues.things and "condition" in clues.says else None


def _standing(clues: Clues) -> Judgement | None:
    """A rule for the future about what is at stake, or one that sends something out of the house."""
    if not clues.commands or not (clues.lasting or "all" in clues.says):
        return None
    if clues.own:
        # An order may speak of "my invoices"; where commands are known by their place that clears nobody.
        sends = clues.language == "en" and clues.reaches_out and clues.commands & _STAKES
        return STANDING if sends else None
    if clues.commands & _STAKES and (clues.things or clues.reaches_out):
        return STANDING
    if clues.reaches_out or ("access_noun" in clues.says and "promote" in clues.commands):
        return SCRIPTED
    return DIRECTIVE if "standing" in clues.says and clues.commands & _STAKES else None


def _waiver(clues: Clues) -> Judgement | None:
    dealing = clues.things or "dealing" in clues.says
    return WAIVER if "skip" in clues.says and dealing and not clues.own else None


def _decreed(clues: Clues) -> Judgement | None:
    """Rules without anybody who is told: what is to be sent, what may be given, which limit is gone."""
    if clues.own:
        return None
    passive = "passive" in clues.says and ("access_noun" in clues.says or clues.reaches_out or "skip" in clues.says)
    lifted = "void" in clues.says and (
        "limits" in clues.says or ("rules" in clues.says and bool(clues.says & {"you", "standing"}))
    )
    return DIRECTIVE if passive or lifted else None


def _preference(clues: Clues) -> Judgement | None:
    return PREFERENCE if clues.everything and clues.says & {"style", "standing"} else None


# In this order: what is grave whatever else is said, what is harmless, then the rest.
_CHECKS: tuple[Callable[[Clues], Judgement | None], ...] = (
    _override,
    _identity,
    _evasion,
    _harmless,
    _claimed,
    _addressed,
    _scripted,
    _standing,
    _waiver,
    _decreed,
    _preference,
)


def judge(sentence: Sentence, *, framed: bool = False, reaches_out: bool = False) -> Judgement | None:
    """``None`` if the reading only describes. ``framed``: it imitates a system's voice; ``reaches_out``: an address."""
    clues = Clues(
        sentence.language,
        sentence.says,
        sentence.commands,
        sentence.commands & DOMAINS,
        sentence.overrides_rules,
        framed or "authority" in sentence.says,
        reaches_out,
    )
    if clues.tells_of_attacks or clues.specifies_code:
        return None
    for check in _CHECKS:
        judgement = check(clues)
        if judgement is not None:
            return _voiced(judgement, clues)
    return None


def _voiced(judgement: Judgement, clues: Clues) -> Judgement:
    """An order that nobody speaks but its writer is his to confirm; it is not refused."""
    if judgement.threat is not Threat.AUTHORITY or judgement in (IDENTITY, CLAIMED, ADDRESSED) or clues.planted:
        return judgement
    return replace(judgement, threat=Threat.DIRECTIVE, severity=Severity.MEDIUM)
