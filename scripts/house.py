"""Measures the house: how deep it imports, how far one write travels, how much there is to read.

    python scripts/house.py                        this tree
    python scripts/house.py --src ../other/src     another tree, to put beside it
    python scripts/house.py --format json

The longest import path is taken over all modules with everything that is imported at run time, inside functions too;
modules that import each other in a circle count as one. A write is one clean `keep.remember` in a keep that is warm.
"""

import argparse
import ast
import functools
import io
import itertools
import json
import sys
import tempfile
import tokenize
from collections import defaultdict
from pathlib import Path
from types import FrameType
from typing import Any

PACKAGE = "truekeep"
WARM = (
    "I prefer dark mode.",
    "My dentist is Dr Novak on Oak Street.",
    "Eva's birthday is on 3 March.",
    "The gym costs 40 euros a month.",
)
WRITTEN = "The rent is 1,250 euros."


def main() -> None:
    """Measure one tree and print what was found."""
    parser = argparse.ArgumentParser(description="Measure the house.")
    parser.add_argument("--src", type=Path, default=Path(__file__).parent.parent / "src")
    parser.add_argument("--format", choices=["text", "json"], default="text")
    parser.add_argument("--from", dest="start", help="also the longest path from this module, as in keep or write.gate")
    parser.add_argument("--files", action="store_true", help="also which files the write touches, in order")
    options = parser.parse_args()
    source = options.src.resolve()
    sys.path.insert(0, str(source))
    sys.dont_write_bytecode = True
    figures = {
        **imports(options.start),
        **classes(source / PACKAGE),
        **size(source / PACKAGE),
        **write(source / PACKAGE),
    }
    if not options.files:
        del figures["files"]
    print(json.dumps(figures, indent=2) if options.format == "json" else as_text(figures))


def as_text(figures: dict[str, Any]) -> str:
    """Figures a person reads: one a line, lists below their name."""
    lines = []
    for name, value in figures.items():
        if isinstance(value, list):
            lines += [f"{name.replace('_', ' ')}:", *(f"    {entry}" for entry in value)]
        else:
            lines.append(f"{name.replace('_', ' ')}: {value}")
    return "\n".join(lines)


def imports(start: str | None) -> dict[str, Any]:
    """The longest import path of the package, and the one that begins at `start`."""
    import grimp  # noqa: PLC0415  only this figure needs it

    graph = grimp.build_graph(PACKAGE, cache_dir=None, exclude_type_checking_imports=True)
    edges = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    circles = strongly_connected(edges)
    below: dict[int, set[int]] = defaultdict(set)
    for module, imported in edges.items():
        below[circles[module]] |= {circles[name] for name in imported} - {circles[module]}

    @functools.cache
    def longest(circle: int) -> tuple[int, ...]:
        return (circle, *max(map(longest, sorted(below[circle])), key=len, default=()))

    members: dict[int, list[str]] = defaultdict(list)
    for module in sorted(edges):
        members[circles[module]].append(module.removeprefix(f"{PACKAGE}."))

    def named(path: tuple[int, ...]) -> list[str]:
        return [" = ".join(members[circle]) for circle in path]

    path = max(map(longest, sorted(members)), key=len)
    figures: dict[str, Any] = {"longest_import_path": len(path), "import_path": named(path)}
    if start:
        path = longest(circles[f"{PACKAGE}.{start}"])
        figures |= {f"longest_import_path_from_{start}": len(path), f"import_path_from_{start}": named(path)}
    return figures


def strongly_connected(edges: dict[str, set[str]]) -> dict[str, int]:
    """Each module's circle, by number: modules that reach each other have the same one (Tarjan's algorithm)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    circle: dict[str, int] = {}
    stack: list[str] = []

    def visit(module: str) -> None:
        order[module] = low[module] = len(order)
        stack.append(module)
        for imported in sorted(edges[module]):
            if imported not in order:
                visit(imported)
            if imported not in circle:
                low[module] = min(low[module], low[imported])
        while low[module] == order[module] and module not in circle:
            circle[stack.pop()] = order[module]

    for module in sorted(edges):
        if module not in order:
            visit(module)
    return circle


def classes(package: Path) -> dict[str, Any]:
    """The modules of the hall, and public class names that stand for more than one class."""
    defined = defaultdict(list)
    for file in sorted(package.rglob("*.py")):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                defined[node.name].append(file.relative_to(package).as_posix())
    twice = [f"{name}: {', '.join(files)}" for name, files in sorted(defined.items()) if len(files) > 1]
    hall = sorted(file.stem for file in package.glob("*.py"))
    return {"modules_in_the_hall": len(hall), "class_names_defined_twice": len(twice), "twice": twice}


def size(package: Path) -> dict[str, Any]:
    """Lines that are code, and how much of comment and docstring goes with each of them."""
    files = sorted(package.rglob("*.py"))
    code = comments = 0
    for file in files:
        lines, said = code_and_comments(file.read_text())
        code, comments = code + lines, comments + said
    return {"files_in_the_wheel": len(files), "code_lines": code, "comment_ratio": round(comments / code, 3)}


def code_and_comments(text: str) -> tuple[int, int]:
    """How many lines hold code, and how many hold a comment or a docstring."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
            node
        ):
            first = node.body[0]
            docstrings |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    code: set[int] = set()
    comments = set(docstrings)
    layout = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments.add(token.start[0])
        elif token.type not in layout:
            code |= set(range(token.start[0], token.end[0] + 1))
    return len(code - docstrings), len(comments)


def write(package: Path) -> dict[str, Any]:
    """Which files one clean write goes through, and how often it goes from one to another."""
    from truekeep import Keep  # noqa: PLC0415  the tree to measure is known by now

    inside, steps = f"{package}/", []

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(inside):
            steps.append(frame.f_code.co_filename.removeprefix(inside))

    with tempfile.TemporaryDirectory() as home, Keep.open("house", home=home) as keep:
        for text in WARM:
            keep.remember(text, via="user")
        sys.setprofile(note)
        try:
            verdict = keep.remember(WRITTEN, via="user")
        finally:
            sys.setprofile(None)
    if not verdict.accepted:
        raise SystemExit(f"the write was not clean: {verdict.code}")
    switches = sum(before != after for before, after in itertools.pairwise(steps))
    return {
        "files_a_write_touches": len(set(steps)),
        "switches_between_files": switches,
        "files": list(dict.fromkeys(steps)),
    }


if __name__ == "__main__":
    main()
