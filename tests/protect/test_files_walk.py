"""Which files are found, without following links, and that what was not looked at is never clean."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from truekeep.protect import files_walk
from truekeep.protect.files_catalog import catalog
from truekeep.protect.files_walk import instruction_files

NAMES = [
    "CLAUDE.md",
    "sub/AGENTS.md",
    "GEMINI.md",
    ".cursorrules",
    ".cursor/rules/deep/a.mdc",
    ".github/copilot-instructions.md",
    ".windsurfrules",
    "MEMORY.md",
    ".claude/agents/reviewer.md",
    ".claude/skills/pdf/reference.md",
    "node_modules/package/CLAUDE.md",
    "tools/SKILL.md",
    "memory-bank/progress.md",
]


def put(root: Path, name: str, text: str = "Use tabs.\n") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_instruction_files_of_every_kind_are_found_and_nothing_else(tmp_path: Path) -> None:
    for name in (*NAMES, "README.md", "docs/notes.md", "src/main.py", ".git/CLAUDE.md"):
        put(tmp_path, name)
    put(tmp_path, ".gitignore", "node_modules\nMEMORY.md\n")
    assert {file.name for file in instruction_files(tmp_path)} == set(NAMES)


def test_a_name_in_other_letters_is_the_same_file_to_many_systems(tmp_path: Path) -> None:
    put(tmp_path, "claude.MD")
    assert [file.name for file in instruction_files(tmp_path)] == ["claude.MD"]


def test_memories_of_a_user_are_found_in_the_home_directory_and_it_is_not_searched_through(tmp_path: Path) -> None:
    wanted = [".claude/CLAUDE.md", ".claude/projects/-work/memory/MEMORY.md", ".codex/AGENTS.md", "AGENTS.md"]
    for name in (*wanted, "projects/a/CLAUDE.md", ".claude/projects/-work/session.jsonl"):
        put(tmp_path, name)
    assert {file.name for file in instruction_files(tmp_path, is_home=True)} == set(wanted)


def test_a_link_that_leads_out_is_not_followed_and_not_clean(tmp_path: Path) -> None:
    outside = put(tmp_path / "outside", "secret.md", "a secret")
    root = tmp_path / "root"
    put(root, "README.md")
    (root / "CLAUDE.md").symlink_to(outside)
    (root / ".claude").mkdir()
    (root / ".claude" / "skills").symlink_to(outside.parent)
    found = {file.name: file for file in instruction_files(root)}
    assert set(found) == {"CLAUDE.md", ".claude/skills"}
    assert all(file.unread and not file.content for file in found.values())


def test_a_link_within_the_repository_leads_to_what_is_looked_at(tmp_path: Path) -> None:
    put(tmp_path, "CLAUDE.md")
    put(tmp_path, "shared/skills/one/notes.md")
    (tmp_path / "AGENTS.md").symlink_to("CLAUDE.md")
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "skills").symlink_to("../shared/skills")
    found = {file.name: file.unread for file in instruction_files(tmp_path)}
    assert found == {"CLAUDE.md": "", "shared/skills/one/notes.md": ""}


def test_a_home_whose_folder_is_a_link_is_not_taken_for_empty(tmp_path: Path) -> None:
    put(tmp_path / "dotfiles", "CLAUDE.md")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".claude").symlink_to(tmp_path / "dotfiles")
    assert any(file.unread for file in instruction_files(home, is_home=True))


def test_pipes_large_files_and_unreadable_ones_are_told_and_nothing_waits(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "CLAUDE.md")
    put(tmp_path, "AGENTS.md", "x" * (catalog().limits.file_bytes + 1))
    found = {file.name: file.unread for file in instruction_files(tmp_path)}
    assert all(found[name].startswith("not read") for name in ("CLAUDE.md", "AGENTS.md"))


@pytest.mark.parametrize("limit", ["files", "entries", "depth"])
def test_a_walk_that_reaches_a_limit_says_so(tmp_path: Path, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        put(tmp_path, "/".join(["deep"] * number + ["CLAUDE.md"]))
    small = replace(catalog(), limits=replace(catalog().limits, **{limit: 2}))
    monkeypatch.setattr(files_walk, "catalog", lambda: small)
    assert "not looked through to the end" in instruction_files(tmp_path)[0].unread


@pytest.mark.parametrize("link", [".claude", ".claude/agents", ".cursor", "sub/.github"])
def test_a_folder_of_instructions_that_is_a_link_hides_nothing(tmp_path: Path, link: str) -> None:
    put(tmp_path / "outside", "agents/reviewer.md")
    root = tmp_path / "root"
    put(root, "other/agents/reviewer.md")
    (root / link).parent.mkdir(parents=True, exist_ok=True)
    (root / link).symlink_to(root / "other")
    (root / "other" / "again").symlink_to(root / "other")
    assert [(one.name, one.unread) for one in instruction_files(root)] == [("other/agents/reviewer.md", "")]
    (root / "other" / "further").symlink_to(tmp_path / "outside")
    assert [one.name for one in instruction_files(root) if one.unread] == ["other/further"]
    (root / link).unlink()
    (root / link).symlink_to(tmp_path / "outside")
    assert [one.name for one in instruction_files(root) if one.unread] == [link]


def test_a_linked_folder_without_instructions_is_no_finding(tmp_path: Path) -> None:
    put(tmp_path, "shared/notes.txt")
    (tmp_path / ".github").symlink_to("shared")
    assert instruction_files(tmp_path) == []


def test_what_an_instruction_file_imports_is_looked_at_as_deep_as_agents_follow(tmp_path: Path) -> None:
    root = tmp_path / "root"
    outside = put(tmp_path, "elsewhere/rules.txt")
    put(root, "docs/a.md", "See @b.md.\n")
    put(root, "docs/b.md", "@a.md and @../docs/a.md\n")
    put(root, "not.md")
    put(root, "code.md")
    text = f"Read @docs/a.md, ask @eva and @types/node.\n`@not.md`\n\n```\n@code.md\n```\nme@code.md @{outside}\n"
    put(root, "CLAUDE.md", text)
    found = {file.name: file.unread for file in instruction_files(root)}
    assert found == dict.fromkeys(["CLAUDE.md", "docs/a.md", "docs/b.md", "../elsewhere/rules.txt"], "")


def test_imports_are_bounded_and_nothing_waits_for_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    for number in range(9):
        put(tmp_path, f"n{number}.md", f"@n{number + 1}.md @pipe @/dev/zero @/proc/kmsg\n")
    put(tmp_path, "CLAUDE.md", "@n0.md\n")
    names = {file.name for file in instruction_files(tmp_path) if not file.unread}
    assert names == {"CLAUDE.md", *(f"n{number}.md" for number in range(5))}
    small = replace(catalog(), limits=replace(catalog().limits, files=3))
    monkeypatch.setattr(files_walk, "catalog", lambda: small)
    assert "imported" in {file.name: file.unread for file in instruction_files(tmp_path)}["."]
