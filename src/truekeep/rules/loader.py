"""Load rule files: the good ones load, every bad one is named, and the set has a hash."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from truekeep.errors import RuleError
from truekeep.rules import source
from truekeep.rules.model import Fault, Loaded, Rule
from truekeep.rules.parse import parse_rule

MAX_FILES = 20_000
"""A folder of rules that is none, such as a home directory, is noticed soon."""
SUFFIXES = (".yaml", ".yml")
_HEAD = b"truekeep rules 1\n"
BUILTIN = Path(__file__).resolve().parent.parent / "data" / "rules"


def load(paths: Sequence[Path], *, check_patterns: bool = True) -> Loaded:
    """Load every rule under ``paths`` (files or directories). Faults are collected, never raised."""
    faults: list[Fault] = []
    rules: dict[str, Rule] = {}
    digest = hashlib.sha256(_HEAD)
    for file in _files(paths, faults):
        data, found = _read(file, faults, check_patterns)
        for rule in found:
            if rule.id in rules:
                first = rules[rule.id]
                reason = f"id '{rule.id}' is already used by {first.file}:{first.line}"
                faults.append(Fault(str(file), rule.line, reason, "error", rule.id))
                continue
            rules[rule.id] = rule
        digest.update(hashlib.sha256(data).digest())
    return Loaded(tuple(rules.values()), tuple(faults), digest.hexdigest())


@functools.cache
def builtin_digest() -> str:
    """The digest of ``builtin``, found without making sense of anything in the rules."""
    digest = hashlib.sha256(_HEAD)
    for file in _walk(BUILTIN):
        digest.update(hashlib.sha256(source.read_bytes(file)).digest())
    return digest.hexdigest()


@functools.cache
def builtin() -> Loaded:
    """The product's own rule pack. A fault in it is a programming error and raises.

    Its patterns are checked by the tests rather than at every start; a bad one would still raise when used.
    """
    loaded = load([BUILTIN], check_patterns=False)
    if loaded.errors:
        first = loaded.errors[0]
        raise RuleError(f"the built-in rule pack is broken ({len(loaded.errors)} faults); first: {first}")
    return loaded


def _files(paths: Iterable[Path], faults: list[Fault]) -> Iterator[Path]:
    count = 0
    for path in paths:
        if not path.exists():
            faults.append(Fault(str(path), 0, "no such file or directory"))
            continue
        for file in _walk(path) if path.is_dir() else (path,):
            count += 1
            if count > MAX_FILES:
                faults.append(Fault(str(path), 0, f"more than {MAX_FILES:,} rule files; the rest was not loaded"))
                return
            yield file


def _walk(directory: Path) -> list[Path]:
    found = (entry for entry in directory.rglob("*") if entry.suffix.lower() in SUFFIXES)
    return sorted(entry for entry in found if entry.is_file())


def _read(file: Path, faults: list[Fault], check_patterns: bool) -> tuple[bytes, list[Rule]]:
    """The file's bytes and the rules in it; what is wrong with it goes to ``faults``."""
    rules: list[Rule] = []
    data = b""
    try:
        data = source.read_bytes(file)
        documents = source.compose(source.decode(data))
    except source.SourceError as error:
        faults.append(Fault(str(file), error.line, str(error)))
        return data, rules
    except OSError as error:
        faults.append(Fault(str(file), 0, f"cannot be read: {error.strerror or type(error).__name__}"))
        return data, rules
    if not documents:
        faults.append(Fault(str(file), 1, "file is empty"))
    for document in _unlisted(documents):
        rule, found = parse_rule(document, str(file), check_patterns=check_patterns)
        faults.extend(found)
        if rule is not None:
            rules.append(rule)
    return data, rules


def _unlisted(documents: list[Any]) -> Iterator[Any]:
    """A file holds one rule, several documents, or lists of rules."""
    for document in documents:
        if isinstance(document, source.Seq):
            yield from document
        else:
            yield document
