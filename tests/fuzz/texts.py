"""Random texts: honest sentences, orders, hidden characters, encodings and sheer length, mixed and mutilated."""

from __future__ import annotations

import base64
import codecs
import urllib.parse
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

import yaml

LONGEST = 8_000
"""The default cap on a text; a few are made longer on purpose."""
_RANGES = (
    (0x20, 0x7E),
    (0xA0, 0x24F),
    (0x300, 0x36F),
    (0x370, 0x5FF),
    (0x600, 0x6FF),
    (0x2000, 0x20CF),
    (0x3040, 0x30FF),
    (0x4E00, 0x4FFF),
    (0xD800, 0xDFFF),
    (0xFE00, 0xFFFF),
    (0x1D400, 0x1D7FF),
    (0x1F300, 0x1F9FF),
    (0xE0000, 0xE007F),
)


@cache
def pieces() -> dict[str, list[str]]:
    """The parts that texts are made of."""
    loaded = yaml.safe_load(Path(__file__).with_name("pieces.yaml").read_text("utf-8"))
    return {name: [str(part) for part in parts] for name, parts in loaded.items()}


def text(random: Random) -> str:
    """One random text."""
    made = random.choices(_KINDS, _WEIGHTS)[0](random)
    while random.random() < 0.3:
        made = random.choice(_DISTORTIONS)(random, made)
    limit = LONGEST if random.random() < 0.995 else 3 * LONGEST
    return made[:limit]


def sentence(random: Random) -> str:
    """A sentence as people write them."""
    return _filled(random, random.choice(pieces()["sentences"]))


def _filled(random: Random, template: str) -> str:
    while "{w}" in template:
        template = template.replace("{w}", random.choice(pieces()["words"]), 1)
    while "{n}" in template:
        template = template.replace("{n}", str(random.choice((3, 17, 2024, 31, 990471, 10 ** random.randrange(18)))), 1)
    return template


def _prose(random: Random) -> str:
    joint = random.choice((" ", "\n", "\n\n"))
    return joint.join(sentence(random) for _ in range(random.choice((1, 1, 1, 2, 3, 8))))


def _order(random: Random) -> str:
    order = _filled(random, random.choice(pieces()["orders"]))
    return f"{_prose(random)} {order} {_prose(random)}" if random.random() < 0.5 else order


def _noise(random: Random) -> str:
    low, high = random.choice(_RANGES)
    return "".join(chr(random.randint(low, high)) for _ in range(random.choice((1, 5, 40, 300))))


def _salad(random: Random) -> str:
    parts = pieces()
    groups = [parts[name] for name in ("words", "joints", "marks", "sentences", "orders")]
    return "".join(_filled(random, random.choice(random.choice(groups))) for _ in range(random.choice((2, 4, 8, 30))))


def _repetition(random: Random) -> str:
    """What quadratic code is slow on."""
    parts = pieces()
    unit = "".join(random.choice(random.choice([parts["joints"], parts["words"], parts["marks"]])) for _ in range(2))
    unit = random.choice((unit, unit, "a", "1", " ", "a.", "not ", "0 1 ", "my my ", "'s ", "1-", "é"))
    return unit * (random.choice((50, 500, LONGEST)) // len(unit) + 1)


def _encoded(random: Random, made: str) -> str:
    data = made.encode("utf-8", "replace")
    return random.choice(
        (
            lambda: base64.b64encode(data).decode(),
            data.hex,
            lambda: codecs.encode(made, "rot13"),
            lambda: urllib.parse.quote(data),
            lambda: "".join(chr(0xE0000 + ord(mark)) if mark.isascii() else mark for mark in made),
        )
    )()


def _spaced(_: Random, made: str) -> str:
    return " ".join(made[:400])


def _sprinkled(random: Random, made: str) -> str:
    marks = pieces()["marks"]
    return "".join(mark + (random.choice(marks) if random.random() < 0.1 else "") for mark in made[:2000])


def _cut(random: Random, made: str) -> str:
    low, high = sorted((random.randrange(len(made) + 1), random.randrange(len(made) + 1)))
    return made[:low] + made[high:] if random.random() < 0.5 else made[low:high]


def _doubled(random: Random, made: str) -> str:
    place = random.randrange(len(made) + 1)
    return made[:place] + made[place : place + 50] * random.randint(2, 20) + made[place:]


def _cased(random: Random, made: str) -> str:
    return random.choice((str.upper, str.lower, str.swapcase, str.title))(made)


_KINDS: tuple[Callable[[Random], str], ...] = (_prose, _order, _noise, _salad, _repetition)
_WEIGHTS = (45, 20, 12, 20, 3)
_DISTORTIONS: tuple[Callable[[Random, str], str], ...] = (_encoded, _spaced, _sprinkled, _cut, _doubled, _cased)
