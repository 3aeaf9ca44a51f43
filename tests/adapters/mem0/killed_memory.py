"""Processes that write to a wrapped mem0, each killed at its own step: ``python -m … FOLDER``.

mem0 is imported once, and each writer is a fork of this process, which has opened nothing and started no thread.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.adapters.mem0.endpoint import configuration, serving
from tests.protect.fuse import Fuse
from truekeep import Keep
from truekeep.stores.ledger import Ledger

ANNA = {"user_id": "anna"}
WRITES = (("add", "I prefer tea"), ("add", "I ski"), ("update", "I prefer coffee"), ("delete", ""), ("add", "I sing"))
"""Two entries, a change of the first one, its deletion, and one more."""
_MOST_STEPS, _EVERY = 80, 3
"""A writer takes seconds with mem0 around it, so it is killed at every third of its steps."""


def state_after(count: int) -> list[str]:
    """What mem0 has to hold after so many writes."""
    return (
        [], ["I prefer tea"], ["I prefer tea", "I ski"], ["I prefer coffee", "I ski"], ["I ski"], ["I sing", "I ski"],
        ["I sing", "I ski"],
    )[count]  # fmt: skip


def write(folder: Path, at: int, told: int) -> None:
    """Write, say what was acknowledged, and die at the step."""
    from truekeep.protect.wrap.mem0 import protect_memory

    mem0: Any = import_module("mem0")  # in the environment of this framework only
    fuse, first = Fuse(at), ""
    with serving() as script, Keep.open("alice", home=folder / "home", background=False) as keep:
        memory = mem0.Memory.from_config(configuration(script, folder))
        wrapped = protect_memory(memory, keep, channel="user", mode="enforce")
        fuse.before(Ledger, "writing")
        for name in ("insert", "update", "delete"):
            fuse.around(memory.vector_store, name)
        for how, text in WRITES:
            script.facts = [text]
            if how == "add":
                added = wrapped.add(text, **ANNA)["results"][0]["id"]
                first = first or added
            elif how == "update":
                wrapped.update(first, text)
            else:
                wrapped.delete(first)
            os.write(told, b".")
            fuse.step()


def main() -> None:
    """Say for each step how many writes were acknowledged, and whether the writer was killed."""
    import_module("mem0")
    import_module("truekeep.protect.wrap.mem0")
    for step in range(1, _MOST_STEPS, _EVERY):
        folder = Path(sys.argv[1]) / str(step)
        folder.mkdir()
        reading, telling = os.pipe()
        child = os.fork()
        if not child:
            try:
                write(folder, step, telling)
            except BaseException:
                os._exit(3)
            os._exit(0)
        os.close(telling)
        with os.fdopen(reading, "rb") as pipe:
            done = len(pipe.read())
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code not in (0, -9):
            raise SystemExit(f"the writer failed at step {step}")
        print(step, done, int(code == -9), flush=True)
        if not code:
            return
    raise SystemExit("the writer has more steps than it is killed at")


if __name__ == "__main__":
    main()
