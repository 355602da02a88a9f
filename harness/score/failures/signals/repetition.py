"""When one thing is the same again: the normal forms in which calls, answers and words are compared.

Agents seldom repeat themselves to the letter: a comment in the code, a wait, a clock time in the output differ. What is
levelled here is only what cannot matter to the task; numbers and names are kept.
"""

import re
from typing import Final

from harness.score.failures.signals.grounding import texts
from harness.values import JsonValue

_CLOCK = re.compile(
    r"\d(?:\d{3}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?Z?"
    r"|(?<!\w\d)(?:\d?:\d\d:\d\d(?:[.,]\d{1,9})?|\d{0,8}(?:\.\d{1,9})? ?(?:ms|s|sec|secs|seconds|milliseconds)\b"
    r"|(?<=0)x[0-9a-fA-F]{4,16}\b))"
)
"""All begin with the digit, so that other characters are passed over quickly."""
_UUID = r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
_OF_A_REQUEST = r"request|trace|span|correlation|query|search|call|response|invocation|execution"
_WHEN = (
    r"timestamp|ts|(?:generated|fetched|retrieved|queried)_at|server_time"
    r"|(?:took|elapsed|latency|response_time)(?:_m?s)?"
)
_NUMBERED = re.compile(
    rf"{_UUID}|\b1[5-9]\d{{8}}(?:\d{{3}}){{0,2}}(?:\.\d+)?\b"
    rf"|\\?\"(?:(?:{_OF_A_REQUEST})_?id|nonce|etag|{_WHEN})\\?\":\s?(?:\\?\"[^\"\\]{{0,80}}\\?\"|[\d.]{{1,20}})"
    r"|\b(?:request|attempt|query|call|try|search) ?(?:id|no\.?|number)? ?[:#=]? ?\d{1,9}\b",
    re.I,
)
"""What tells one answer of a read from the next and nothing of what was asked: numbers of requests, times."""
_NAMING: Final = ("request", "attempt", "query", "call", "try", "search")
_MAY_BE_NUMBERED: Final = (
    re.compile(r"-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-"),
    re.compile(r"1[5-9]\d{8}"),
    re.compile(rf"\"(?:(?:{_OF_A_REQUEST})_?id|nonce|etag|{_WHEN})\\?\":"),
)
"""In lower case; what `_NUMBERED` finds has one of them, or a word of `_NAMING`. Each begins with a fixed character,
and is looked for many times quicker.
"""
_COMMENT = re.compile(r"(?m)(?:^|\s)(?:#|//)[^\n]*$")
_WAIT = re.compile(r"\b(?:time\.)?sleep ?\(? ?[\d.]{1,9} ?\)?")
_LONG = 40
"""Shorter texts are taken as they are: a number sign there is an order number, not a comment."""


def settled(text: str) -> str:
    """An answer without clock times, durations and addresses, which differ where nothing changed."""
    return " ".join(_CLOCK.sub("~", text).split())


def unnumbered(text: str) -> str:
    """The answer of a read without numbers and times of its request."""
    if text.isascii():
        folded = text.lower()
        if not any(word in folded for word in _NAMING) and not any(one.search(folded) for one in _MAY_BE_NUMBERED):
            return text
    return _NUMBERED.sub("~", text)


def gist(value: JsonValue, *, is_code: bool = False) -> str:
    """Arguments without comments, waits and layout, for texts that are code or long enough to be code or prose."""
    return " | ".join(_gist_of(text, is_code) for text in texts(value))


def are_alike(left: frozenset[str], right: frozenset[str], least: float) -> bool:
    """Whether they overlap by that much; most pairs differ in size too much for it, which is quicker to tell."""
    return len(left) >= least * len(right) and len(right) >= least * len(left) and overlap(left, right) >= least


def overlap(left: frozenset[str], right: frozenset[str]) -> float:
    """Jaccard index; two empty sets are alike."""
    union = len(left | right)
    return 1.0 if not union else len(left & right) / union


def _gist_of(text: str, is_code: bool) -> str:
    if not is_code and len(text) < _LONG and "\n" not in text:
        return text
    return " ".join(_WAIT.sub("wait", _COMMENT.sub("", text)).split()).casefold()
