"""Expressions mean what Python's `re` says, are asked within a limit, and leave no process behind."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from harness.errors import HarnessError, OutOfTime
from harness.validation.cost import is_quick
from harness.validation.expression import cut, finds, fits

NESTED = r"(a+)+$"
HOSTILE = "a" * 60 + "!"


def children(process: int) -> list[int]:
    listed = [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/children")]
    return [int(child) for text in listed for child in text.split()]


def answering(process: int) -> list[int]:
    """The processes that answer its questions."""
    found = []
    for child in children(process):
        with contextlib.suppress(OSError):
            if b"harness.validation.worker" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(child)
    return found


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (r"(?i)(?:total|sum)\s+(?:is\s+)*\d+", "x " * 500 + "The TOTAL is 42."),
        (r"(\w)\1(?!\1)", "abcc\ud800 déjà ²½ _"),
        (r"[[:alpha:]]{e<=1}|\b\w+\b", "क्षि ff " * 50),
        (r"(?:é|e)+\Z", "cafe" * 300 + "é\u2028é"),
        (r"(?s)^.*b.*c.*$", "a\nb\n" * 200),
        ("", ""),
    ],
)
@pytest.mark.filterwarnings("ignore:Possible nested set:FutureWarning")
def test_what_is_asked_elsewhere_means_what_re_says(expression: str, text: str) -> None:
    assert (re.search(expression, text) is not None) == finds(expression, text, field="f")
    assert (re.fullmatch(expression, text, re.S) is not None) == fits(expression, text, field="f", flags=re.S)
    assert re.sub(expression, "", text) == cut(expression, text, field="f")


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from([*"ab.^$?+*|()[]", "{2}", "{1,9}", r"\w", r"\(", "(?:", "(?=", "[^", r"\1"]), max_size=14),
    st.text("ab(", min_size=20, max_size=200),
)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_what_is_called_quick_is(parts: list[str], text: str) -> None:
    expression = "".join(parts)
    assume(is_quick(expression, len(text)))
    try:
        compiled = re.compile(expression)
    except re.error:
        assume(False)
    began = time.process_time()
    compiled.search(text)
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize("expression", [NESTED, r"(a|a)*$", r"(?x)(a +) *$", r"(?:a?){40}$", r"a*a*a*a*a*a*$"])
def test_what_may_take_for_ever_ends_and_names_field_and_remedy(expression: str) -> None:
    began = time.monotonic()
    with pytest.raises(OutOfTime) as raised:
        finds(expression, "a" * 2000 + "!", field="when.regex")
    assert time.monotonic() - began < 10
    assert re.search(rf"^when\.regex: {re.escape(repr(expression))}.*\b2001\b", str(raised.value))
    assert raised.value.remedy is not None
    assert finds(expression, "b aa", field="when.regex")


def test_many_threads_are_answered_by_a_few_processes() -> None:
    texts = [f"{'b' * 100}{'a' * number}" for number in range(200)]
    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda text: cut(NESTED, text, field="f"), texts))
    assert ["b" * 100] * 200 == answers
    assert len(answering(os.getpid())) <= 8


def test_a_process_that_somebody_ends_is_replaced_or_told() -> None:
    assert finds(NESTED, "ba", field="f")
    for process in answering(os.getpid()):
        os.kill(process, signal.SIGKILL)
    assert finds(NESTED, "ba", field="f")


def test_processes_that_somebody_always_ends_are_told_of() -> None:
    failed: list[HarnessError] = []

    def ask() -> None:
        try:
            finds(NESTED, HOSTILE, field="f")
        except HarnessError as error:
            failed.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    while asking.is_alive():
        for process in answering(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        asking.join(0.05)
    (error,) = failed
    assert not isinstance(error, OutOfTime)
    assert "-9" in str(error)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_of_who_was_killed_while_it_asked(how: signal.Signals) -> None:
    code = f"from harness.validation.expression import finds; finds({NESTED!r}, {HOSTILE!r}, field='f')"
    asking = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    found: list[int] = []
    until = time.monotonic() + 20
    while not found and time.monotonic() < until:
        found = answering(asking.pid)
    asking.send_signal(how)
    asking.wait()

    assert 1 == len(found)
    while time.monotonic() < until and Path(f"/proc/{found[0]}").exists():
        time.sleep(0.05)
    assert not Path(f"/proc/{found[0]}").exists()


def test_easy_expressions_start_no_worker() -> None:
    code = (
        "import sys; from harness.validation.expression import finds;"
        "assert finds(r'\\d+ items', '3 items', field='f');"
        "from harness.validation.worker_pool import _processes; sys.exit(_processes.cache_info().currsize)"
    )
    assert 0 == subprocess.run([sys.executable, "-c", code]).returncode
