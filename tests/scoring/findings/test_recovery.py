"""What was done about an error, and whether it helped."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.scoring.evidence import Evidence
from harness.scoring.findings.recovery import recoveries

BROKEN = ("call", "get_order", {"order_id": "W1000001"}, None, "the service does not answer")
GOOD = ("call", "get_order", {"order_id": "W1000001"}, {"status": "open"})
OTHER = ("call", "get_stock", {"item_id": "lamp"}, "none left")


def _shell(command: str, *answer: Any) -> tuple[Any, ...]:
    return ("call", "shell", {"command": command}, *(answer or ("done",)))


MISSING = _shell("cat /srv/report.txt", None, "cat: /srv/report.txt: no such file")


@pytest.mark.parametrize(
    ("after", "response", "recovered_after"),
    [
        ([GOOD], "retried_same", 1),
        ([BROKEN, OTHER], "retried_same", None),
        ([("call", "get_order", {"order_id": "1000001"}, {"status": "open"})], "changed_something", 1),
        ([OTHER, GOOD], "changed_something", 2),
        ([("call", "find_customer", {"email": "W1000001"}, "found")], "used_another_tool", 1),
        ([("agent", "Unfortunately the order cannot be read.")], "told_user", None),
        ([OTHER, OTHER, OTHER, GOOD], "ignored", None),
        ([], "ignored", None),
    ],
)
def test_the_response_to_an_error_is_read_from_what_came_next(
    told: Callable[..., Evidence], after: list[Any], response: str, recovered_after: int | None
) -> None:
    first = recoveries(told(BROKEN, *after))[0]
    assert (response, recovered_after) == (first.response, first.recovered_after)


@pytest.mark.parametrize(
    ("command", "response", "recovered"),
    [
        ("cat /srv/reports/report.txt", "changed_something", True),
        ("cd /srv && cat reports.txt", "changed_something", True),
        ("find /srv -name report.txt", "used_another_tool", True),
        (": cat /srv/report.txt", "changed_something", False),
        ("make all", "ignored", False),
    ],
)
def test_in_a_shell_programs_take_the_place_of_tools_and_doing_nothing_is_no_recovery(
    told: Callable[..., Evidence], command: str, response: str, recovered: bool
) -> None:
    (one,) = recoveries(told(MISSING, _shell(command)))
    assert (response, recovered) == (one.response, one.recovered)


def test_talking_to_itself_and_going_on_is_not_telling_the_user(told: Callable[..., Evidence]) -> None:
    (one,) = recoveries(told(BROKEN, ("agent", "That failed, the error is odd."), OTHER))
    assert "ignored" == one.response


def test_telling_the_user_who_then_answers_is(told: Callable[..., Evidence]) -> None:
    (one,) = recoveries(told(BROKEN, ("agent", "I cannot read it, sorry."), ("user", "try again"), GOOD))
    assert ("retried_same", True) == (one.response, one.recovered)
    (one,) = recoveries(told(BROKEN, ("agent", "I cannot read it, sorry."), ("user", "never mind"), OTHER))
    assert ("told_user", False) == (one.response, one.recovered)


def test_runs_without_errors_have_nothing_to_recover_from(told: Callable[..., Evidence]) -> None:
    assert () == recoveries(told(GOOD, OTHER))
