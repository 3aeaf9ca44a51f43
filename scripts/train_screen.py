"""Train the learned screen: ``python scripts/train_screen.py DATA_DIR`` writes ``data/screens/head.npz``.

DATA_DIR holds ``dev_attack.jsonl`` and ``dev_benign.jsonl`` (members ``text``, ``source``, ``tier``, ``realism``,
``kind``, ``train``). Rows with ``train: false`` are never trained on. Embeddings are cached in ``--cache``.
The threshold is set on sources that were left out of training, and the table printed is of those.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from truekeep.embed import default
from truekeep.policy import decide, preset
from truekeep.screens import Screened
from truekeep.screens.instruction import sentences_of
from truekeep.screens.learned import grammar_features
from truekeep.screens.standard import panel
from truekeep.types import Decision, Standing

Rows = list[dict[str, Any]]
FOLDS = 6
RIDGE = 2e-3
ALLOWED_OTHER = 0.001
OUTPUT = Path("src/truekeep/data/screens/head.npz")
APART = {"security_prose", "command_example", "coding_rule"}


def read_rows(path: Path) -> Rows:
    """The rows of a JSON-lines file."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def own_rows(name: str) -> Rows:
    """Our own sets count as one more source."""
    text = files("truekeep").joinpath("data", "redteam", f"screen_{name}.yaml").read_text(encoding="utf-8")
    texts = [row for groups in yaml.safe_load(text).values() for rows in groups.values() for row in rows]
    return [{"text": row, "source": f"own_{name}", "tier": "explicit", "train": True, "kind": "own"} for row in texts]


def family(row: dict[str, Any]) -> str:
    """Sources that share an author share a fold: a translation of a set is not another set."""
    return str(row["source"]).removesuffix("_ml").split("_")[0]


def vectors(rows: Rows, cache: Path) -> Any:
    """The embeddings of the rows, from the cache if these very rows were embedded before."""
    digest = hashlib.sha256("\0".join(row["text"] for row in rows).encode("utf-8", "replace")).hexdigest()[:16]
    stored = cache / f"{digest}.npy"
    if not stored.exists():
        cache.mkdir(parents=True, exist_ok=True)
        texts = [row["text"] for row in rows]
        parts = [default().embed(texts[at : at + 64], kind="passage") for at in range(0, len(texts), 64)]
        np.save(stored, np.concatenate(parts).astype(np.float16))
    return np.load(stored).astype(np.float32)


def inputs(rows: Rows, cache: Path) -> Any:
    """What the model sees: vector, grammar, bias."""
    seen = []
    for row in rows:
        screened = Screened({"text": row["text"]})
        seen.append(grammar_features([s for _, found in sentences_of(screened, "text") for s in found]))
    ones = np.ones((len(rows), 1), dtype=np.float32)
    return np.concatenate([vectors(rows, cache), np.array(seen, dtype=np.float32), ones], axis=1)


def balanced(names: list[str]) -> Any:
    """Large sources weigh more than small ones, but only by the root of their size."""
    counts = Counter(names)
    weights = np.array([counts[name] ** -0.5 for name in names])
    return weights / weights.sum() / 2


def fit(x: Any, y: Any, weights: Any, steps: int = 12) -> Any:
    """Ridge logistic regression by Newton's method."""
    theta = np.zeros(x.shape[1])
    ridge = np.full(x.shape[1], RIDGE)
    ridge[-1] = 1e-8
    for _ in range(steps):
        chance = 1 / (1 + np.exp(-np.clip(x @ theta, -30, 30)))
        slope = x.T @ (weights * (chance - y)) + ridge * theta
        bend = (x * (weights * chance * (1 - chance))[:, None]).T @ x + np.diag(ridge)
        theta -= np.linalg.solve(bend, slope)
    return theta


