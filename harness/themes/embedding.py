"""Texts as vectors of a small model that comes with the extra `embeddings`: nothing is loaded from a network.

The model is WordLlama's table of 32,000 tokens, 256 numbers each, inside of its package; a text's vector is the mean of
its tokens'. Table and tokenizer are read from the package's folder without running its code, which would set up
logging and bring a client for downloads.
"""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from harness.distribution import extra_remedy
from harness.errors import UsageError

Embed = Callable[[Sequence[str]], list[tuple[float, ...]]]
"""Vectors of texts, of the length 1 each; an empty one for a text without words."""

_PACKAGE: Final = "wordllama"
_TABLE: Final = "weights/l2_supercat_256.safetensors"
_TOKENIZER: Final = "tokenizers/l2_supercat_tokenizer_config.json"
_DIGITS: Final = 4
"""Of a vector's numbers: so few that machines agree on them."""


def load_embedding() -> Embed:
    """Reads the model. Raises UsageError that names the extra where it is not installed."""
    try:
        import numpy
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer
    except ImportError:
        raise _missing() from None
    folder = _folder()
    (table,) = load_file(folder / _TABLE).values()
    tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def embed(texts: Sequence[str]) -> list[tuple[float, ...]]:
        found: list[tuple[float, ...]] = []
        for encoded in tokenizer.encode_batch(list(texts), add_special_tokens=False):
            total = table[encoded.ids].astype(numpy.float64).sum(axis=0) if encoded.ids else numpy.zeros(0)
            length = float(numpy.sqrt((total * total).sum()))
            found.append(tuple(round(float(one) / length, _DIGITS) for one in total) if length else ())
        return found

    return embed


def _folder() -> Path:
    spec = find_spec(_PACKAGE)
    folder = None if spec is None or spec.origin is None else Path(spec.origin).parent
    if folder is None or not (folder / _TABLE).is_file() or not (folder / _TOKENIZER).is_file():
        raise _missing()
    return folder


def _missing() -> UsageError:
    return UsageError(
        "`themes: {text: embeddings}` in online.yaml needs the extra `embeddings`",
        remedy=f"{extra_remedy('embeddings')}, or `text: shingles`",
    )
