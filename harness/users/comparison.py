"""What an agent did between two messages of a user, compared with what it did in a log: equal, or where it differs.

Equal are texts that differ in white space, case, Unicode compatibility forms and typography alone. What can carry
meaning is compared as it stands: digits, signs, symbols, currencies, question marks, commas and colons, and any mark
inside numbers and words, since "No, refunds" and "No refunds" differ. A point and an exclamation mark behind a word are
one mark, and none at the end of a text.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal

from harness.gateway.user import HeardCall
from harness.values import canonical_json

_VALUE_FORMS: Final = ("<super>", "<sub>", "<fraction>", "<circle>")
"""Compatibility forms that are other values than their plain characters: 10\u00b2 is not 102."""
_TYPOGRAPHY: Final = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-"),
        **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb", '"'),
        **dict.fromkeys("\u00ad\u200b\u2060\ufeff"),
    }
)
_SENTENCE_END: Final = re.compile(r" ?(?<![.!])[.!]++(?=[ \"')\]]|$)")
_SPACED_QUESTION: Final = re.compile(r" ?\?+")
_BEFORE: Final = 4
_SHOWN: Final = 8
"""Words of a difference that are shown."""


@dataclass(frozen=True, kw_only=True)
class AgentTurn:
    """The agent's calls and words since the user's last message."""

    calls: Sequence[HeardCall] = ()
    said: str = ""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The first thing that is not the same in two turns."""

    kind: Literal["calls", "words"]
    reason: str


def difference(then: AgentTurn, now: AgentTurn) -> Difference | None:
    """Where the turn `now` leaves that of the log; None: the calls are equal, and the texts after normalisation."""
    called = _calls_differ(then.calls, now.calls)
    if called is not None:
        return Difference(kind="calls", reason=called)
    return _words_differ(then.said, now.said)


def plain(text: str) -> str:
    """A text after normalisation."""
    composed = "".join(
        "".join(run) if exact else unicodedata.normalize("NFKC", "".join(run))
        for exact, run in groupby(text, _is_exact)
    )
    words = " ".join(composed.translate(_TYPOGRAPHY).casefold().split())
    return _SPACED_QUESTION.sub("?", _SENTENCE_END.sub(".", words)).rstrip(".,;:")


def _is_exact(character: str) -> bool:
    return unicodedata.decomposition(character).startswith(_VALUE_FORMS)


def _words_differ(then: str, now: str) -> Difference | None:
    if then == now:
        return None
    was, is_ = plain(then).split(), plain(now).split()
    if was == is_:
        return None
    same = next((at for at, (one, other) in enumerate(zip(was, is_, strict=False)) if one != other), -1)
    at = min(len(was), len(is_)) if same < 0 else same
    after = f"after {' '.join(was[max(0, at - _BEFORE) : at])!r} " if at else ""
    return Difference(kind="words", reason=f"{after}the log has {_shown(was[at:])}, the agent {_shown(is_[at:])}")


def _shown(words: Sequence[str]) -> str:
    if not words:
        return "nothing more"
    return repr(" ".join(words[:_SHOWN])[:200] + (" ..." if len(words) > _SHOWN else ""))


def _calls_differ(then: Sequence[HeardCall], now: Sequence[HeardCall]) -> str | None:
    """Writes are compared in their order, reads in any: tools that are read at once answer in no fixed order."""
    was, is_ = _made(then, "write"), _made(now, "write")
    for place in range(max(len(was), len(is_))):
        expected, found = was[place : place + 1], is_[place : place + 1]
        if expected != found:
            return _of_calls("write", expected, found)
    gone, new = Counter(_made(then, "read")), Counter(_made(now, "read"))
    return None if gone == new else _of_calls("read", [*(gone - new)], [*(new - gone)])


def _made(calls: Sequence[HeardCall], effect: str) -> list[str]:
    return [_canonical(call) for call in calls if call.effect == effect]


def _canonical(call: HeardCall) -> str:
    arguments = "no JSON object" if call.arguments is None else canonical_json(call.arguments)
    return f"{call.name}({arguments}){' failed' if call.failed else ''}"


def _of_calls(effect: str, expected: Sequence[str], found: Sequence[str]) -> str:
    if not expected:
        return f"a {effect} that the log does not hold: {found[0][:300]}"
    if not found:
        return f"a {effect} of the log is missing: {expected[0][:300]}"
    return f"the log has {expected[0][:300]}, the agent made {found[0][:300]}"
