"""One character or byte of a secret in all its spellings, as regular expressions over bytes."""

import re
from functools import cached_property
from typing import Final

_REPEATED: Final = re.compile(rb"\{\d,(\d+)\}\??\Z")

Spelling = tuple[bytes, ...]
"""A regular expression in pieces, each of which takes one byte or repeats one."""


class Token:
    """One character or byte of a secret, in all its spellings."""

    def __init__(self, *spellings: Spelling) -> None:
        self.spellings = spellings
        self.width = max(sum(map(_width, one)) for one in spellings)
        """Bytes of the longest spelling."""

    @cached_property
    def whole(self) -> re.Pattern[bytes]:
        """Matches any spelling."""
        return re.compile(b"|".join(map(b"".join, self.spellings)))

    @cached_property
    def beginning(self) -> re.Pattern[bytes]:
        """Matches what a spelling may begin with, where the text ends in it."""
        longer = [_beginning(one) for one in self.spellings if len(one) > 1]
        return re.compile(b"|".join(longer) if longer else rb"\Z.")


Form = tuple[Token, ...]


def _width(piece: bytes) -> int:
    found = _REPEATED.search(piece)
    return int(found[1]) if found else 1


def _beginning(spelling: Spelling) -> bytes:
    """The spelling without its last piece, or a shorter part, up to the end of the text."""
    cut = rb"\Z"
    for piece in reversed(spelling[1:-1]):
        cut = rb"(?:\Z|" + piece + cut + b")"
    return spelling[0] + cut
