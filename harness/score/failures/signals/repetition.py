"""When one thing is the same again: the normal forms in which calls, answers and words are compared.

Agents seldom repeat themselves to the letter: a comment in the code, a wait, a clock time in the output differ. What is
levelled here is only what cannot matter to the task; numbers and names are kept.
"""

import re

from harness.score.failures.signals.grounding import texts
from harness.score.failures.signals.reading import Act
from harness.values import JsonValue

_CLOCK = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?Z?|\b\d\d?:\d\d:\d\d(?:[.,]\d{1,9})?"
    r"|\b\d{1,9}(?:\.\d{1,9})? ?(?:ms|s|sec|secs|seconds|milliseconds)\b|\b0x[0-9a-fA-F]{4,16}\b"
)
_COMMENT = re.compile(r"(?m)(?:^|\s)(?:#|//)[^\n]*$")
_WAIT = re.compile(r"\b(?:time\.)?sleep ?\(? ?[\d.]{1,9} ?\)?")
_SPACE = re.compile(r"\s+")
_LONG = 40
"""Shorter texts are taken as they are: a number sign there is an order number, not a comment."""


def settled(text: str) -> str:
    """An answer without clock times, durations and addresses, which differ where nothing changed."""
    return _SPACE.sub(" ", _CLOCK.sub("~", text)).strip()


def gist(value: JsonValue) -> str:
    """Arguments without comments, waits and layout, for texts long enough to be code or prose."""
    return " | ".join(_gist_of(text) for text in texts(value))


def gist_key(act: Act) -> str:
    """Equal for calls that ask for the same; equal keys have equal gists."""
    if act.call.arguments is None:
        return act.key
    return f"{act.call.name} {gist(act.call.arguments)}"


def answer_key(act: Act) -> str | None:
    """Equal for answers that tell the same; None: not recorded."""
    return None if act.answer is None else settled(act.answer)


def are_alike(left: frozenset[str], right: frozenset[str], least: float) -> bool:
    """Whether they overlap by that much; most pairs differ in size too much for it, which is quicker to tell."""
    return len(left) >= least * len(right) and len(right) >= least * len(left) and overlap(left, right) >= least


def overlap(left: frozenset[str], right: frozenset[str]) -> float:
    """Jaccard index; two empty sets are alike."""
    union = len(left | right)
    return 1.0 if not union else len(left & right) / union


def _gist_of(text: str) -> str:
    if len(text) < _LONG and "\n" not in text:
        return text
    return _SPACE.sub(" ", _WAIT.sub("wait", _COMMENT.sub("", text))).strip().casefold()
