"""Adds to the site the generated reference and the repository's own pages, and mends links that lead out."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(Path(__file__).parent))

from reference import codes, commands, python_api, rest, settings  # noqa: E402 - beside this file

_OF_THE_REPOSITORY = ("SECURITY.md", "CHANGELOG.md", "CONTRIBUTING.md")
_OUT = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+(?:src|tests|benchmarks|scripts|examples|deploy|LICENSE|NOTICE)[^)]*)\)")
PAGES = {
    "reference/python.md": lambda: python_api.page(*python_api.PUBLIC, title="Python"),
    "reference/through-a-keep.md": python_api.reached,
    "reference/adapters.md": lambda: python_api.page(*python_api.adapters(), title="Adapters"),
    "reference/commands.md": commands.page,
    "reference/settings.md": settings.page,
    "reference/rest.md": rest.page,
    "reference/errors.md": lambda: codes.page(
        "Error codes", "Every error has a `code` for programs and a hint for people.", codes.errors()
    ),
    "reference/verdicts.md": lambda: codes.page(
        "Codes of verdicts", "What `remember` answers, beside `THREAT_held` and `THREAT_rejected`.", codes.rulings()
    ),
    "reference/findings.md": lambda: codes.page(
        "Findings", "What screens and rules report. They never decide: the policy does.", codes.findings()
    ),
    "reference/events.md": lambda: codes.page("Events", "Kinds of events in the audit log.", codes.events()),
}


def on_files(files: Files, config: Any) -> Files:
    """Add what is not a file under docs/."""
    for place, made in PAGES.items():
        files.append(File.generated(config, place, content=made()))
    for name in _OF_THE_REPOSITORY:
        files.append(File.generated(config, name, content=_moved((ROOT / name).read_text("utf-8"))))
    return files


def _moved(text: str) -> str:
    """A page of the repository's root, as if it stood beside the pages of docs/."""
    text = re.sub(r"\]\(docs/", "](", text)
    return re.sub(r"\[([^\]]+)\]\((?:(?!https://|#)[^)]*(?<!\.md)|README\.md)\)", r"\1", text)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links to the source go nowhere on the site: their words stay. Those to the repository's pages stay on it."""
    markdown = _OUT.sub(r"\1", markdown)
    depth = page.file.src_uri.count("/")
    for name in (*_OF_THE_REPOSITORY, "README.md"):
        there = "index.md" if name == "README.md" else name
        markdown = markdown.replace(f"]({'../' * (depth + 1)}{name}", f"]({'../' * depth}{there}")
    return markdown
