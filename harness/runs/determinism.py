"""Whether an agent does the same each time: compares the attempts at each case."""

from collections.abc import Iterable

from harness.traces.outcomes import MEASURED
from harness.traces.trajectory import Step, Trajectory, step_identity
from harness.traces.trial import Trial
from harness.values import Frozen, canonical_json

_SHOWN = 200


class StepDivergence(Frozen):
    """The first difference between two attempts at one case."""

    case_id: str
    attempts: tuple[int, int]
    step: int | None
    """Index of the first step that differs; None if only the final output does."""
    before: str
    after: str


def divergences(trials: Iterable[Trial]) -> tuple[StepDivergence, ...]:
    """One entry for each case of which two measured attempts differ: the first attempt against the first unlike it."""
    first: dict[str, Trial] = {}
    found: dict[str, StepDivergence] = {}
    for trial in trials:
        if trial.outcome not in MEASURED:
            continue
        known = first.setdefault(trial.case_id, trial)
        if trial.case_id not in found and known.trajectory.digest != trial.trajectory.digest:
            found[trial.case_id] = _divergence(known, trial)
    return tuple(found.values())


class PrefixDifference(Frozen):
    """The first step before a fork in which a replay differs from the trial that it replays."""

    step: int
    words: str


def prefix_difference(before: Trajectory, after: Trajectory, until: int) -> PrefixDifference | None:
    """The first difference in the steps before `until`; None if they are equal."""
    for index in range(until):
        pair = _step_text(before.steps, index), _step_text(after.steps, index)
        if pair[0] != pair[1]:
            expected, found = _texts_around_difference(*pair)
            return PrefixDifference(step=index, words=f"expected {expected}, found {found}")
    return None


def changed_by_agent(before: Trajectory, after: Trajectory) -> int | None:
    """The first step in which the agent did something else although all answers before it were the same; None if
    there is none, or if an answer, or what a user said, differed first.
    """
    for index in range(max(len(before.steps), len(after.steps))):
        pair = _step_text(before.steps, index), _step_text(after.steps, index)
        if pair[0] != pair[1]:
            return index if _step_content(before.steps, index) != _step_content(after.steps, index) else None
    return None


def _step_content(steps: tuple[Step, ...], index: int) -> str | None:
    """What the agent said and called in a step, without what came of it."""
    step = steps[index] if index < len(steps) else None
    if step is None or step.source != "agent":
        return None
    calls = [(call.name, call.arguments, call.unparsed) for call in step.calls]
    return canonical_json({"message": step.message, "calls": calls})


def _divergence(before: Trial, after: Trial) -> StepDivergence:
    step, shown = _first_difference(before.trajectory, after.trajectory)
    return StepDivergence(
        case_id=before.case_id,
        attempts=(before.attempt, after.attempt),
        step=step,
        before=shown[0],
        after=shown[1],
    )


def _first_difference(before: Trajectory, after: Trajectory) -> tuple[int | None, tuple[str, str]]:
    for index in range(max(len(before.steps), len(after.steps))):
        pair = _step_text(before.steps, index), _step_text(after.steps, index)
        if pair[0] != pair[1]:
            return index, _texts_around_difference(*pair)
    return None, _texts_around_difference(canonical_json(before.final_output), canonical_json(after.final_output))


def _step_text(steps: tuple[Step, ...], index: int) -> str:
    return canonical_json(step_identity(steps[index])) if index < len(steps) else "the trial has ended"


def _texts_around_difference(before: str, after: str) -> tuple[str, str]:
    """Both texts, starting shortly before their first difference."""
    same = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
    start = max(0, same - 40)
    return before[start : start + _SHOWN], after[start : start + _SHOWN]
