"""The rules engine against pyatr and the reference engine, with all of Agent Threat Rules 4.0.0.

``python -m benchmarks.rules_atr [cases|speed|crafted|pack] [--texts FILE.jsonl]``. CPU time throughout; rounds of
the engines alternate and the median is reported.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from benchmarks.rules_fetch import Unreachable, atr_node, atr_rules, pyatr_python, workdir
from truekeep.rules import Engine, Event, Loaded, builtin, evaluation, load
from truekeep.rules.casework import run_cases
from truekeep.rules.pattern.alphabet import to_bytes
from truekeep.text.analysis import read_views

HERE = Path(__file__).parent
T = TypeVar("T")
ROUNDS = 3


def cases() -> None:
    """The rule set's own cases: ours, the reference's, and how long ours take."""
    rules = atr_rules()
    began = time.process_time()
    outcomes = list(run_cases(load([rules]).rules))
    seconds = time.process_time() - began
    counts = Counter((str(o.case.group), o.case.fires, bool(o.fired) == o.case.fires) for o in outcomes)
    print("ours       ", _tally(counts), f"{seconds:.1f} s CPU, skipped {sum(o.fired is None for o in outcomes)}")
    try:
        package = atr_node()
        out = workdir() / "reference.json"
        node = shutil.which("node") or "node"
        subprocess.run([node, HERE / "rules_reference.mjs", package, rules, out], check=True, timeout=600)
        reference = Counter((g, wanted, wanted == fired) for _, g, _, wanted, fired in json.loads(out.read_text()))
        print("reference  ", _tally(reference))
    except (Unreachable, OSError, subprocess.SubprocessError) as error:
        print(f"reference skipped: {error}")


def _tally(counts: Counter[tuple[str, bool, bool]]) -> str:
    parts = []
    for name, group, wanted in (
        ("true positives", "true_positive", True),
        ("true negatives", "true_negative", False),
        ("evasions to catch", "evasion", True),
    ):
        good = counts[group, wanted, True]
        parts.append(f"{name} {good}/{good + counts[group, wanted, False]}")
    return ", ".join(parts)


def speed(texts: Sequence[str]) -> None:
    """Honest texts of 200 and 2,000 characters: pyatr, Hyperscan's scan alone, ours on the raw text and with views."""
    engine = _engine(load([atr_rules()], check_patterns=False))
    for size in (200, 2_000):
        sample = _cut(texts, size, 200 if size == 200 else 60)
        for text in sample:
            engine.scan(Event.memory_write(text))
        calls: dict[str, Callable[[str], object]] = {
            "hyperscan alone": _alone(engine),
            "raw text only": lambda text: _raw_only(engine, text),
            "views alone": read_views,
            "views included": lambda text: engine.scan(Event.memory_write(text)),
        }
        rounds = [{**_by_turns(calls, sample), "pyatr": _pyatr(sample[:10])} for _ in range(ROUNDS)]
        median = {name: statistics.median(row[name] for row in rounds) for name in rounds[0]}
        print(f"{size} characters:", ", ".join(f"{name} {value * 1e6:,.0f} µs" for name, value in median.items()))
        for name in ("raw text only", "views included"):
            faster, over = median["pyatr"] / median[name], median[name] / median["hyperscan alone"]
            print(f"  {name}: {faster:.0f} times faster than pyatr, {over:.2f} times hyperscan alone")


def _raw_only(engine: Engine, text: str) -> object:
    """What pyatr does as well: the text as it is, without any other reading of it."""
    every, evaluation.readings = evaluation.readings, lambda found: iter(found[:1])
    try:
        return engine.scan(Event.memory_write(text))
    finally:
        evaluation.readings = every


def _by_turns(calls: dict[str, Callable[[str], object]], texts: Sequence[str]) -> dict[str, float]:
    """Mean CPU seconds of each call, text by text in turn: all find the caches in the same state."""
    spent = dict.fromkeys(calls, 0.0)
    for text in texts:
        for name, call in calls.items():
            began = time.process_time()
            call(text)
            spent[name] += time.process_time() - began
    return {name: seconds / len(texts) for name, seconds in spent.items()}


def _alone(engine: Engine) -> Callable[[str], object]:
    """Nothing but the multi-pattern scan, with a callback that does nothing."""
    prefilter = engine._prefilter
    database, scratch = prefilter._database, prefilter._scratch()  # type: ignore[attr-defined]
    return lambda text: database.scan(to_bytes(text), _ignore, scratch=scratch)


def _ignore(*_: object) -> None:
    return None


def _mean(call: Callable[[str], object], items: Sequence[str]) -> float:
    began = time.process_time()
    for item in items:
        call(item)
    return (time.process_time() - began) / len(items)


def _pyatr(texts: Sequence[str]) -> float:
    command = [str(pyatr_python()), str(HERE / "rules_pyatr.py"), str(atr_rules())]
    done = subprocess.run(command, input=json.dumps(list(texts)), capture_output=True, text=True, check=True)
    return float(statistics.mean(json.loads(done.stdout)[1:]))


