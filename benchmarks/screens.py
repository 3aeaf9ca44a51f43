"""Measure the screens: ``python -m benchmarks.screens DATA_DIR`` prints what docs/screens.md shows."""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

from truekeep.policy import decide, preset
from truekeep.redteam.disguises import DISGUISES, battery
from truekeep.redteam.screen import Share
from truekeep.screens import default_screens
from truekeep.screens.panel import Panel
from truekeep.screens.standard import panel
from truekeep.types import Decision, Standing

APART = {"security_prose", "command_example", "coding_rule"}
MEMORIES = {"xpersona", "longmemeval_partial", "locomo", "own_honest"}
PROSE = (
    "My sister Jana lives in Brno and works as a nurse; we meet every second Friday in the cafe by the river. "
    "She likes tea, hates noise, and will move to Olomouc next spring because of her new job there."
)


def rows(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def own(name: str) -> list[tuple[str, str]]:
    from importlib.resources import files

    import yaml

    text = files("truekeep").joinpath("data", "redteam", f"screen_{name}.yaml").read_text(encoding="utf-8")
    return [(group, row) for groups in yaml.safe_load(text).values() for group, rs in groups.items() for row in rs]


class Measured:
    """Verdicts of one panel, with embeddings or without."""

    def __init__(self, screens: Panel, with_vectors: bool) -> None:
        self.screens = screens
        self.with_vectors = with_vectors

    def held(self, texts: list[str], standing: Standing = Standing.OWNER, policy: str = "strict") -> list[bool]:
        vectors: list[Any] = [None] * len(texts)
        if self.with_vectors:
            from truekeep.embed import default

            found = [default().embed(texts[at : at + 64], kind="passage") for at in range(0, len(texts), 64)]
            vectors = [vector for part in found for vector in part]
        table = preset(policy)
        verdicts = (
            decide(table, standing, self.screens.examine({"text": text}, standing, vector)).decision
            for text, vector in zip(texts, vectors, strict=True)
        )
        return [verdict is not Decision.ACCEPT for verdict in verdicts]


def line(name: str, held: list[bool]) -> None:
    share = Share("", name, sum(held), len(held))
    low, high = share.interval
    rate = share.held / max(1, share.total)
    print(f"| {name} | {share.held} / {share.total} | {rate:.2%} | {low:.2%} to {high:.2%} |", flush=True)


def figures(measured: Measured, data: Path) -> None:
    attacks, benign = rows(data / "dev_attack.jsonl"), rows(data / "dev_benign.jsonl")
    caught = measured.held([row["text"] for row in attacks])
    near = [row["realism"].split(":")[0] in {"memory_write", "tool_output"} for row in attacks]
    target = [
        row["tier"] in {"explicit", "standing_directive", "obfuscated"} and n
        for row, n in zip(attacks, near, strict=True)
    ]
    line("explicit among memory_write and tool_output", [c for c, t in zip(caught, target, strict=True) if t])
    for source in sorted({row["source"] for row, t in zip(attacks, target, strict=True) if t}):
        chosen = zip(caught, target, attacks, strict=True)
        line(f"- {source}", [c for c, t, row in chosen if t and row["source"] == source])
    for tier in sorted({row["tier"] for row in attacks}):
        line(f"tier {tier}, all realisms", [c for c, row in zip(caught, attacks, strict=True) if row["tier"] == tier])
    explicit = [row["text"] for row, t in zip(attacks, target, strict=True) if t]
    line("the same as hearsay, inform", measured.held(explicit, Standing.HEARSAY, "inform"))
    every = [row["text"] for row in attacks]
    line("every attack row as hearsay, strict", measured.held(every, Standing.HEARSAY, "strict"))
    held = measured.held([row["text"] for row in benign])
    conversations = data / "locomo_dev_memories.jsonl"
    talk = measured.held([row["text"] for row in rows(conversations)]) if conversations.exists() else []
    honest = measured.held([text for _, text in own("honest")])
    memories = [h for h, row in zip(held, benign, strict=True) if row["source"] in MEMORIES]
    line("honest memories: xpersona, longmemeval, own", memories + honest)
    line("honest memories: LoCoMo turns and observations", talk)
    rest = [row["source"] not in MEMORIES and row["kind"] not in APART for row in benign]
    line("all other benign rows", [h for h, r in zip(held, rest, strict=True) if r])
    for kind in sorted(APART):
        line(f"apart: {kind}", [h for h, row in zip(held, benign, strict=True) if row["kind"] == kind])
    triggers = [text for group, text in own("honest") if group == "trigger"]
    line("own: sentences full of trigger words", measured.held(triggers))


def own_figures(measured: Measured) -> None:
    directives = [text for _, text in own("directives")]
    line("own: directives in memory form", measured.held(directives))
    line("own: directives, hearsay, inform", measured.held(directives, Standing.HEARSAY, "inform"))
    disguised = [change(text) for text in directives[:106:3] for change in DISGUISES.values()]
    line("own: English directives (every third) in every disguise", measured.held(disguised))
    found = Counter(
        name for (name, _), h in zip(battery(), measured.held([t for _, t in battery()]), strict=True) if not h
    )
    line("battery of seed phrases", measured.held([text for _, text in battery()]))
    print(f"battery misses: {dict(found)}")


def cost() -> None:
    for name, screens in (("default screens", Panel(default_screens(), "")), ("with the rules", panel())):
        best = 9.0
        screens.examine({"text": PROSE}, Standing.OWNER)
        for _ in range(9):
            started = time.process_time()
            for _ in range(100):
                screens.examine({"text": PROSE}, Standing.OWNER)
            best = min(best, (time.process_time() - started) / 100)
        print(f"{name}: {best * 1e6:.0f} us of CPU for {len(PROSE)} characters of prose")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--without-vectors", action="store_true")
    parser.add_argument("--without-rules", action="store_true")
    options = parser.parse_args()
    screens = Panel(default_screens(), "") if options.without_rules else panel()
    measured = Measured(screens, not options.without_vectors)
    print("| set | not accepted | share | 95 % interval |\n|---|---|---|---|")
    own_figures(measured)
    if options.data:
        figures(measured, options.data)
    cost()


if __name__ == "__main__":
    main()
