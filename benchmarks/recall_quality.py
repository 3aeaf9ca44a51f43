"""How much of the evidence recall finds, on conversations that the user has.

    python -m benchmarks.recall_quality --memories memories.jsonl --questions questions.jsonl [--embedder e5:DIRECTORY]

Every turn is remembered as a chat log shows it ("Eva: I moved"), with its session and its day. Recall@10 is the share
of a question's evidence among the first ten hits, averaged over questions. ``--without`` leaves things out.
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from itertools import accumulate
from pathlib import Path

from benchmarks import recall_data as data
from truekeep import embed
from truekeep.embed import Embedder
from truekeep.search import Index, describe, pack, windows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=Path, required=True)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--without", nargs="*", choices=["session", "day", "speaker"], default=[])
    options = parser.parse_args()
    scores = measured(options.memories, options.questions, options.embedder, options.cache, frozenset(options.without))
    for label, values in sorted(scores.items()):
        print(f"{label:14} {statistics.mean(values):.4f}  ({len(values)} questions)")


def measured(
    memories: Path,
    questions: Path,
    embedder_name: str,
    cache: Path | None = None,
    without: frozenset[str] = frozenset(),
) -> dict[str, list[float]]:
    """The recall@10 of every question, under ``all``, its category and its conversation."""
    turns, asked = data.turns(memories), data.questions(questions)
    embedder = embed.by_name(embedder_name)
    scores: dict[str, list[float]] = defaultdict(list)
    for name in sorted({turn.conversation for turn in turns}):
        members = [turn for turn in turns if turn.conversation == name]
        index = _indexed(members, embedder, cache, without)
        for question in (question for question in asked if question.conversation == name):
            found = _found(index, members, question, embedder)
            for label in ("all", question.category, name):
                scores[label].append(data.recall_at(found, question))
    return scores


def _indexed(members: list[data.Turn], embedder: Embedder | None, cache: Path | None, without: frozenset[str]) -> Index:
    texts = [turn.text if "speaker" in without else turn.line for turn in members]
    cut = [[text[start:end] for start, end in windows(text)] for text in texts]
    flat = data.vectors(embedder, [part for parts in cut for part in parts], "passage", cache) if embedder else None
    firsts = [0, *accumulate(map(len, cut))]
    index = Index(model_id=embedder.model_id, dim=embedder.dim) if embedder else Index()
    index.load(
        (
            seq,
            describe(
                texts[seq],
                thread=None if "session" in without else turn.session,
                day=None if "day" in without else turn.moment.date(),
            ).to_bytes(index.model_id or "", b"" if flat is None else pack(flat[firsts[seq] : firsts[seq + 1]])),
        )
        for seq, turn in enumerate(members)
    )
    return index


def _found(index: Index, members: list[data.Turn], question: data.Question, embedder: Embedder | None) -> list[str]:
    query = index.understand(question.text, today=data.TODAY)
    vector = embedder.embed([query.meaning], "query")[0] if embedder else None
    return [members[hit.seq].id for hit in index.search(query, 10, vector=vector)]


if __name__ == "__main__":
    main()
