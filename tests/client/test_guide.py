"""The guide to the client: its Python runs as it stands, against a real service."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from tests.serve.conftest import Served

GUIDE = Path(__file__).parents[2] / "docs" / "client.md"


def test_its_python_runs(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    blocking, awaited = re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    kinds = ("owner", "agent", "web", "reviewer")
    names = {f"{kind.upper()}_TOKEN": served.token(kind) for kind in kinds}
    for example in (blocking, awaited):
        code = example.replace("http://127.0.0.1:8430", served.address)
        exec(compile(code, "docs/client.md", "exec"), names)  # noqa: S102 - our own page
    asyncio.run(names["main"]())  # type: ignore[operator]
    assert "I like tea" in capsys.readouterr().out
