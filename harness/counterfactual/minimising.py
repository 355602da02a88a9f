"""The shortest case that still fails in the same way: delta debugging over what the agent was given.

Offered tools, turns of the user, faults, fixture packs and files of the snapshot are left out as long as the same
checks fail, with the same outcome and the same failure modes. With tools `replay` the failed trial is replayed from its
own recordings, which are parts too, and so are the rows of recorded answers; a part that the agent asks for and that is
missing makes the trial inconclusive, so such parts stay. With tools `sealed` the services themselves answer, restored
for each trial, and the rows of their seed are parts.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from harness.case import Case, Suite, TrialVariant
from harness.cassette import Cassette, Recording
from harness.counterfactual.later_opening import Opened, with_later_opening
from harness.counterfactual.minimal_parts import MinimalCase, manner_of
from harness.counterfactual.minimal_search import (
    Failing,
    MinimalResult,
    MinimalSearch,
    minimal_id,
    save_recordings,
    with_log,
)
from harness.counterfactual.refusals import refuse_unforkable
from harness.counterfactual.subject import StoredSubject
from harness.errors import UsageError
from harness.pipeline import (
    RunOptions,
    SessionDraft,
    VariantRequest,
    add_case,
    open_variants,
    plan_of,
    recordings_of,
    refuse_taken_case,
    trial_recordings,
    with_cases,
)
from harness.results import PlannedTrial
from harness.sandbox import SnapshotStore, temporary_folder

MOST = 200
"""Trials that are tried at most, where no number is given."""


def _silent(text: str) -> None:
    """Where nobody is told of the progress."""
    del text


@dataclass(frozen=True, kw_only=True)
class MinimiseRequest:
    """How far a case is minimised."""

    options: RunOptions = field(default_factory=RunOptions)
    tools: Literal["replay", "sealed"] = "replay"
    """Who answers: the trial's recordings, or the suite's services, restored for each trial."""
    budget: int = MOST
    store: bool = False
    """Whether the minimal case is written into the suite's folder."""
    file: Path | None = None
    """The case file; None: `minimised.yaml` in the suite's folder."""


def minimise(
    subject: StoredSubject, request: MinimiseRequest, say: Callable[[str], None] = _silent
) -> tuple[MinimalCase, Case]:
    """Searches for the minimal case.

    Raises UsageError for a trial that does not fail, or not in replay, and where what is to be stored exists already.
    """
    if subject.card.success is not False and subject.card.outcome == "finished":
        raise UsageError(f"trial {subject.name} did not fail, so there is no failure to keep")
    # The trial is replayed from its own recordings, so that the case needs no cassette.
    refuse_unforkable(subject.project, subject, "sealed", say=say)
    if request.store:
        _refuse_taken(subject, request)
    sealed = request.tools == "sealed"
    recordings = _model_recordings(subject) if sealed else _recordings(subject)
    with temporary_folder() as files:
        plan = subject.plan(request.options.model_copy(update={"tools": request.tools}))
        with open_variants(replace(plan, cassettes=files), say) as bench:
            found = MinimalSearch(_failing(subject, sealed=sealed), recordings, bench, files, request.budget).run()
        minimal = _stored(subject, found, request) if request.store else found.minimal
    return minimal, found.case


def _recordings(subject: StoredSubject) -> tuple[Recording, ...]:
    folder = subject.folder
    found = trial_recordings(subject.project, folder, subject.suite, subject.case, subject.trial)
    if found.unanswered:
        missing = found.unanswered[0]
        raise UsageError(
            f"the answer to {missing.tool}({missing.arguments[:100]}) is not known, so the trial cannot be replayed",
            remedy=f"harness record {subject.suite.name} --case {subject.case.id} --agent {subject.manifest.agent}",
        )
    return tuple(found.recordings)


def _model_recordings(subject: StoredSubject) -> tuple[Recording, ...]:
    """What answers for the model where the services answer for the tools."""
    folder = subject.folder
    found = trial_recordings(subject.project, folder, subject.suite, subject.case, subject.trial)
    return tuple(one for one in found.recordings if one.mark.kind != "tool")


