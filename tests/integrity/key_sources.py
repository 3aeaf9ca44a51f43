"""Where an operator may keep the master key."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest


def sources(folder: Path, key: bytes, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    (folder / "key.hex").write_text(key.hex() + "\n")
    (folder / "key.raw").write_bytes(key)
    script = folder / "kms"
    script.write_text(f"#!/bin/sh\necho noise >&2\ncat {folder / 'key.hex'}\n")
    script.chmod(0o700)
    monkeypatch.setenv("MY_MASTER", base64.b64encode(key).decode())
    return {
        "environment": "env:MY_MASTER",
        "file": f"file:{folder / 'key.hex'}",
        "raw file": f"file:{folder / 'key.raw'}",
        "command": f"command:{script} --decrypt 'a b'",
    }
