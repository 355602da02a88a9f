"""The failures of one scored session or trial, each with its cause, from scores and trajectory."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

from harness.judge import Judgement
from harness.score import Diagnosis, Scorecard
from harness.themes.failure import MOST_TEXT, Cause, HarnessFault, SessionFailure, cleaned
from harness.trace import MEASURED, Outcome, Step, ToolErrorType, Trajectory

_UNMEASURED: Final[dict[Outcome, HarnessFault]] = {
    "inconclusive": "replay_miss",
    "simulator_failed": "invalid_user",
    "harness_failed": "harness_failed",
}
_NOT_THE_TOOLS: Final = frozenset({"replay_miss", "limit_reached"})
_LEFT_OUT: Final = frozenset({"premature_commitment/stopped_early", "wrong_outcome/missing_write"})
"""Modes that say what was not done: a false claim of having done it says more."""
_UNKNOWN: Final = "failed_without_a_known_mode"


class _Lead(NamedTuple):
    """A possible cause, and what was said about it."""

    cause: Cause
    text: str
    step: Step | None
    also: tuple[str, ...] = ()
    """Failure modes that were found at the same step."""


def failures_of_card(card: Scorecard, trajectory: Trajectory | None, common: SessionFailure) -> list[SessionFailure]:
    """By rules: a failure of the first failed check, with its cause; of each failed check where no cause is known; of
    the leading failure mode where no check failed; none for a clean success.

    `common`: the fields that all failures of the session share.
    """
    if card.outcome not in MEASURED:
        return [_unmeasured(card, trajectory, common)]
    lead = _leading(card.diagnoses, trajectory) or _ending(card)
    failed = [verdict for verdict in card.verdicts if verdict.passed is False]
    if failed:
        return [
            _failure(common, f"check:{cleaned(verdict.check)}", lead or _Lead(Cause(), verdict.reason, None))
            for verdict in (failed if lead is None else failed[:1])
        ]
    if card.success is False or card.outcome != "finished":
        return [_failure(common, "", lead or _Lead(Cause(mode=f"outcome/{card.outcome}"), card.reason or "", None))]
    modes = _leading(card.diagnoses, trajectory, errors=False)
    return [] if modes is None else [_failure(common, "", modes).model_copy(update={"weight": "noticed"})]


def failures_of_judgements(
    judgements: Sequence[Judgement],
    card: Scorecard | None,
    trajectory: Trajectory | None,
    common: SessionFailure,
    contradicted: Collection[str] = (),
) -> Iterator[SessionFailure]:
    """By a judge: one failure for each criterion that failed, or that the judge could not answer.

    `contradicted`: criteria that people's labels say were met.
    """
    for one in judgements:
        criterion = f"criterion:{cleaned(one.criterion)}"
        if one.answer == "judge_failed":
            lead = _Lead(Cause(), one.failure or "", None)
            yield _failure(common, criterion, lead, "judge_failed")
        elif one.answer == "fail":
            lead = _cited(one, () if card is None else card.diagnoses, trajectory)
            yield _failure(common, criterion, lead, "judge_false_positive" if one.criterion in contradicted else None)


def _failure(common: SessionFailure, criterion: str, lead: _Lead, fault: HarnessFault | None = None) -> SessionFailure:
    step = lead.step
    return common.model_copy(
        update={
            "criterion": criterion,
            "fault": fault,
            "cause": lead.cause if fault is None else Cause(),
            "also": lead.also if fault is None else (),
            "weight": "failed" if fault is None else "harness",
            "text": lead.text[:MOST_TEXT],
            "step": None if step is None else step.index,
            "span": "" if step is None else cleaned(step.span_id or ""),
        }
    )


def _unmeasured(card: Scorecard, trajectory: Trajectory | None, common: SessionFailure) -> SessionFailure:
    fault = _UNMEASURED[card.outcome]
    misses = _errors(trajectory, frozenset({"replay_miss"})) if fault == "replay_miss" else iter(())
    missed = next(misses, None)
    lead = _Lead(Cause(), card.reason or "", None if missed is None else missed.step)
    failure = _failure(common, "", lead, fault)
    return failure if missed is None else failure.model_copy(update={"cause": Cause(tool=cleaned(missed.tool))})


def _ending(card: Scorecard) -> _Lead | None:
    """That the agent crashed or met a limit, where nothing else says why; None for one that finished."""
    if card.outcome == "finished":
        return None
    return _Lead(Cause(mode=f"outcome/{card.outcome}"), card.reason or "", None)


def _leading(diagnoses: Sequence[Diagnosis], trajectory: Trajectory | None, *, errors: bool = True) -> _Lead | None:
    """The earliest of the tool errors that were never overcome and the findings; how the outcome is wrong, last."""
    known = [one for one in diagnoses if one.kind != _UNKNOWN]
    found = _unrecovered(trajectory) if errors else []
    found += [_of_mode(one, trajectory) for one in known if one.failure != "wrong_outcome"]
    return _earliest(found or [_of_mode(one, trajectory) for one in known])


def _earliest(found: Sequence[_Lead]) -> _Lead | None:
    """With the modes of what else began at its step; None for none."""
    lead = min(found, key=_begin, default=None)
    if lead is None:
        return None
    also = {one.cause.mode for one in found if one.step == lead.step and one.cause.mode} - {lead.cause.mode}
    return lead._replace(also=tuple(sorted(also)))


def _begin(lead: _Lead) -> tuple[float, bool, bool]:
    """By step; then an error before a finding, and what was done at the step before what was left out there."""
    index = float("inf") if lead.step is None else lead.step.index
    return (index, not lead.cause.error, lead.cause.mode in _LEFT_OUT)


def _of_mode(diagnosis: Diagnosis, trajectory: Trajectory | None) -> _Lead:
    step = None if trajectory is None or diagnosis.origin_step is None else _step(trajectory, diagnosis.origin_step)
    tool = step.calls[0].name if step is not None and step.calls and diagnosis.kind != "invented_tool" else ""
    mode = f"{diagnosis.failure}/{cleaned(diagnosis.kind)}"
    return _Lead(Cause(mode=mode, tool=cleaned(tool)), diagnosis.evidence, step)


def _cited(judgement: Judgement, diagnoses: Sequence[Diagnosis], trajectory: Trajectory | None) -> _Lead:
    """What happened at the steps that the judge cites; the text is the judge's own."""
    cited = [] if trajectory is None else [step for step in trajectory.steps if _is_cited(step, judgement.spans)]
    places = {step.index for step in cited}
    errors = [one.lead for one in _errors(trajectory) if one.step.index in places]
    modes = [_of_mode(one, trajectory) for one in diagnoses if one.origin_step in places and one.kind != _UNKNOWN]
    lead = _earliest([*errors, *modes])
    step = cited[0] if cited else None
    return _Lead(Cause(), judgement.rationale, step) if lead is None else lead._replace(text=judgement.rationale)


