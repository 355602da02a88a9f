"""What cannot be run on several machines is refused before anything starts."""

from harness.errors import UsageError
from harness.pipeline.plan import RunPlan


def refuse_unshareable(plan: RunPlan) -> None:
    """Raises UsageError for what the machines would have to share: tapes that are written, budgets and rate limits."""
    for option, mode in (("--tools", plan.tools), ("--model", plan.model_mode)):
        if mode in ("record", "live"):
            raise UsageError(
                f"{option} {mode} cannot be run with --executor ray", remedy="leave --executor out, or replay"
            )
