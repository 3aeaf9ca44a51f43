"""The container file, checked without a daemon: what it copies is there, and what it installs can be installed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from scripts.packaging.distributions import ROOT

FILE = ROOT / "deploy" / "Containerfile"
KNOWN = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "CMD"}


def instructions(text: str) -> list[tuple[str, str]]:
    """Each instruction and what follows it, continued lines joined."""
    joined = re.sub(r"\\\n", " ", "\n".join(line for line in text.splitlines() if not line.startswith("#")))
    return [(line.partition(" ")[0], line.partition(" ")[2].strip()) for line in joined.splitlines() if line.strip()]


def faults(text: str, context: Path) -> list[str]:
    """What a build in that context would stumble over before it runs anything."""
    found, stages = [], set[str]()
    for name, rest in instructions(text):
        words = shlex.split(rest) if name in ("FROM", "COPY") else []
        if name not in KNOWN:
            found.append(f"{name} is no instruction that is used here")
        elif name == "FROM" and "AS" in words:
            stages.add(words[-1])
        elif name == "COPY" and words[0].startswith("--from="):
            if words[0].removeprefix("--from=") not in stages:
                found.append(f"there is no stage {words[0]}")
        elif name == "COPY":
            found += [f"{one} is not there" for one in words[:-1] if not any(context.glob(one.removeprefix("./")))]
    if instructions(text)[0][0] != "FROM":
        found.append("it begins with no FROM")
    return found


def installing(text: str, *, wheels: Path, place: Path) -> str:
    """The line that installs, with the image's places put elsewhere: for a shell of this machine."""
    (line,) = [rest for name, rest in instructions(text) if name == "RUN" and "pip install" in rest]
    return line.replace("/opt/truekeep", str(place)).replace("/wheels", str(wheels))
