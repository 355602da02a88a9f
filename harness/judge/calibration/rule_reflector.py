"""The public fake of a model that revises prompts: it knows some rules, and adds one at a time.

With the rule model as the judge, which follows only what its prompt says, it shows that a calibration works: it climbs
by rules that are right, and does not by rules that are wrong. How well a language model would do is not shown by it.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final
from zlib import crc32

ANY: Final = "*"

_EXAMPLE: Final = re.compile(
    r"^## Criterion\n(?P<id>[^:\n]+):.*?^## Feedback\n(?P<told>.*?)(?=^# Example|\Z)", re.S | re.M
)


class RuleReflector:
    """Says the same to the same request."""

    def __init__(self, rules: Mapping[str, Sequence[str]]) -> None:
        """`rules`: criterion id (`*`: whatever it is) -> what could be told to a judge about it."""
        self._rules = rules

    def __call__(self, request: str) -> str:
        """The prompt of the request with one more rule, if there is one left: about the first criterion that the judge
        was wrong about, and which of them depends on the request."""
        prompt = request.split("```")[1].strip()
        wrong = [found["id"] for found in _EXAMPLE.finditer(request) if "The judge was wrong" in found["told"]]
        for criterion in (*wrong, ANY):
            known = (*self._rules.get(criterion, ()), *self._rules.get(ANY, ()))
            lacking = [rule for rule in known if rule not in prompt]
            if lacking:
                return f"```\n{prompt}\n{lacking[crc32(request.encode()) % len(lacking)]}\n```"
        return f"```\n{prompt}\n```"
