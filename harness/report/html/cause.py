"""The cause of a failed trial in the trajectory viewer: the change and the resulting branch."""

from harness.report.html.payload import present
from harness.report.html.trial import trial_view
from harness.results import RunFolder, cause_of, fork_of
from harness.score import Scorecard
from harness.trace import Trial
from harness.values import JsonObject


def cause_view(run: RunFolder, trial: Trial, card: Scorecard, budget: int) -> JsonObject:
    """The field `cause` of a trial's view; empty where no cause is known."""
    found = cause_of(run, trial.case_id, trial.attempt)
    if found is None:
        return {}
    fork = fork_of(run, found)
    branch = None if fork is None else trial_view(fork, card, budget)
    return {
        "cause": present(
            steps=list(found.steps),
            words=found.words,
            symptom=found.symptom,
            effect=f"with the change it succeeds in {found.mended} of {found.repeats} repeats; confidence at least"
            f" {found.confidence:.2f}",
            fork=found.fork,
            branch=None if branch is None else present(steps=branch.get("steps"), final=branch.get("final")),
        )
    }