def _is_cited(step: Step, spans: Sequence[str]) -> bool:
    return f"step:{step.index}" in spans or (bool(step.span_id) and step.span_id in spans)


class _ToolError(NamedTuple):
    """An answer that was an error."""

    step: Step
    tool: str
    kind: ToolErrorType
    message: str

    @property
    def lead(self) -> _Lead:
        tool = "" if self.kind == "unknown_tool" else cleaned(self.tool)  # an invented name stands in the text
        return _Lead(Cause(tool=tool, error=self.kind), f"{'' if tool else self.tool} {self.message}", self.step)


def _unrecovered(trajectory: Trajectory | None) -> list[_Lead]:
    """For each tool that did not succeed any more, its first error since its last success."""
    if trajectory is None:
        return []
    successes = {
        call.name: step.index
        for step in trajectory.steps
        for call in step.calls
        if any(seen.call_id == call.id and seen.error is None for seen in step.observations)
    }
    late = [one for one in _errors(trajectory) if one.step.index > successes.get(one.tool, -1)]
    first = {one.tool: one for one in reversed(late)}
    return [one.lead for one in first.values()]


def _errors(trajectory: Trajectory | None, only: Collection[str] = ()) -> Iterator[_ToolError]:
    """Every answer that was an error, in order; `only`: of these classes, else of all that are a tool's doing."""
    for step in () if trajectory is None else trajectory.steps:
        answers = {seen.call_id: seen for seen in step.observations}
        for call in step.calls:
            answer = answers.get(call.id)
            if answer is None or answer.error is None:
                continue
            kind = answer.error.type
            if kind in only or (not only and kind not in _NOT_THE_TOOLS):
                yield _ToolError(step, call.name, kind, answer.error.message)


def _step(trajectory: Trajectory, index: int) -> Step | None:
    return next((step for step in trajectory.steps if step.index == index), None)
