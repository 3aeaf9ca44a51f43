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
