"""Encodings of bodies: in which of them a secret can be searched for."""

from collections.abc import Mapping
from typing import Final

_DECODED: Final = frozenset({"", "identity", "gzip", "deflate"})
"""Encodings that the client decodes, or that need no decoding. Other and multiple encodings are passed on unchanged."""


def is_readable(headers: Mapping[str, str]) -> bool:
    """Whether the body has no encoding that is unknown here."""
    return headers.get("content-encoding", "").strip().lower() in _DECODED
