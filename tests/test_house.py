"""The figures of the house may only fall: a bound below is lowered with every change that allows it."""

import ast
import itertools
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from scripts import house

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent.parent / "scripts" / "house.py"
BOUNDS = {
    "modules_in_the_hall": 10,
    "longest_import_path": 20,
    "longest_import_path_from_keep": 16,
    "files_a_write_touches": 64,
    "switches_between_files": 225,
    "class_names_defined_twice": 2,
}


@pytest.fixture(scope="module")
def figures() -> dict[str, object]:
    command = [sys.executable, str(SCRIPT), "--format", "json", "--from", "keep"]
    figures = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=280).stdout)
    assert isinstance(figures, dict)
    return figures


@pytest.mark.parametrize(("name", "most"), BOUNDS.items())
def test_the_house_does_not_grow_deeper_or_wider(figures: dict[str, object], name: str, most: int) -> None:
    found = figures[name]
    assert isinstance(found, int)
    assert found <= most, json.dumps(figures, indent=2)


def test_the_longest_path_is_told_from_its_upper_end(figures: dict[str, object]) -> None:
    path = figures["import_path_from_keep"]
    assert isinstance(path, list)
    assert path[0] == "keep"
    assert len(path) == figures["longest_import_path_from_keep"]


def test_a_room_does_not_even_name_a_type_of_a_room_above_it() -> None:
    """The contract of layers looks at what is imported to run; this one also at what is imported to be checked."""
    import grimp

    contract = tomllib.loads((SCRIPT.parents[1] / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    layers = {room: depth for depth, row in enumerate(contract["layers"]) for room in row.split(" | ")}
    graph = grimp.build_graph("truekeep", cache_dir=None)
    upwards = {
        f"{module} -> {imported}"
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
        if layers.get(room_of(imported), 99) < layers.get(room_of(module), 0)
    }
    # A keep and its sessions name each other's type.
    assert upwards == {"truekeep.handles -> truekeep.keep"}


def test_no_modules_import_each_other_in_a_circle_even_lazily_or_for_types() -> None:
    """The package itself is left out: it names everything public, and whoever tells the version imports it."""
    import grimp

    graph = grimp.build_graph("truekeep", cache_dir=None)
    modules = graph.modules - {"truekeep"}
    edges = {module: graph.find_modules_directly_imported_by(module) & modules for module in modules}
    circles: dict[int, set[str]] = {}
    for module, number in house.strongly_connected(edges).items():
        circles.setdefault(number, set()).add(module.removeprefix("truekeep."))
    # A comment at each says why.
    allowed = [{"handles", "keep"}, {"rules.engine", "rules.evaluation"}]
    assert sorted(map(sorted, (one for one in circles.values() if len(one) > 1))) == sorted(map(sorted, allowed))


def room_of(module: str) -> str:
    return f"{module}.".split(".")[1]


def test_a_bound_says_what_it_protects() -> None:
    """A number that nobody can explain is neither raised nor lowered by anybody."""
    bounds = re.compile(r"_?(?:[A-Z]+_)*(?:MOST|MAX|LONGEST|LARGEST|CAP|LIMIT|DEEPEST)(?:_[A-Z]+)*")
    silent = []
    for path in sorted((SCRIPT.parents[1] / "src" / "truekeep").rglob("*.py")):
        text = path.read_text()
        lines, body = text.splitlines(), ast.parse(text).body
        for one, after in itertools.pairwise([*body, ast.Pass()]):
            names = [target.id for target in getattr(one, "targets", ()) if isinstance(target, ast.Name)]
            number = isinstance(one, ast.Assign) and isinstance(one.value, ast.Constant)
            said = isinstance(after, ast.Expr) or "  # " in lines[one.lineno - 1]
            if number and names and bounds.fullmatch(names[0]) and not said:
                silent.append(f"{path}:{one.lineno} {names[0]}")
    assert not silent
