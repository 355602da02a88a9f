"""The form of evidence in a judge's prompt: data that cannot be mistaken for instructions, whatever its content.

Each piece is one line of JSON between two lines that carry a key. The key is derived from the evidence itself, so that
no text inside can contain it; line ends, quotes, angle brackets and invisible characters are escaped, so that no text
inside can end its line, its string or the block.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from harness.judge.transcript import Piece
from harness.values import digest_of

_KEY_DIGITS: Final = 12
_NOTHING: Final = "(nothing: the transcript holds none of what this criterion looks at)"
_ESCAPED: Final = re.compile(
    "[<>\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Evidence in the form that a judge receives."""

    pieces: tuple[Piece, ...]
    digest: str
    """Sha-256 of the evidence in that form."""
    block: str
    """The pieces between their two lines."""
    refs: frozenset[str]


def shown_evidence(pieces: Sequence[Piece]) -> Shown:
    """The pieces in the form that a judge receives."""
    digest = evidence_digest(pieces)
    key = digest[:_KEY_DIGITS]
    lines = [_line(piece) for piece in pieces] or [_NOTHING]
    return Shown(
        pieces=tuple(pieces),
        digest=digest,
        block="\n".join([f"<<<evidence {key}", *lines, f"evidence {key}>>>"]),
        refs=frozenset(piece.ref for piece in pieces),
    )


def evidence_digest(pieces: Sequence[Piece]) -> str:
    """Sha-256 of references, speakers and texts."""
    return digest_of([[piece.ref, piece.who, piece.text] for piece in pieces])


def _line(piece: Piece) -> str:
    shown = json.dumps({"ref": piece.ref, "who": piece.who, "said": piece.text}, ensure_ascii=False)
    return _ESCAPED.sub(lambda found: _escape(found[0]), shown)


def _escape(character: str) -> str:
    return "".join(f"\\u{unit:04x}" for unit in _units(character))


def _units(character: str) -> list[int]:
    """UTF-16 code units, which JSON escapes."""
    raw = character.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(raw[place : place + 2]) for place in range(0, len(raw), 2)]
