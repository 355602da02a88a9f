"""Cause by intervention: the earliest single change at one step that makes a failed trial succeed."""

from collections.abc import Callable

from harness.counterfactual.blame_answer import Blame, BlameRequest
from harness.counterfactual.cause_search import CauseSearch
from harness.counterfactual.refusals import refuse_unforkable
from harness.counterfactual.subject import StoredSubject, tool_mode
from harness.errors import UsageError
from harness.pipeline import VariantBench, open_variants
from harness.results import KeptCause, keep_cause


def blame(subject: StoredSubject, request: BlameRequest, say: Callable[[str], None] = lambda _: None) -> Blame:
    """Searches for the cause. Raises UsageError, before anything starts, for a trial that cannot be tried again."""
    if subject.card.success is not False and subject.card.outcome == "finished":
        raise UsageError(
            f"trial {subject.name} did not fail, so there is nothing to blame",
            remedy=f"trials that failed: harness report {subject.manifest.run}",
        )
    mode = tool_mode(subject, request.tools)
    refuse_unforkable(subject.project, subject, mode, say=say)
    plan = subject.plan(request.options.model_copy(update={"tools": mode}))
    with open_variants(plan, say) as bench:
        search = CauseSearch(subject, request, bench)
        found = search.run().model_copy(update={"tools": mode})
        found = found.model_copy(update={"run": search.kept(request.name)})
    _keep(subject, found)
    return found


def _keep(subject: StoredSubject, found: Blame) -> None:
    """Keeps the cause beside the trial, for `harness explain` and the reports of its run."""
    trial, cause = subject.trial, found.cause
    kept = None
    if cause is not None:
        kept = KeptCause(
            case_id=trial.case_id,
            attempt=trial.attempt,
            symptom=found.symptom,
            steps=cause.steps,
            kinds=cause.kinds,
            words=cause.words,
            mended=cause.mended,
            repeats=cause.repeats,
            confidence=cause.confidence,
            fork=found.run,
        )
    keep_cause(subject.folder, trial.case_id, trial.attempt, kept)


def blame_on(bench: VariantBench, subject: StoredSubject, request: BlameRequest) -> Blame:
    """The same on an open bench, for many trials of one suite; no fork is stored."""
    return CauseSearch(subject, request, bench).run()
