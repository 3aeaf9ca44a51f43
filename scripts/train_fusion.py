"""Learn the weights of ``data/search/fusion.toml`` from conversations with questions and evidence.

    python scripts/train_fusion.py --memories memories.jsonl --questions questions.jsonl [--write]

Each question's turns compete in a softmax over the weighted sum of their signals; the weights are those that
make the evidence likeliest, with a little ridge. Recall is cross-validated by whole conversations: the weights
that judge a conversation never saw it. Only the weights go into the project, nothing of the data.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import recall_data as data

from truekeep import embed
from truekeep.embed import Embedder
from truekeep.search import Index, describe, passage
from truekeep.search.fusion import MEANING_SIGNALS, OWN_SIGNALS, SIGNALS

TARGET = Path(__file__).resolve().parents[1] / "src/truekeep/data/search/fusion.toml"
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A question's signals, one row per turn, and which turns are its evidence."""

    question: data.Question
    ids: list[str]
    signals: Floats
    evidence: NDArray[np.bool_]


def cases(
    turns: list[data.Turn],
    asked: list[data.Question],
    embedder: Embedder | None,
    cache: Path,
    *,
    alone: bool = False,
) -> list[Case]:
    """Index every conversation by itself and measure the signals of all its questions.

    ``alone`` takes every turn for a conversation of its own, as facts are: it then has no neighbours.
    """
    found: list[Case] = []
    for name in sorted({turn.conversation for turn in turns}):
        members = [turn for turn in turns if turn.conversation == name]
        index = Index(model_id=embedder.model_id, dim=embedder.dim) if embedder else Index()
        rows = (
            data.vectors(embedder, [passage(turn.line, None) for turn in members], "passage", cache)
            if embedder
            else None
        )
        for seq, turn in enumerate(members):
            card = describe(turn.line, thread=turn.id if alone else turn.session, day=turn.moment.date())
            index.add(seq, card, None if rows is None else rows[seq])
        found += _measured(index, members, [q for q in asked if q.conversation == name], embedder, cache)
    return found


def _measured(
    index: Index, members: list[data.Turn], asked: list[data.Question], embedder: Embedder | None, cache: Path
) -> list[Case]:
    queries = [index.understand(question.text, today=data.TODAY) for question in asked]
    meanings = data.vectors(embedder, [query.meaning for query in queries], "query", cache) if embedder else None
    found = []
    for place, (question, query) in enumerate(zip(asked, queries, strict=True)):
        seqs, signals = index.signals(query, vector=None if meanings is None else meanings[place])
        table = np.stack([signals[name] for name in SIGNALS if name in signals], axis=1).astype(np.float64)
        ids = [members[seq].id for seq in seqs.tolist()]
        found.append(Case(question, ids, table, np.array([name in question.evidence for name in ids])))
    return found


def fit(train: list[Case], *, ridge: float = 1e-3, steps: int = 300, rate: float = 0.05) -> Floats:
    """The weights that make the evidence likeliest (Adam on the convex softmax loss)."""
    useful = [case for case in train if case.evidence.any()]
    table = np.concatenate([case.signals for case in useful])
    spread = table.std(axis=0) + 1e-9
    table = (table - table.mean(axis=0)) / spread
    wanted = np.concatenate([case.evidence / case.evidence.sum() for case in useful])
    sizes = np.array([len(case.ids) for case in useful])
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    weights, mean, square = (np.zeros(table.shape[1]) for _ in range(3))
    for step in range(1, steps + 1):
        sums = table @ weights
        powers = np.exp(sums - np.repeat(np.maximum.reduceat(sums, starts), sizes))
        chances = powers / np.repeat(np.add.reduceat(powers, starts), sizes)
        slope = table.T @ (chances - wanted) / len(useful) + ridge * weights
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        weights -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    fitted: Floats = weights / spread
    return fitted


def cross_validated(all_cases: list[Case]) -> dict[str, list[float]]:
    """Recall@10 of every question by weights that were learned without its conversation."""
    scores: dict[str, list[float]] = defaultdict(list)
    for name in sorted({case.question.conversation for case in all_cases}):
        weights = fit([case for case in all_cases if case.question.conversation != name])
        for case in all_cases:
            if case.question.conversation == name:
                best = np.argsort(-(case.signals @ weights), kind="stable")[:10]
                score = data.recall_at([case.ids[place] for place in best], case.question)
                for label in ("all", case.question.category, name):
                    scores[label].append(score)
    return scores


def main() -> None:
    """Train on both signal sets, print what cross-validation says, and write the weights if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=Path, required=True)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--cache", type=Path, default=Path("benchmarks/results/vectors"))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    turns, asked = data.turns(options.memories), data.questions(options.questions)
    sections = []
    for name, embedder in (("hybrid", embed.by_name(options.embedder)), ("keywords", None)):
        all_cases = cases(turns, asked, embedder, options.cache)
        used = [signal for signal in SIGNALS if embedder or signal not in MEANING_SIGNALS]
        scores = cross_validated(all_cases)
        print(name, {label: round(float(np.mean(values)), 4) for label, values in scores.items()})
        weights = fit(all_cases)
        print({signal: round(float(weight), 2) for signal, weight in zip(used, weights, strict=True)})
        lone = cases(turns, asked, embedder, options.cache, alone=True)
        sections.append(section(name, used, weights, all_cases, lone))
    if options.write:
        write(sections)


def section(name: str, used: list[str], weights: Floats, all_cases: list[Case], lone: list[Case]) -> str:
    """The weights as TOML, and the marks on the scale of their sums.

    The middle is the usual sum of a right answer. The gate lets all but one of 150 answerable
    questions through (by keywords alone all but three of a hundred). The floor is three quarters of what all
    but one of a thousand right answers without neighbours reach; the quarter is left for facts, which are
    shorter than turns and name no speaker.
    """
    own = weights * np.array([signal in OWN_SIGNALS for signal in used])
    best_evidence = [float((case.signals @ own).max()) for case in all_cases]
    marks = {
        "middle": float(np.median(right_answers(weights, all_cases))),
        "gate": float(np.quantile(best_evidence, 1 / 150 if "meaning" in used else 0.03)),
        "floor": 0.75 * float(np.quantile(right_answers(weights, lone), 0.001)),
    }
    lines = [f"[{name}]", *(f"{mark} = {value:.2f}" for mark, value in marks.items()), f"\n[{name}.weights]"]
    return "\n".join(lines + [f"{signal} = {weight:.3f}" for signal, weight in zip(used, weights, strict=True)])


def right_answers(weights: Floats, all_cases: list[Case]) -> list[float]:
    """The sums of the pieces of evidence that are among the first ten."""
    sums: list[float] = []
    for case in all_cases:
        totals = case.signals @ weights
        best = np.argsort(-totals, kind="stable")[:10]
        sums += totals[best[case.evidence[best]]].tolist()
    return sums


def write(sections: list[str]) -> None:
    """Replace the learned part of the file; the models' scales below it are kept."""
    text = TARGET.read_text(encoding="utf-8")
    models = text[text.index("[models]") :]
    head = "# Learned by scripts/train_fusion.py; change the training, not the numbers.\n\n"
    TARGET.write_text(head + "\n\n".join(sections) + "\n\n" + models, encoding="utf-8")


if __name__ == "__main__":
    main()
