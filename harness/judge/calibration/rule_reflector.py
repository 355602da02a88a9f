"""The public fake of a model that revises prompts: it knows some rules, and adds one at a time.

With the rule model as the judge, which follows only what its prompt says, it shows that a calibration works: it climbs
by rules that are right, and does not by rules that are wrong. How well a language model would do is not shown by it.
"""

from collections.abc import Sequence
from zlib import crc32


class RuleReflector:
    """Says the same to the same request."""

    def __init__(self, rules: Sequence[str]) -> None:
        self._rules = tuple(rules)

    def __call__(self, request: str) -> str:
        """The prompt of the request with one more of the rules, if it lacks one; which one depends on the request."""
        prompt = request.split("```")[1].strip()
        lacking = [rule for rule in self._rules if rule not in prompt]
        added = f"\n{lacking[crc32(request.encode()) % len(lacking)]}" if lacking else ""
        return f"```\n{prompt}{added}\n```"
