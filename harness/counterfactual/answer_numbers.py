"""Right answers by reference alone: a number that no tool gave is replaced by one that a tool gave.

An answer says `$3.78` where a tool said `278` cents, or 2.78. Numbers that a tool or the user gave are left alone.
"""

import re
from collections.abc import Iterator

from harness.score import fed_calls
from harness.trace import Trial
from harness.values import JsonValue, canonical_json

_NUMBER = re.compile(r"(?<![\w.])\d{1,9}(?:\.\d{1,4})?(?![\w]|\.\d)")
_MOST = 4
"""Other numbers that are tried for one, those that look most like it first."""
_WRONG = 2
"""Numbers of the answer that are replaced at most; an answer with more of them is not one slip."""


def answers_by_tools(trial: Trial) -> Iterator[tuple[str, str]]:
    """(answer, what is otherwise in words), each with one number replaced."""
    answer = trial.trajectory.final_output
    if not isinstance(answer, str):
        return
    given = _given(trial)
    asked = {
        one for step in trial.trajectory.steps if step.source == "user" for one in _NUMBER.findall(step.message or "")
    }
    wrong = [found for found in _NUMBER.finditer(answer) if found[0] not in given and found[0] not in asked]
    if len(wrong) > _WRONG:
        return
    for found in wrong:
        for other in sorted(given, key=lambda one: (_unlike(found[0], one), given[one]))[:_MOST]:
            changed = f"{answer[: found.start()]}{other}{answer[found.end() :]}"
            yield changed, f"the answer says {other}, which a tool gave, instead of {found[0]}"


def _given(trial: Trial) -> dict[str, int]:
    """Numbers of the tools' answers as an answer may write them, and how long before the end each was given last."""
    found: dict[str, int] = {}
    for age, call in enumerate(reversed(fed_calls(trial))):
        for number in _numbers(call.content):
            for text in _written(number):
                found.setdefault(text, age)
    return found


def _numbers(content: JsonValue) -> list[str]:
    return _NUMBER.findall(content if isinstance(content, str) else canonical_json(content))


def _written(number: str) -> tuple[str, ...]:
    """As it is, and cents as an amount."""
    if "." in number:
        return number, f"{float(number):.2f}"
    return number, f"{int(number) / 100:.2f}"


def _unlike(one: str, other: str) -> tuple[int, int]:
    """In length, then in how many places two numbers differ."""
    shape = abs(len(one) - len(other)) + 2 * (("." in one) != ("." in other))
    return shape, sum(a != b for a, b in zip(one, other, strict=False))
