"""The size check counts what is code, and names the budget that is exceeded."""

import subprocess
import sys

import pytest

from qa.size import code_lines, exceeded

SOURCE = '''"""A module."""

# A comment.
LIMIT = 3  # a comment beside code


def text(
    name: str,
) -> str:
    """A function."""

    return """two
lines"""
'''


def test_only_lines_with_code_are_counted() -> None:
    assert 6 == code_lines(SOURCE)


def test_a_budget_that_is_exceeded_is_named_and_one_that_is_met_is_not() -> None:
    assert [] == exceeded({"code": 10, "files": 2}, {"code": 10, "files": 2})
    (problem,) = exceeded({"code": 11, "files": 2}, {"code": 10, "files": 2})
    assert problem.startswith("code: 11 ")
    assert "[tool.harness.budgets]" in problem


@pytest.mark.slow
def test_a_replayed_call_and_a_scorecard_pass_through_few_files() -> None:
    measured = subprocess.run([sys.executable, "-m", "qa.path_lengths", "--list"], capture_output=True, text=True)
    assert 0 == measured.returncode, measured.stdout + measured.stderr
