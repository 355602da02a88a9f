"""The process for evaluations without a time bound: it reads one question per line and writes one answer per line,
until its input ends.

The kernel ends it where one answer exceeds its processor time, even after the parent process was killed. It imports
only what a question needs, so that it starts in milliseconds.
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
    """Answers the lines on standard input, each `{"question", "given", "seconds"}`, until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles the interrupt and then closes the input
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # the parent process may have made it ignore the signal
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        answerer = _answerer(asked["question"])
        signal.setitimer(signal.ITIMER_PROF, asked["seconds"])
        answer = _reply(answerer, asked["given"])
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()


def _reply(answerer: Callable[..., Any], given: list[Any]) -> dict[str, Any]:
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