def main() -> None:
    """Train, choose the threshold on what was left out, write the weights, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, default=Path("build/screen-cache"))
    parser.add_argument("--panel", action="store_true", help="write nothing; measure all screens together")
    options = parser.parse_args()
    attacks = read_rows(options.data / "dev_attack.jsonl")
    benign = read_rows(options.data / "dev_benign.jsonl")
    attacks = [row for row in attacks if row["tier"] in {"explicit", "standing_directive"}] + own_rows("directives")
    benign += own_rows("honest")
    rows = [*attacks, *benign]
    x = inputs(rows, options.cache)
    y = np.array([1.0] * len(attacks) + [0.0] * len(benign))
    names = [family(row) for row in rows]
    usable = np.array([row["train"] for row in rows])
    held = leave_out(x, y, names, usable)
    other = np.array([row["kind"] not in APART for row in rows]) & (y == 0)
    threshold = float(np.quantile(held[other], 1 - ALLOWED_OTHER))
    weights = fit(x[usable], y[usable], row_weights(names, y, usable))
    report(held, y, names, threshold)
    if options.panel:
        report_panel(rows, held > threshold)
    else:
        np.savez_compressed(OUTPUT, weights=weights.astype(np.float32), threshold=np.float32(threshold))


def row_weights(names: list[str], y: Any, chosen: Any) -> Any:
    """Half of the weight for attacks, half for honest rows."""
    weights = np.zeros(len(names))
    for label in (0.0, 1.0):
        at = np.flatnonzero(chosen & (y == label))
        weights[at] = balanced([names[index] for index in at])
    return weights[chosen]


def leave_out(x: Any, y: Any, names: list[str], usable: Any) -> Any:
    """The score of every row by a model that has seen no row of its family."""
    held = np.zeros(len(names))
    families = sorted(set(names))
    for fold in range(FOLDS):
        out = np.isin(names, families[fold::FOLDS])
        chosen = usable & ~out
        held[out] = x[out] @ fit(x[chosen], y[chosen], row_weights(names, y, chosen))
    return held


def report(held: Any, y: Any, names: list[str], threshold: float) -> None:
    """What each family scores when the model has not seen it."""
    print(f"threshold {threshold:.2f}; share above it on families left out of training:")
    for label, title in ((1.0, "attack"), (0.0, "honest")):
        for name in sorted({n for n, value in zip(names, y, strict=True) if value == label}):
            at = np.array([n == name for n in names]) & (y == label)
            print(f"  {title:7} {name:24} {at.sum():6d} {np.mean(held[at] > threshold):.4f}")


def report_panel(rows: Rows, scored: Any) -> None:
    """What all screens together do not accept from the owner, when the head has not seen the row's family."""
    screens, policy = panel(), preset("strict")
    held: dict[str, list[bool]] = {}
    for row, is_above in zip(rows, scored, strict=True):
        findings = screens.examine({"text": row["text"]}, Standing.OWNER)
        is_held = bool(is_above) or decide(policy, Standing.OWNER, findings).decision is not Decision.ACCEPT
        for group in groups_of(row):
            held.setdefault(group, []).append(is_held)
    print("all screens together, families left out of the head's training; not accepted:")
    for group, found in sorted(held.items()):
        print(f"  {group:44} {sum(found):5d} of {len(found):5d} {sum(found) / len(found):.4f}")


def groups_of(row: dict[str, Any]) -> list[str]:
    """The rows of the table that a row counts in."""
    if row["source"] == "own_directives":
        return ["attack: own directives"]
    if "realism" in row and row.get("tier") in {"explicit", "standing_directive", "obfuscated"}:
        is_near = str(row["realism"]).split(":")[0] in {"memory_write", "tool_output"}
        return ["attack: memory_write and tool_output", f"attack: - {row['source']}"] if is_near else ["attack: other"]
    if row["source"] in {"xpersona", "longmemeval_partial", "own_honest"}:
        return ["honest: memories"]
    return [f"honest: apart, {row['kind']}" if row["kind"] in APART else "honest: all other rows"]


if __name__ == "__main__":
    main()
