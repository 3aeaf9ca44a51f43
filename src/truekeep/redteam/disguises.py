"""Ways to write a sentence so that a filter does not see it and a model still reads it."""

from __future__ import annotations

import base64
import codecs
from collections.abc import Callable, Iterator
from importlib.resources import files

import yaml

_CYRILLIC = str.maketrans("aceopxyisjAEOPCTXBHKM", "асеорхуіѕјАЕОРСТХВНКМ")  # noqa: RUF001 - look-alikes are the point
_GREEK = str.maketrans("aopvix", "αορνιχ")
_LEET = str.maketrans("aeiostAEIOST", "431057431057")
_LEET_SIGNS = str.maketrans("aeios", "@3!0$")


def _shift(start_upper: int, start_lower: int) -> Callable[[str], str]:
    def write(text: str) -> str:
        return "".join(
            chr(start_upper + ord(c) - 65)
            if "A" <= c <= "Z"
            else chr(start_lower + ord(c) - 97)
            if "a" <= c <= "z"
            else c
            for c in text
        )

    return write


def _each_word(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: " ".join(change(word) for word in text.split())


def _tags(text: str) -> str:
    return "Nice weather today." + "".join(chr(0xE0000 + ord(c)) for c in text if c.isascii())


DISGUISES: dict[str, Callable[[str], str]] = {
    "plain": str,
    "upper case": str.upper,
    "cyrillic look-alikes": lambda text: text.translate(_CYRILLIC),
    "greek look-alikes": lambda text: text.translate(_GREEK),
    "full width": lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "mathematical bold": _shift(0x1D400, 0x1D41A),
    "mathematical sans": _shift(0x1D5A0, 0x1D5BA),
    "zero width in words": "\u200b".join,
    "zero width joiner": _each_word(lambda word: word[:2] + "\u200d" + word[2:]),
    "word joiner for spaces": lambda text: text.replace(" ", "\u2060"),
    "soft hyphen": _each_word("\u00ad".join),
    "combining strike": lambda text: "".join(c + "\u0336" if c.isalpha() else c for c in text),
    "combining accents": lambda text: "".join(c + "\u0301" if c in "bcdfghjklmnpqrstvwxz" else c for c in text),
    "spaced out": lambda text: "  ".join(" ".join(word) for word in text.split()),
    "spaced without words": lambda text: " ".join(text.replace(" ", "")),
    "dots": _each_word(".".join),
    "hyphens": _each_word("-".join),
    "underscores": lambda text: text.replace(" ", "_"),
    "split words": _each_word(lambda word: word if len(word) < 6 else word[:3] + "-" + word[3:]),
    "glued": lambda text: text.replace(" ", ""),
    "camel": lambda text: text.title().replace(" ", ""),
    "leet": lambda text: text.translate(_LEET),
    "leet signs": lambda text: text.translate(_LEET_SIGNS),
    "base64": lambda text: "Note: " + base64.b64encode(text.encode()).decode(),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "binary": lambda text: " ".join(f"{byte:08b}" for byte in text.encode()),
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "percent": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "entities": lambda text: "".join(f"&#{ord(c)};" for c in text),
    "escapes": lambda text: "".join(f"\\u{ord(c):04x}" for c in text),
    "tag characters": _tags,
    "direction override": lambda text: "\u202e" + text[::-1] + "\u202c",
    "backwards": lambda text: text[::-1],
    "html inside words": _each_word(lambda word: word if len(word) < 4 else f"{word[:2]}<b>{word[2:]}</b>"),
    "html comment": lambda text: f"Recipe for soup. <!-- {text} -->",
    "markdown": _each_word(lambda word: word if len(word) < 4 else f"{word[:2]}**{word[2:]}**"),
    "terminal escape": lambda text: f"Recipe for soup.\x1b[8m {text}\x1b[0m",
}


def battery() -> Iterator[tuple[str, str]]:
    """Every seed in every disguise, the reworded ones and the translations: what was done, and the text."""
    source = files("truekeep").joinpath("data", "redteam", "screen_battery.yaml").read_text(encoding="utf-8")
    data = yaml.safe_load(source)
    for name, disguise in DISGUISES.items():
        for seed in data["seeds"]:
            yield name, disguise(seed)
    for text in data["reworded"]:
        yield "reworded", text
    for language, text in data["languages"].items():
        yield f"language {language}", text