def crafted() -> None:
    """Texts made to be slow: a few seeds and the beginning of every rule's own true positives, repeated."""
    loaded = load([atr_rules()], check_patterns=False)
    engine = _engine(loaded)
    seeds = [
        "../",
        "a:",
        "\\",
        "a",
        "Q: why?\nA: because.\n",
        " ",
        "(",
        '"',
        "\t\n",
        "aA1!",
        "- ",
        "<a ",
        "=",
        "{",
        "$(",
    ]
    firsts = [str(c.members.get("input", "")) for r in loaded.rules for c in r.cases if c.group == "true_positive"]
    seeds += sorted({text[:12] for text in firsts if text} | {text[:40] for text in firsts if text})
    for size, chosen in ((2_000, seeds), (100_000, seeds[:15] + _sampled(seeds[15:], 40))):
        worst = _slowest(engine, chosen, size)
        times = [seconds for seconds, _, _ in worst]
        print(f"{size:,} characters, {len(chosen)} seeds: median {statistics.median(times) * 1e3:.1f} ms, slowest:")
        for seconds, overrun, seed in worst[:5]:
            print(f"  {seconds * 1e3:8.1f} ms  {'refused' if overrun else 'finished'}  {seed!r}")
        limit = 0.05 if size == 2_000 else 1.0
        print(f"  over {limit:g} s and not refused: {sum(s > limit and not o for s, o, _ in worst)}")


def _slowest(engine: Engine, seeds: Sequence[str], size: int) -> list[tuple[float, bool, str]]:
    found = []
    for seed in seeds:
        text = (seed * (size // len(seed) + 1))[:size]
        engine.scan(Event.memory_write(seed))
        best = min(_timed(engine, text) for _ in range(2))
        found.append((*best, seed))
    return sorted(found, reverse=True)


def _timed(engine: Engine, text: str) -> tuple[float, bool]:
    began = time.process_time()
    scan = engine.scan(Event.memory_write(text))
    return time.process_time() - began, scan.overrun is not None


def pack(texts: Sequence[str]) -> None:
    """The built-in pack: one 200-character text, views included, and the time from nothing to the first scan."""
    engine = _engine(builtin())
    sample = _cut(texts, 200, 300)
    for text in sample:
        engine.scan(Event.memory_write(text))
    scans = [_mean(lambda text: engine.scan(Event.memory_write(text)), sample) for _ in range(5)]
    alone = [_mean(read_views, sample) for _ in range(5)]
    whole, part = statistics.median(scans), statistics.median(alone)
    print(f"pack, 200 characters: {whole * 1e6:.0f} µs, of which views {part * 1e6:.0f} µs")
    code = (
        "import time; from pathlib import Path; from truekeep.rules import Engine, Event, builtin;"
        f"e = Engine(builtin().rules, cache_dir=Path({str(workdir() / 'cache')!r}));"
        "e.scan(Event.memory_write('I prefer dark mode')); print(time.process_time())"
    )
    starts = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5)]
    print(f"start-up to first scan: {statistics.median(starts):.2f} s CPU, interpreter included")


def _engine(loaded: Loaded) -> Engine:
    began = time.process_time()
    engine = Engine(loaded.rules, cache_dir=workdir() / "cache", prefilter="hyperscan")
    print(f"engine of {len(engine.rules)} rules ready in {time.process_time() - began:.2f} s ({engine.prefilter})")
    return engine


def _cut(texts: Sequence[str], size: int, count: int) -> list[str]:
    """The beginnings of texts that are long enough; of neighbouring ones together if too few are."""
    long = [text[:size] for text in texts if len(text) >= size]
    if len(long) < count:
        joined = "\n".join(texts)
        long = [joined[at : at + size] for at in range(0, len(joined) - size, size)]
    return _sampled(long, min(count, len(long)))


def _sampled(items: Sequence[T], count: int) -> list[T]:
    """The same sample every time."""
    return random.Random(11).sample(items, count)  # noqa: S311  # a sample, not a secret


def _texts(file: str | None) -> list[str]:
    """Honest texts: a file's, or the rule set's own true negatives."""
    if file is not None:
        return [json.loads(line)["text"] for line in Path(file).read_text(encoding="utf-8").splitlines()]
    rules = load([atr_rules()], check_patterns=False).rules
    return [str(c.members.get("input", "")) for r in rules for c in r.cases if c.group == "true_negative"]


def main() -> None:
    """Run the parts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["cases", "speed", "crafted", "pack"])
    parser.add_argument("--texts", help="JSON lines with honest texts in a member 'text'")
    options = parser.parse_args()
    try:
        for part in options.parts:
            print(f"== {part}")
            if part in ("speed", "pack"):
                {"speed": speed, "pack": pack}[part](_texts(options.texts))
            else:
                {"cases": cases, "crafted": crafted}[part]()
    except Unreachable as error:
        print(f"skipped: {error}")


if __name__ == "__main__":
    main()
