"""Read attacks and scenes from their files. Nothing is played here; every fault is found before anything is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from functools import cache
from importlib.resources import files
from itertools import chain, product
from typing import Any, TypeVar

import yaml

from truekeep.errors import InvalidRequest
from truekeep.redteam import session_steps as session
from truekeep.redteam import writing_steps as writing
from truekeep.redteam.attack import Attack, AttackCall, Scene, Truth, search_data
from truekeep.redteam.sources import SOURCES
from truekeep.redteam.stage import Step

STEPS: dict[str, type[Step]] = {
    "remember": writing.Remember,
    "drip": writing.Drip,
    "remember_many": writing.RememberMany,
    "update": writing.Update,
    "delete": writing.Delete,
    "restore": writing.Restore,
    "import": writing.Import,
    "consolidate": writing.Consolidate,
    "session": session.Begin,
    "observe": session.Observe,
    "recall": session.Ask,
    "list": session.ListAll,
    "snapshot": session.Look,
    "extract": session.Extract,
    "wait": session.Wait,
    "check_action": session.Check,
    "confirm": session.Confirm,
    "redeem": session.Redeem,
    "act": session.Act,
    "credit": session.Credit,
    "enrol": session.Enrol,
    "approve": session.Approve,
    "reject": session.Reject,
    "elsewhere": session.Elsewhere,
    "find": session.Find,
    "edit_at_rest": session.EditAtRest,
}
"""Every kind of step, by the word that stands for it in an attack's file."""
_Made = TypeVar("_Made")
_MEMBERS = {"name", "about", "setup", "attack", "truth", "later", "poison", "query", "attempts", "honest", "reader"}
_DIRECTIONS = {"vary", "alone"}
"""Members that make several attacks of one."""
_OF_A_SCENE = ("subject", "attribute", "value", "true", "member")


class FaultyAttacks(ValueError):
    """Attack files that cannot be used, with all that is wrong in them."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = tuple(faults)


@cache
def attacks() -> tuple[Attack, ...]:
    """Every attack that comes with the package, in the order of the files."""
    folder = files("truekeep").joinpath("data", "redteam", "influence")
    sources = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir() if file.name.endswith(".yaml")}
    return parsed(sources)


def chosen_attacks(words: str | None) -> tuple[Attack, ...]:
    """All attacks, or those with these words in their name."""
    found = tuple(one for one in attacks() if words is None or words.casefold() in one.name.casefold())
    if not found:
        raise InvalidRequest("No attack has that name.", code="unknown_attack", hint="List them with --list.")
    return found


def parsed(sources: Mapping[str, str]) -> tuple[Attack, ...]:
    """The attacks in these files; raises ``FaultyAttacks`` with everything that is wrong with them."""
    found: list[Attack] = []
    faults: list[str] = []
    for file, source in sorted(sources.items()):
        for raw in yaml.safe_load(source):
            for varied in chain.from_iterable(map(_alone, _varied(raw))):
                try:
                    found.append(_attack(varied, file.removesuffix(".yaml")))
                except (TypeError, ValueError, KeyError) as fault:
                    faults.append(f"{file}: {varied.get('name')}: {fault}")
    names = [one.name for one in found]
    faults += [f"two attacks are called {name}" for name in sorted({name for name in names if names.count(name) > 1})]
    if faults:
        raise FaultyAttacks(faults)
    return tuple(found)


def _varied(raw: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One attack for every combination of what ``vary`` lists; ``$name`` stands for the value of it.

    A value that is a mapping gives several names their values at once.
    """
    vary = raw.get("vary", {})
    for values in product(*vary.values()):
        chosen: dict[str, Any] = {}
        for name, value in zip(vary, values, strict=True):
            chosen |= value if isinstance(value, Mapping) else {name: value}
        yield {member: _filled(value, chosen) for member, value in raw.items() if member != "vary"}


