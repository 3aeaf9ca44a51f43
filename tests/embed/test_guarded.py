"""The embedder behind its guard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from truekeep.embed import EmbedderError, GuardedEmbedder, UnknownEmbedder, by_name
from truekeep.embed.guarded import REST_SECONDS


class Moody:
    """Fails while it is in a mood; counts how often it was asked."""

    model_id, dim = "moody", 2

    def __init__(self) -> None:
        self.in_a_mood, self.asked = False, 0

    def embed(self, texts: Sequence[str], _kind: str) -> Any:
        self.asked += 1
        if self.in_a_mood:
            raise EmbedderError("The embedder is in a mood.")
        return np.ones((len(texts), 2))


class Watch:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_one_that_failed_is_left_alone_for_a_while_and_then_tried_again() -> None:
    moody, watch = Moody(), Watch()
    guarded = GuardedEmbedder(lambda: moody, clock=watch)
    moody.in_a_mood = True
    assert guarded.embed(["x"], "query") is None
    assert guarded.degraded == "The embedder is in a mood."
    watch.now = REST_SECONDS - 1
    assert guarded.embed(["x"], "query") is None
    assert moody.asked == 1
    watch.now, moody.in_a_mood = REST_SECONDS + 1, False
    assert guarded.embed(["x"], "query") is not None
    assert (guarded.degraded, moody.asked) == ("", 2)


def test_one_that_could_not_be_loaded_is_loaded_once_it_can_be() -> None:
    found: list[Moody] = []
    watch = Watch()

    def load() -> Moody:
        if not found:
            raise OSError("disk")
        return found[0]

    guarded = GuardedEmbedder(load, clock=watch)
    assert guarded.ready() is None
    found.append(Moody())
    assert guarded.ready() is None
    watch.now = REST_SECONDS + 1
    assert guarded.ready() is found[0]


def test_no_embedder_at_all_is_not_a_failure_and_is_asked_for_once() -> None:
    loads: list[None] = []
    guarded = GuardedEmbedder(lambda: loads.append(None))
    assert guarded.embed(["x"], "query") is guarded.embed(["x"], "passage") is None
    assert (guarded.degraded, len(loads)) == ("", 1)


def test_a_setting_that_names_no_embedder_is_told_to_whoever_wrote_it() -> None:
    with pytest.raises(UnknownEmbedder):
        GuardedEmbedder(lambda: by_name("word2vec")).ready()


class Counting:
    """A vector for each text from its length; remembers which texts came together."""

    model_id, dim = "counting", 2

    def __init__(self) -> None:
        self.calls: list[list[int]] = []

    def embed(self, texts: Sequence[str], _kind: str) -> Any:
        self.calls.append([len(text) for text in texts])
        return np.array([[len(text), 1.0] for text in texts])


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 300])
def test_a_stream_gives_every_text_its_own_vector_and_like_lengths_together(count: int) -> None:
    texts = ["x" * (1 + (37 * number) % 101) for number in range(count)]
    counting = Counting()
    guarded = GuardedEmbedder(lambda: counting)
    found = dict(guarded.stream(texts, "passage"))
    assert sorted(found) == list(range(count))
    for place, vector in found.items():
        assert vector is not None
        assert vector[0] / vector[1] == pytest.approx(len(texts[place]), rel=1e-4)
    lengths = [length for call in counting.calls for length in call]
    assert lengths == sorted(lengths)
    assert max(map(len, counting.calls), default=0) <= 64


def test_a_stream_that_breaks_off_gives_the_rest_no_vector() -> None:
    class Tiring(Moody):
        def embed(self, texts: Sequence[str], kind: str) -> Any:
            self.in_a_mood = self.asked == 2
            return super().embed(texts, kind)

    found = list(GuardedEmbedder(Tiring).stream(["x"] * 300, "passage"))
    assert [vector is None for _, vector in found] == [False] * 128 + [True] * 172


def test_a_stream_nobody_reads_on_ends_quietly() -> None:
    counting = Counting()
    stream = GuardedEmbedder(lambda: counting).stream(["x"] * 300, "passage")
    assert next(stream)[0] == 0
    stream.close()  # type: ignore[attr-defined]
    assert len(counting.calls) < 5
