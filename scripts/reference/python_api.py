"""The Python reference: everything that the package exports, from its docstrings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from reference.source import SOURCE, Definition, definition, described_fields, doc, exported, line, members

PUBLIC = ("truekeep", "truekeep.client", "truekeep.embed")
_CODE = re.compile(r"``([^`]+)``")


def adapters() -> list[str]:
    """The modules that agents' authors import: one for each page about a framework."""
    pages = {path.stem.replace("-", "_") for path in (SOURCE.parent / "docs" / "adapters").glob("*.md")}
    there = {path.stem for path in (SOURCE / "truekeep" / "adapters").iterdir()}
    return [f"truekeep.adapters.{name}" for name in sorted(pages & there)]


REACHED = {
    "keep.review": ("truekeep.review.decisions", "Review"),
    "keep.actions": ("truekeep.act.boundary", "Boundary"),
    "keep.calls": ("truekeep.act.call_desk", "CallDesk"),
    "keep.memories": ("truekeep.review.memory_desk", "MemoryDesk"),
    "keep.grants": ("truekeep.act.grants", "Grants"),
    "keep.channels": ("truekeep.sessions.channels", "Channels"),
    "keep.audit": ("truekeep.audit.log", "Audit"),
    "keep.working": ("truekeep.extract.working_memory", "WorkingSessions"),
    "keep.prompts": ("truekeep.extract.library", "PromptLibrary"),
}
"""What a keep has that is not exported by name."""


def reached() -> str:
    """What is reached through a keep."""
    parts = []
    for name, (module, kind) in REACHED.items():
        found = definition(module, kind)
        parts += list(_definition(name, *found)) if found is not None else []
    return "# Through a keep\n\n" + "\n".join(parts)


def page(*modules: str, title: str) -> str:
    """The exported names of these modules."""
    return f"# {title}\n\n" + "\n".join(part for module in modules for part in _module(module))


def _module(module: str) -> Iterator[str]:
    yield f"## `{module}`\n"
    for name in exported(module):
        found = definition(module, name)
        if found is None:
            yield f"### `{name}`\n\nA value of `{module}`.\n"
            continue
        yield from _definition(name, *found)


def _definition(name: str, module: str, node: Definition) -> Iterator[str]:
    if not isinstance(node, ast.ClassDef):
        yield f"### `{name}{_signature(node)}`\n\n{_words(node)}\n"
        return
    yield f"### `{name}`\n\n{_words(node)}\n"
    if values := members(node):
        yield f"{', '.join(f'`{one}`' for one in values)}\n"
    fields = list(described_fields(node))
    if fields:
        yield "| attribute | type | default | |\n|---|---|---|---|"
        yield from (
            f"| `{one}` | `{line(kind)}` | {_quoted(value)} | {_prose(line(said))} |"
            for one, kind, value, said in fields
        )
        yield ""
    for method, owner in _methods(module, node).items():
        kind = "property " if _is_property(owner) else ""
        shown = method if kind else f"{method}{_signature(owner)}"
        yield f"#### {kind}`{name}.{shown}`\n\n{_words(owner)}\n"


def _methods(module: str, node: ast.ClassDef) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    """Public methods, those of the package's own base classes included; the nearest one counts."""
    found: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
    for base in node.bases:
        where = definition(module, ast.unparse(base).partition("[")[0])
        if where is not None and isinstance(where[1], ast.ClassDef):
            found |= _methods(where[0], where[1])
    own = (one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
    return found | {one.name: one for one in own if not one.name.startswith("_")}


def _is_property(node: Definition) -> bool:
    return any("property" in ast.unparse(one) for one in node.decorator_list)


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    given = ast.unparse(node.args).removeprefix("self, ").removeprefix("self").removeprefix("cls, ").removeprefix("cls")
    return f"({given})" + (f" -> {ast.unparse(node.returns)}" if node.returns is not None else "")


def _words(node: Definition) -> str:
    return _prose(doc(node))


def _prose(text: str) -> str:
    return _CODE.sub(r"`\1`", text)


def _quoted(value: str) -> str:
    return f"`{line(value)}`" if value else ""
