"""What is given to others: the same bytes twice, nothing missing, nothing beside, and it runs where nothing else is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from scripts.packaging import container, distributions
from scripts.packaging.distributions import EXPECTED, ROOT, Built
from scripts.packaging.environments import README_EXAMPLE, Environment, InstallFailed, declared, interpreter

import truekeep

pytestmark = pytest.mark.slow

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
OF_ALL = {"all", "client", "llm", "otel", "postgres", "serve", "timestamp"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return distributions.build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, built: Built) -> Environment:
    """The wheel with what it requires, and nothing else."""
    environment = Environment(tmp_path_factory.mktemp("alone"))
    environment.install(str(built.wheel))
    return environment


def test_an_index_takes_both(built: Built) -> None:
    distributions.check_metadata(built)


def test_they_hold_what_they_should_and_nothing_else(built: Built) -> None:
    assert distributions.faults(built) == []


def test_a_wheel_that_lacks_a_file_or_holds_a_stray_one_is_told(built: Built, tmp_path: Path) -> None:
    changed = tmp_path / built.wheel.name
    with zipfile.ZipFile(built.wheel) as whole, zipfile.ZipFile(changed, "w") as other:
        for name in whole.namelist():
            if name != "truekeep/data/channels.toml":
                other.writestr(name, whole.read(name))
        other.writestr("truekeep/notes.bak", "")
    told = distributions.faults(Built(changed, built.sdist))
    assert told == [
        "the wheel lacks truekeep/data/channels.toml",
        "the wheel holds truekeep/notes.bak",
        "truekeep/notes.bak is of no known kind",
    ]


def test_the_wheel_of_another_day_and_place_has_the_same_bytes(built: Built, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE", "docs/man/truekeep.1"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy / name)
    for path in copy.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    assert distributions.wheel_of_tree(tmp_path / "again", copy).read_bytes() == built.wheel.read_bytes()


def test_in_an_empty_environment_the_program_answers_and_the_readmes_examples_run(alone: Environment) -> None:
    assert truekeep.__version__ in alone.run("truekeep", "--version")
    assert alone.run("truekeep", "remember", "My desk is in room 12.").startswith("accepted")
    assert "room 12" in alone.run("truekeep", "recall", "Where is my desk?")
    alone.run("python", "-I", "-c", README_EXAMPLE, str(ROOT / "README.md"))
    assert (alone.place / "share" / "man" / "man1" / "truekeep.1").is_file()


def test_the_bill_of_materials_is_valid_and_names_everything_that_is_needed(alone: Environment) -> None:
    script = str(ROOT / "scripts" / "packaging" / "sbom.py")
    bill = alone.run("python", script)
    assert bill == alone.run("python", script)
    assert JsonStrictValidator(SchemaVersion.V1_5).validate_str(bill) is None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for requirement in project["dependencies"]:
        name = requirement.partition(";")[0].replace("==", ">").replace("<", ">").partition(">")[0]
        assert f"pkg:pypi/{name.lower().strip()}@" in bill, name


def test_every_extra_but_that_of_developers_promises_something() -> None:
    assert EXPECTED["extras"].keys() == EXTRAS.keys() - {"dev"}


@pytest.mark.parametrize("extra", sorted(EXPECTED["extras"]))
def test_an_extra_by_itself_brings_what_it_promises(extra: str, built: Built, tmp_path: Path) -> None:
    if extra not in OF_ALL and not os.environ.get("TRUEKEEP_LONG"):
        pytest.skip("a framework of others: TRUEKEEP_LONG=1 installs each, and so does python -m scripts.packaging")
    environment = Environment(tmp_path / "one")
    environment.install(f"{built.wheel}[{extra}]")
    environment.imports(EXPECTED["extras"][extra])


@pytest.mark.parametrize("extra", sorted(OF_ALL))
def test_what_an_extra_promises_is_not_there_without_it(extra: str, alone: Environment) -> None:
    with pytest.raises(InstallFailed):
        alone.imports(EXPECTED["extras"][extra])


@pytest.mark.parametrize("version", declared())
def test_it_runs_on_every_python_that_it_names(version: str, built: Built, tmp_path: Path) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"there is no Python {version} on this machine")
    environment = Environment(tmp_path / "one", python)
    environment.install(str(built.wheel))
    assert version in environment.run("python", "--version")
    environment.run("python", "-I", "-c", README_EXAMPLE, str(ROOT / "README.md"))


def test_the_container_file_copies_what_is_there_and_its_line_installs_the_wheel(built: Built, tmp_path: Path) -> None:
    text = container.FILE.read_text("utf-8")
    context = tmp_path / "context"
    (context / "dist").mkdir(parents=True)
    assert container.faults(text, context) == ["dist/truekeep-*.whl is not there"]
    shutil.copy2(built.wheel, context / "dist")
    assert container.faults(text, context) == []
    line = container.installing(text, wheels=context / "dist", place=tmp_path / "installed")
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    subprocess.run(
        ["sh", "-c", line],
        env={**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}"},
        check=True,
        capture_output=True,
        timeout=280,
    )
    ran = subprocess.run(
        [tmp_path / "installed" / "bin" / "truekeep", "serve", "--help"], capture_output=True, text=True, check=True
    )
    assert "--tls-certificate" in ran.stdout


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("ADD https://example.org/x /x", "ADD is no instruction that is used here"),
        ("COPY --from=elsewhere /a /b", "there is no stage --from=elsewhere"),
        ("COPY nothing /b", "nothing is not there"),
    ],
)
def test_a_container_file_that_cannot_be_built_is_told(line: str, said: str, tmp_path: Path) -> None:
    assert container.faults(f"FROM one AS build\n{line}\n", tmp_path) == [said]
