"""Runs in the environment of the granite encoder, not in ours: texts come in and vectors go out, in JSON lines."""

from __future__ import annotations

import base64
import json
import sys
from array import array
from itertools import chain

from holographic_memory import Embedder


def main() -> None:
    """Answer until the input ends."""
    encoder = Embedder(offline=True, threads=1)
    _say({"pack": encoder.pack_sha256, "dim": encoder.dimensions})
    for line in sys.stdin:
        asked = json.loads(line)
        texts = asked["texts"]
        queries = asked["kind"] == "query"
        vectors = [encoder.embed_query(text) for text in texts] if queries else encoder.embed_passages(texts)
        floats = array("f", chain.from_iterable(vectors))
        if sys.byteorder == "big":
            floats.byteswap()
        _say({"vectors": base64.b64encode(floats.tobytes()).decode("ascii")})


def _say(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
