"""Whatever stands in a trajectory, its failures are named in time that grows with its length."""

import time
from collections.abc import Callable

import pytest

from harness.scoring.evidence import Evidence
from harness.scoring.findings.facts import diagnose

_LENGTH = 60_000
_DIGITS = "".join(str(number) for number in range(10_000, 20_000))


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["1", "a.", "\t", "?", "I have cancelled ", "=1"])
def test_a_message_of_one_repeated_text_is_read_in_little_time(told: Callable[..., Evidence], unit: str) -> None:
    message = (unit * _LENGTH)[:_LENGTH]
    assert_read_quickly(told, message, message)


@pytest.mark.slow
def test_an_answer_that_holds_every_value_of_a_message_takes_little_time(told: Callable[..., Evidence]) -> None:
    values = [_DIGITS[start : start + 12] for start in range(0, len(_DIGITS) - 12, 12)]
    assert_read_quickly(told, " ".join(values), _DIGITS)


def assert_read_quickly(told: Callable[..., Evidence], message: str, answer: str) -> None:
    evidence = told(
        ("user", f"Order W1000001, please. {message}"),
        ("agent", message),
        ("call", "get_order", {"order_id": "W1000001"}, answer),
        ("agent", f"Done. {message}"),
        failed=True,
    )
    began = time.process_time()
    diagnose(evidence)
    assert time.process_time() - began < 15
