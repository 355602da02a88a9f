"""What is told of the moment is kept on no cassette; what is told of the request is."""

import pytest

from harness.cassettes.transience import is_transient


@pytest.mark.parametrize(
    ("status", "of_tool", "of_model"),
    [
        (200, False, False),
        (404, False, False),
        (408, True, True),
        (409, False, True),
        (422, False, False),
        (425, True, True),
        (429, True, True),
        (500, False, True),
        (501, False, True),
        (502, True, True),
        (503, True, True),
        (504, True, True),
        (520, True, True),
        (529, True, True),
        (530, True, True),
        (599, False, True),
    ],
)
def test_one_rule_says_which_answers_are_recorded(status: int, of_tool: bool, of_model: bool) -> None:
    assert (of_tool, of_model) == (is_transient(status), is_transient(status, "model"))
