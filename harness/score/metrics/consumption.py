"""The resources that a trial used, as far as the model's replies report them."""

from typing import ClassVar

from harness.score.evidence import Evidence
from harness.trace import Usage


class Tokens:
    """Input and output tokens of all model replies; a count, less being better.

    None where no reply reported its tokens; replies without a report are left out, and the explanation gives their
    number.
    """

    name: ClassVar[str] = "tokens"
    version: ClassVar[str] = "1"
    lower_is_better: ClassVar[bool] = True

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        used = [_tokens(usage) for usage in _usages(evidence)]
        known = [tokens for tokens in used if tokens is not None]
        if not known:
            return None, "no model reply told its tokens"
        return float(sum(known)), f"{sum(known)} tokens in {len(known)} of {len(used)} replies"


class CostUsd:
    """Cost of all model replies, US dollars, less being better. None where no reply's cost is known."""

    name: ClassVar[str] = "cost_usd"
    version: ClassVar[str] = "1"
    lower_is_better: ClassVar[bool] = True

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        usages = _usages(evidence)
        costs = [usage.cost_usd for usage in usages if usage.cost_usd is not None]
        if not costs:
            return None, "no model reply's cost is known"
        return sum(costs), f"{len(costs)} of {len(usages)} replies have a known cost"


def _usages(evidence: Evidence) -> list[Usage]:
    return [step.usage for step in evidence.trial.trajectory.steps if step.usage is not None]


def _tokens(usage: Usage) -> int | None:
    known = [part for part in (usage.input_tokens, usage.output_tokens) if part is not None]
    return sum(known) if known else None
