"""The size check counts what is code, and names the budget that is exceeded."""

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
