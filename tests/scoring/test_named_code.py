"""The code that a suite names: a suite that is stored beside a run may come from anybody."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.scoring.registry import named_code
from harness.suite.suites import Suite


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({}, ()),
        ({"checks": [{"name": "k", "verifier": "final_answer"}], "metrics": ["steps"]}, ()),
        ({"checks": [{"name": "k", "verifier": "checks.py:Own"}]}, ("check 'k': checks.py:Own",)),
        (
            {"checks": [{"name": "k", "verifier": "final_answer", "with": {"function": "f.py:g"}}] * 2},
            ("check 'k': f.py:g",),
        ),
        ({"checks": [{"name": "k", "verifier": "final_answer", "with": {"function": None}}]}, ()),
        ({"metrics": ["m.py:M", "r.py:R"]}, ("metrics: m.py:M", "metrics: r.py:R")),
        ({"servers": {"s": {"python": "s.py"}}}, ("server 's'",)),
        ({"servers": {"s": {}}}, ()),
    ],
)
def test_code_outside_of_the_harness_is_named_by_its_field(
    suite: Callable[..., Suite], fields: dict[str, Any], named: tuple[str, ...]
) -> None:
    built = suite()
    assert named == named_code(Suite.model_validate({**built.model_dump(by_alias=True), **fields}))


def test_a_check_of_a_case_is_named_as_those_of_the_suite(suite: Callable[..., Suite]) -> None:
    own = suite([{"checks": [{"name": "k", "verifier": "checks.py:Own"}]}])
    assert ("check 'k': checks.py:Own",) == named_code(own)
