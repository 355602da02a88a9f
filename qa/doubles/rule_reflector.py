"""A double of the model that revises a judge's prompt: it adds one rule of a list at a time.

With the rule model as the judge, which follows only its prompt, it shows that a calibration works: correct rules
improve the agreement, and wrong rules do not. It does not show how well a language model would perform.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final
from zlib import crc32

ANY: Final = "*"

_EXAMPLE: Final = re.compile(
    r"^## Criterion\n(?P<id>[^:\n]+):.*?^## Feedback\n(?P<told>.*?)(?=^# Example|\Z)", re.S | re.M
)


class CalibrationRuleReflector:
    """Returns the same answer to the same request."""

    def __init__(self, rules: Mapping[str, Sequence[str]]) -> None:
        """`rules` maps a criterion id (`*` matches every criterion) to possible instructions for a judge."""
        self._rules = rules

    def __call__(self, request: str) -> str:
        """The prompt of the request with one more rule, if one is left, for the first criterion that the judge
        answered wrongly; the request determines which rule."""
        prompt = request.split("```")[1].strip()
        wrong = [found["id"] for found in _EXAMPLE.finditer(request) if "The judge was wrong" in found["told"]]
        for criterion in (*wrong, ANY):
            known = (*self._rules.get(criterion, ()), *self._rules.get(ANY, ()))
            lacking = [rule for rule in known if rule not in prompt]
            if lacking:
                return f"```\n{prompt}\n{lacking[crc32(request.encode()) % len(lacking)]}\n```"
        return f"```\n{prompt}\n```"
