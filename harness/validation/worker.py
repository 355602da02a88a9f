"""The process that answers what may take for ever: a question a line, an answer a line, until nobody asks any more.

The kernel ends it where one answer takes more processor time than it is given, also after whoever asked was killed.
Imports what a question needs and no more, so that it starts in milliseconds.
"""

import json
import re
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

_ELSEWHERE: Final = {
    "problem": ("harness.validation.schema", "problem_of"),
    "fault": ("harness.validation.faults", "fault_of"),
    "leads_to": ("harness.validation.path", "leads_to"),
    "selected": ("harness.validation.path", "selected"),
}
"""Answered by modules that take long to import."""


def serve() -> None:
    """Answers what comes in on standard input, each line `{"question", "given", "seconds"}`, until that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asks is interrupted, and then closes the input
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # whoever started the harness may have told it to ignore it
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        answerer = _answerer(asked["question"])
        signal.setitimer(signal.ITIMER_PROF, asked["seconds"])
        told = _told(answerer, asked["given"])
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.buffer.write(json.dumps(told).encode() + b"\n")
        sys.stdout.buffer.flush()


def _told(answerer: Callable[..., Any], given: list[Any]) -> dict[str, Any]:
    try:
        return {"answer": answerer(*given)}
    except Exception as error:  # noqa: BLE001 - whoever asked is waiting, and is told whatever it was
        return {"raised": type(error).__name__, "words": str(error)}


def _answerer(question: str) -> Callable[..., Any]:
    if question in _ELSEWHERE:
        module, name = _ELSEWHERE[question]
        found: Callable[..., Any] = getattr(import_module(module), name)
        return found
    return _HERE[question]


def _finds(expression: str, text: str, flags: int) -> bool:
    return re.search(expression, text, flags) is not None


def _fits(expression: str, text: str, flags: int) -> bool:
    return re.fullmatch(expression, text, flags) is not None


def _cut(expression: str, text: str, flags: int) -> str:
    return re.sub(expression, "", text, flags=flags)


_HERE: Final[dict[str, Callable[..., Any]]] = {"finds": _finds, "fits": _fits, "cut": _cut}
