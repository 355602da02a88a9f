"""Questions put to a process that is ended where an answer takes too long.

Python's `re` cannot be interrupted and stops every thread while it searches, so a question that may take for ever is
put to another process; engines that can be interrupted read the same expression otherwise in places. The limit is on
processor time: a busy machine changes no answer.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Literal

from harness.errors import HarnessError, OutOfTime
from harness.subprocess_environment import subprocess_environment

if TYPE_CHECKING:  # the answering process does without
    from harness.values import JsonValue

Question = Literal["finds", "fits", "cut", "problem", "fault", "leads_to", "selected"]
_AT_ONCE = 8
"""Processes at most; who finds them all busy waits."""
_START = "import sys; sys.path[:] = {path!r}; from harness.validation.worker import serve; serve()"


def evaluate(question: Question, *given: "JsonValue", seconds: float, what: str) -> "JsonValue":
    """The answer; `what` names the field and its purpose, for the error.

    It may be called from many threads. Raises OutOfTime where it takes longer than `seconds` of processor time,
    RecursionError as the answerer does, and ValueError for everything else that it raises.
    """
    line = json.dumps({"question": question, "given": given, "seconds": seconds}).encode() + b"\n"
    line_back = _processes().answer(line)
    if line_back is None:
        raise OutOfTime(
            f"{what} was not answered within {seconds:g} s of processor time",
            remedy="write the expression without repeats inside of repeats, such as `(a+)+`, "
            "and without several that can take the same characters, such as `.*.*`",
        )
    reply = json.loads(line_back)
    if "raised" not in reply:
        answer: JsonValue = reply["answer"]
        return answer
    if reply["raised"] == RecursionError.__name__:
        raise RecursionError(reply["words"])
    raise ValueError(f"{reply['raised']}: {reply['words']}")


class _Ended(HarnessError):
    """The answering process has ended for another reason than its time limit."""


class _Process:
    """One answering process."""

    def __init__(self) -> None:
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _START.format(path=sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=subprocess_environment("LD_LIBRARY_PATH", "DYLD_"),
                process_group=0,  # an interrupt of the terminal is for the harness
            )
        except OSError as error:
            raise HarnessError(
                f"the process that answers expressions cannot be started: {error.strerror}",
                remedy="raise the limit of processes or open files, or end others",
            ) from None
        assert self._process.stdin is not None  # pipes, as requested above
        assert self._process.stdout is not None
        self._questions, self._answers = self._process.stdin, self._process.stdout

    def answer(self, line: bytes) -> bytes | None:
        """One line; None: it ran out of time, and has ended."""
        with suppress(BrokenPipeError):
            self._questions.write(line)
            self._questions.flush()
            if answer := self._answers.readline():
                return answer
        status = self._process.wait()
        if status == -signal.SIGPROF:  # what the kernel ends it with when its time is over
            return None
        raise _Ended(
            f"the process that answers expressions ended unexpectedly, with status {status}",
            remedy="look for what ended it: a limit of memory or processes",
        )

    def end(self) -> None:
        """Whatever it is doing."""
        self._process.kill()
        self._process.wait()
        self._answers.close()
        with suppress(BrokenPipeError):  # the rest of a question that it did not read
            self._questions.close()


class _Processes:
    """Those that wait for the next question; one is started where none does."""

    def __init__(self) -> None:
        self._idle: list[_Process] = []
        self._places = threading.BoundedSemaphore(_AT_ONCE)
        atexit.register(self._end)
        os.register_at_fork(after_in_child=self._idle.clear)  # two that ask one process would read each other's answers

    def answer(self, line: bytes) -> bytes | None:
        """One line; None: it ran out of time."""
        with self._places:
            while (idle := self._taken()) is not None:
                with suppress(_Ended):  # maybe long ago
                    return self._answer_of(idle, line)
            return self._answer_of(_Process(), line)

    def _answer_of(self, process: _Process, line: bytes) -> bytes | None:
        answer = None
        try:
            answer = process.answer(line)
        finally:
            if answer is None:
                process.end()
            else:
                self._idle.append(process)
        return answer

    def _taken(self) -> _Process | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _end(self) -> None:
        while self._idle:
            self._idle.pop().end()


@cache
def _processes() -> _Processes:
    return _Processes()