def _refuse_taken(subject: StoredSubject, request: MinimiseRequest) -> None:
    """Before the first trial: nothing that exists is overwritten."""
    suite, name = subject.suite, minimal_id(subject.case)
    refuse_taken_case(subject.project, suite, name, _case_file(suite, request))
    if suite.environment is not None:
        SnapshotStore(subject.project).refuse_taken(suite.environment, _snapshot_name(suite, subject.case))


def _case_file(suite: Suite, request: MinimiseRequest) -> Path:
    return request.file or suite.folder / "minimised.yaml"


def _snapshot_name(suite: Suite, case: Case) -> str:
    """The name under which what is left of the case's snapshot is stored."""
    return f"{case.snapshot or suite.snapshot}-{minimal_id(case)}"


def _stored(subject: StoredSubject, found: MinimalResult, request: MinimiseRequest) -> MinimalCase:
    """Writes the case, a cassette of the answers that its trial was given, and what is left of the snapshot."""
    suite, recordings = subject.suite, found.recordings
    if request.tools == "sealed":
        recordings = tuple(recordings_of(Cassette(recordings), suite, found.case, found.trial).recordings)
    case, snapshot = found.case, None
    if found.snapshot is not None:
        named = found.snapshot.model_copy(update={"name": _snapshot_name(suite, subject.case)})
        snapshot = SnapshotStore(subject.project).keep(named).name
        case = case.model_copy(update={"snapshot": snapshot})
    added = add_case(subject.project, suite, case, recordings, _case_file(suite, request))
    return found.minimal.model_copy(
        update={
            "file": str(added.file),
            "cassette": str(added.cassette),
            "snapshot": snapshot,
            "line": None if added.listed else added.line,
        }
    )


def _failing(subject: StoredSubject, *, sealed: bool) -> Failing:
    return Failing(
        name=subject.name,
        suite=subject.suite,
        case=subject.case,
        manner=manner_of(subject.card),
        interventions=subject.interventions,
        sealed=sealed,
    )


def minimise_draft(
    project: Path, drafted: SessionDraft, options: RunOptions, budget: int = MOST, say: Callable[[str], None] = _silent
) -> tuple[SessionDraft, MinimalCase]:
    """The draft without what its failure does not need, by an agent of the suite that fails the case in replay.

    `options`: agent, sandbox and jobs. Raises UsageError where that agent does not fail the case.
    """
    with temporary_folder() as cassettes:
        case = drafted.case
        if drafted.log is not None:
            case = with_log(case, drafted.log, cassettes / f"{case.id}.json")
        plan = plan_of(project, options.model_copy(update={"suite": drafted.suite.name, "tools": "replay"}))
        planned = (PlannedTrial(case_id=case.id, attempt=1),)
        plan = with_cases(replace(plan, cassettes=cassettes, planned=planned), (*drafted.suite.cases, case))
        save_recordings(cassettes, drafted.suite.name, case.id, drafted.recordings)
        with open_variants(plan, say) as bench:
            first = bench.run([VariantRequest(case=case, variant=TrialVariant())])[0].scored.card
            if first.success is not False and first.outcome not in ("agent_failed", "limit_reached"):
                raise UsageError(
                    f"the agent {plan.agent or drafted.suite.default_agent!r} does not fail the case in replay"
                    f" ({first.outcome}): {first.reason or 'no check failed'}",
                    remedy="name the agent that failed in production: --agent NAME",
                )
            opened = Opened(case=case, log=drafted.log, manner=manner_of(first), recordings=drafted.recordings)
            case, log, left_out = with_later_opening(opened, bench, cassettes)
            failing = Failing(name=case.origin or case.id, suite=bench.suite, case=case, manner=opened.manner, log=log)
            found = MinimalSearch(failing, drafted.recordings, bench, cassettes, budget).run()
    own = {"id": drafted.case.id, "origin": drafted.case.origin, "user": drafted.case.user}
    least, minimal = found.case.model_copy(update=own), found.minimal.model_copy(update={"case_id": drafted.case.id})
    if left_out:
        before = {**minimal.before, "turn": minimal.before.get("turn", 0) + left_out}
        after = {**minimal.after, "turn": minimal.after.get("turn", 0)}
        minimal = minimal.model_copy(update={"before": before, "after": after})
    return replace(drafted, case=least, recordings=found.recordings, log=found.log), minimal
