"""The built-in rules, compiled once for all tests and kept from run to run.

``python -m tests.compiled`` does it ahead of them, so that no worker has to do it twice or wait for another.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from truekeep.rules import Engine, builtin

FOLDER = Path(__file__).parents[1] / ".pytest_cache" / "compiled"
"""What ``XDG_CACHE_HOME`` is in the tests. A database lies under the hash of all that goes into it."""


KEY = FOLDER / "keys" / "cache.key"
"""What says that a database was stored by these tests; every test's home gets a copy."""


def compiled() -> Path:
    """The folder, with the rules in it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TRUEKEEP_KEYS", str(KEY.parent))
        Engine(builtin().rules, cache_dir=FOLDER / "truekeep" / "rules").wait()
    return FOLDER


if __name__ == "__main__":
    compiled()