def _alone(raw: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The attack and, with ``alone``, once more without the truth: its contradiction must not be all that holds."""
    yield raw
    if raw.get("alone"):
        asked = [*_phrases(raw.get("query", [])), *(truth["query"] for truth in raw.get("truth", []))]
        kept = {member: value for member, value in raw.items() if member not in ("setup", "truth", "honest")}
        yield kept | {"name": f"{raw['name']}, nobody knows better", "query": asked}


def _filled(value: Any, chosen: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        whole = value.removeprefix("$")
        if value.startswith("$") and whole in chosen:
            return chosen[whole]
        for name, text in chosen.items():
            value = value.replace(f"${name}", str(text))
        return value
    if isinstance(value, Mapping):
        return {key: _filled(entry, chosen) for key, entry in value.items()}
    return [_filled(entry, chosen) for entry in value] if isinstance(value, list) else value


def _attack(raw: Mapping[str, Any], group: str) -> Attack:
    made = replace(ground(raw, group), attack=_steps(raw["attack"]))
    _require_something_to_lose(made)
    return made


def ground(raw: Mapping[str, Any], group: str) -> Attack:
    """An attack whose steps are yet to be found: what honestly happened, and what may come of it or not."""
    if unknown := set(raw) - _MEMBERS - _DIRECTIONS:
        raise ValueError(f"unknown members: {', '.join(sorted(unknown))}")
    return Attack(
        name=raw["name"],
        about=raw["about"],
        setup=_steps(raw.get("setup", [])),
        attack=(),
        truth=_listed(Truth, raw, "truth"),
        later=_listed(Truth, raw, "later"),
        poison=_phrases(raw.get("poison", [])),
        query=_phrases(raw.get("query", [])),
        attempts=_listed(AttackCall, raw, "attempts"),
        honest=_listed(AttackCall, raw, "honest"),
        reader=raw.get("reader", ""),
        group=group,
    )


def _require_something_to_lose(attack: Attack) -> None:
    """An attack that could not be seen to succeed proves nothing."""
    if not (
        attack.poison or attack.attempts or attack.truth or attack.later or any(one.stakes for one in attack.attack)
    ):
        raise ValueError("nothing in it can be lost")
    if attack.poison and not attack.questions:
        raise ValueError("it plants something and asks nothing")
    planted = [text for one in attack.attack for text in _texts(one)]
    if unplanted := [phrase for phrase in attack.poison if not any(_has(text, phrase) for text in planted)]:
        raise ValueError(f"no step plants: {', '.join(unplanted)}")


def _has(text: str, phrase: str) -> bool:
    return Attack(name="", about="", attack=(), poison=(phrase,)).is_poison(text)


def _texts(planting: Step) -> Iterator[str]:
    """What a step writes or shows."""
    for entry in (planting, *getattr(planting, "entries", ()), *getattr(planting, "lines", ())):
        text = entry.get("text") if isinstance(entry, Mapping) else getattr(entry, "text", None)
        if isinstance(text, str):
            yield text


def _steps(raw: Sequence[Any]) -> tuple[Step, ...]:
    return tuple(_step(entry) for entry in raw if entry)


def _step(raw: Mapping[str, Any]) -> Step:
    ((word, members),) = raw.items()
    if word not in STEPS:
        raise ValueError(f"no such step: {word}")
    nested = {name: _steps(members[name]) for name in ("do",) if name in (members or {})}
    made = _made(STEPS[word], {**(members or {}), **nested})
    kind = getattr(made, "sources", "")
    if kind and kind not in SOURCES:
        raise ValueError(f"no such kind of sources: {kind}")
    return made


def _listed(kind: type[_Made], raw: Mapping[str, Any], member: str) -> tuple[_Made, ...]:
    return tuple(_made(kind, entry) for entry in raw.get(member, []))


def _made(kind: type[_Made], members: Mapping[str, Any]) -> _Made:
    known = {entry.name: entry for entry in fields(kind)}  # type: ignore[arg-type]
    if unknown := set(members) - set(known):
        raise ValueError(f"{kind.__name__} does not take: {', '.join(sorted(unknown))}")
    needed = {name for name, entry in known.items() if entry.default is MISSING and entry.default_factory is MISSING}
    if missing := needed - set(members):
        raise ValueError(f"{kind.__name__} needs: {', '.join(sorted(missing))}")
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in members.items()})


def _phrases(raw: Any) -> tuple[str, ...]:
    return (raw,) if isinstance(raw, str) else tuple(raw)


@cache
def scenes() -> tuple[Scene, ...]:
    """Every scene that comes with the package."""
    made = []
    for raw in search_data()["scenes"]:
        own = {name: raw[name] for name in _OF_A_SCENE if name in raw}
        made.append(
            Scene(ground({name: value for name, value in raw.items() if name not in _OF_A_SCENE}, "search"), **own)
        )
    return tuple(made)
