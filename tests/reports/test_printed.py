"""The last output of an agent's program: which lines are shown, and whether they are the last that were printed."""

from typing import Any

import pytest

from harness.reports.durations import printed_ends
from harness.traces.trial import ProgramExit


def test_standard_error_stands_first_with_its_last_five_lines_that_are_not_blank() -> None:
    text = "".join(f"line {n}  \n\n" for n in range(7))
    error, output = printed_ends(ProgramExit(code=1, stdout="ü", stdout_bytes=2, stderr=text))
    assert ("stderr", "stdout") == (error.stream, output.stream)
    assert tuple(f"line {n}" for n in range(2, 7)) == error.lines
    assert (2, 2, True) == (output.kept_bytes, output.printed_bytes, output.complete)
    assert len(text) == error.kept_bytes == error.printed_bytes


@pytest.mark.parametrize(("length", "shown"), [(500, "x" * 500), (501, "x" * 499 + "…")])
def test_a_line_has_500_characters_at_most(length: int, shown: str) -> None:
    [end] = printed_ends(ProgramExit(code=1, stderr="x" * length))
    assert (shown,) == end.lines


@pytest.mark.parametrize(
    ("streams", "lines", "sizes", "complete"),
    [
        ({"stderr": "first\n", "stderr_end": "last\n", "stderr_bytes": 900}, ("last",), (11, 900), True),
        ({"stderr": "first\n", "stderr_end": "last\n", "stderr_bytes": 8}, ("last",), (8, 8), True),  # they overlap
        ({"stderr": "first\n", "stderr_bytes": 900}, ("first",), (6, 900), False),
        ({"stderr": "", "stderr_bytes": 900}, (), (0, 900), False),
    ],
)
def test_of_a_stream_that_was_cut_the_end_is_shown_where_it_was_kept(
    streams: dict[str, Any], lines: tuple[str, ...], sizes: tuple[int, int], complete: bool
) -> None:
    [end] = printed_ends(ProgramExit(code=1, **streams))
    assert (lines, sizes, complete) == (end.lines, (end.kept_bytes, end.printed_bytes), end.complete)
