"""The documentation site is built strictly, and fetches nothing: no fonts, scripts or pictures from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FETCHED = re.compile(r"<(?:script|img|iframe|source|link)[^>]*?(?:src|href)=\"?(https?:)?//", re.IGNORECASE)


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_without_a_network(tmp_path: Path) -> None:
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")
    made = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(tmp_path / "site")],
        cwd=ROOT,
        env={**os.environ, **nowhere, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (made.returncode, made.stderr) == (0, "")
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 50
    for page in (one for one in pages if one.name != "report.html"):
        assert not FETCHED.search(page.read_text("utf-8").replace('rel="canonical"', "")), page
    for style in (tmp_path / "site").rglob("*.css"):
        assert not re.search(r"url\(\"?https?:", style.read_text("utf-8")), style
    python = (tmp_path / "site" / "reference" / "python.html").read_text("utf-8")
    assert "Keep.remember" in python


def test_every_page_has_a_place_in_the_navigation() -> None:
    listed = (ROOT / "mkdocs.yml").read_text("utf-8")
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if page not in listed] == []
