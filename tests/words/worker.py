"""Ask a whole keep of whichever truekeep is installed: a candidate on each line in, its answer on each line out.

Runs in a process of its own, so that another version can be asked the same; it imports nothing of the tests.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from truekeep import Keep


def answered(home: Path, made: dict[str, Any]) -> str:
    """What the keep says to the candidate's call; to the last one, where the call is made again."""
    with Keep.open(f"words-{made['number']}", home=home, policy="inform") as keep:
        for text in made.get("memories", ()):
            keep.remember(text, via="user")
        session = _session(keep, made)
        for text in made["foreign"]:
            session.observe("web", text, principal="https://page.example/news")
        for row in made.get("results", ()):
            session.observe("tool", json.dumps(row["result"]), principal=row["name"])
        for text in made["messages"]:
            session.observe("user", text)
        answer = session.check_action(made["call"], made["arguments"])
        for _ in range(made.get("repeat", 1) - 1):
            if answer.decision.value != "allow":
                break
            session.redeem(answer.ticket, made["call"], made["arguments"])
            answer = session.check_action(made["call"], made["arguments"])
        return str(answer.decision.value)


def _session(keep: Keep, made: dict[str, Any]) -> Any:
    if not made.get("tools"):
        return keep.session("s", mediated=True)
    try:
        from truekeep import Tool
    except ImportError:  # the first edition knows no declarations
        return keep.session("s", mediated=True)
    return keep.session("s", mediated=True, tools=[Tool(**tool) for tool in made["tools"]])


def main() -> None:
    """Answer until there is nothing more to answer."""
    for line in sys.stdin:
        made = json.loads(line)
        home = Path(tempfile.mkdtemp(prefix="words-"))
        try:
            said = answered(home, made)
        except Exception as error:  # a version that refuses a text has not let the call through
            said = f"error: {type(error).__name__}"
        finally:
            shutil.rmtree(home, ignore_errors=True)
        sys.stdout.write(json.dumps({"number": made["number"], "answer": said}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
