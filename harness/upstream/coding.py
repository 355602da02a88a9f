"""Encodings of bodies: in which of them a secret can be searched for."""

from collections.abc import Mapping
from typing import Final

_DECODED: Final = frozenset({"", "identity", "gzip", "deflate"})
"""What the client undoes, or what is nothing to undo. Other encodings, and several at once, it hands on as they are."""


def is_readable(headers: Mapping[str, str]) -> bool:
    """Whether the body is encoded by no means that are unknown here."""
    return headers.get("content-encoding", "").strip().lower() in _DECODED
