"""Reads the source without importing it, so that adapters of frameworks that are not installed are read too."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@cache
def tree(module: str) -> ast.Module:
    """The parsed source of a module or package."""
    path = SOURCE.joinpath(*module.split("."))
    return ast.parse((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text("utf-8"))


def modules() -> Iterator[str]:
    """Every module of the package."""
    for path in sorted((SOURCE / "truekeep").rglob("*.py")):
        yield ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def exported(module: str) -> list[str]:
    """The names in ``__all__``; of a module without it, its public functions and classes."""
    for node in tree(module).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return [node.name for node in tree(module).body if isinstance(node, Definition) and not node.name.startswith("_")]


def homes(module: str) -> dict[str, tuple[str, str]]:
    """Where the names come from that a module imports, or loads when they are asked for (``_HOMES``)."""
    found: dict[str, tuple[str, str]] = {}
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("truekeep"):
            found |= {one.asname or one.name: (str(node.module), one.name) for one in node.names}
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            if ast.unparse(target) == "_HOMES" and node.value is not None:
                found |= {name: (f"truekeep.{place}", name) for name, place in ast.literal_eval(node.value).items()}
    return found


def definition(module: str, name: str) -> tuple[str, Definition] | None:
    """Where a name is defined, however many modules pass it on; nothing for what is neither class nor function."""
    for node in tree(module).body:
        if isinstance(node, Definition) and node.name == name:
            return module, node
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name and isinstance(node.value, ast.Name):
            return definition(module, node.value.id)
    home = homes(module).get(name)
    return definition(*home) if home is not None and home[0] != module else None


def doc(node: ast.AST) -> str:
    """The docstring, without its indentation."""
    return inspect.cleandoc(ast.get_docstring(node, clean=False) or "")  # type: ignore[arg-type]


def described_fields(node: ast.ClassDef) -> Iterator[tuple[str, str, str, str]]:
    """Annotated attributes: name, type, default, and the docstring after it."""
    for place, one in enumerate(node.body):
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and not one.target.id.startswith("_"):
            after = node.body[place + 1] if place + 1 < len(node.body) else None
            value = after.value if isinstance(after, ast.Expr) else None
            words = inspect.cleandoc(str(value.value)) if isinstance(value, ast.Constant) else ""
            default = ast.unparse(one.value) if one.value is not None else ""
            yield one.target.id, ast.unparse(one.annotation), default, words


def members(node: ast.ClassDef) -> list[str]:
    """The values of an enumeration."""
    is_enumeration = any("Enum" in ast.unparse(base) for base in node.bases)
    return [ast.unparse(one) for one in node.body if is_enumeration and isinstance(one, ast.Assign)]


def line(text: str) -> str:
    """A text on one line of a table."""
    return " ".join(text.split()).replace("|", "\\|")
