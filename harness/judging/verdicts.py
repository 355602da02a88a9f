"""Verdicts of a judge, the points that they give, and the findings that they make."""

import math
from collections.abc import Iterable, Mapping
from typing import Final, Literal

from harness.judging.rubrics import MIN_COVERAGE, Criterion, Rubric
from harness.scoring.findings.facts import by_origin
from harness.scoring.scorecard import Diagnosis, Failure
from harness.traces.spans import Evaluation
from harness.values import Frozen

# A judgement: the answer to one criterion of one trial, and its author.

Answer = Literal["pass", "fail", "not_eligible", "judge_failed"]


class JudgeIdentity(Frozen):
    """Everything that can explain a different verdict on the same evidence."""

    prompt: str | None = None
    """Name of the judge's prompt; None: code decided."""
    prompt_version: str | None = None
    prompt_digest: str | None = None
    model: str
    """The requested model; for code, `code:<name>@<version>`."""
    samples: int = 1
    """How often each question was sent; the majority counts."""
    asked: str | None = None
    """Wire format, host and sampling parameters of the requests; None: code decided."""

    @property
    def decides(self) -> tuple[str | None, str, int, str | None]:
        """What chooses its verdicts, by whichever name and version its prompt is kept."""
        return self.prompt_digest, self.model, self.samples, self.asked


class Votes(Frozen):
    """The answers of the samples of one verdict."""

    passed: int = 0
    failed: int = 0
    not_eligible: int = 0
    judge_failed: int = 0


class Judgement(Frozen):
    """One criterion of one trial. Contains no time or machine: the same evidence and judge give the same bytes."""

    run: str
    case_id: str
    attempt: int
    trace_id: str = ""
    """The trace id of the judged trajectory; an imported trace keeps its own id."""
    trajectory: str
    """Digest of the trajectory that was judged."""
    evidence: str = ""
    """Digest of the evidence that the judge received."""
    rubric: str
    rubric_version: str
    rubric_digest: str
    criterion: str
    criterion_version: str
    eligible: bool | None
    """Whether the criterion applies; None if that is unknown, see `failure`."""
    passed: bool | None
    """None if the criterion is not eligible, or the judge failed."""
    failure: str | None = None
    """The reason why there is no judgement: the judge failed, not the agent."""
    rationale: str = ""
    spans: tuple[str, ...] = ()
    """The ids of the spans that support the verdict; `step:<index>` if a step has no span."""
    step: int | None = None
    """Of kind `step`: the step that decided the failure."""
    mode: Failure | None = None
    """Of kind `step`: how it failed there."""
    log: tuple[str, ...] = ()
    """Of kind `step`: the findings of code that support it."""
    judge: JudgeIdentity
    cached: bool = False
    """Whether the answer came from an earlier run's cassette, without a request."""
    votes: Votes | None = None
    """None: one sample was taken."""

    @property
    def answer(self) -> Answer:
        """The answer as one of four values."""
        if self.failure is not None:
            return "judge_failed"
        if self.eligible is False:
            return "not_eligible"
        return "pass" if self.passed else "fail"

    @property
    def evaluation(self) -> Evaluation:
        """As other systems receive it."""
        return Evaluation(
            name=self.criterion,
            label=self.answer,
            score=None if self.passed is None else float(self.passed),
            explanation=self.rationale or None,
            error=self.failure,
            evaluator=self.judge.model,
            evaluator_version=f"{self.rubric}@{self.rubric_version}/{self.criterion_version}",
            prompt=self.judge.prompt,
            prompt_version=self.judge.prompt_version,
        )


# Computes points from judgements: binary answers, weighted over the eligible criteria.
#
# A domain's value is the points that passed over the points that were eligible and judged: points of ineligible
# criteria
# are thereby spread over the others of their domain. A domain in which nothing was eligible gives its weight to the
# others in proportion to theirs. A criterion whose judge failed is removed from both sums and lowers the coverage: it
# never counts as a fail. Below a coverage of a half there is no mean, because the remaining criteria may be the
# easy ones. A failed critical criterion makes the score 0, and the mean before that stands beside it.


class DomainScore(Frozen):
    """One domain of one trajectory."""

    domain: str
    weight: float
    """The weight in the rubric."""
    share: float
    """The share of the whole score, from 0 to 1, after redistribution of domains without an eligible criterion."""
    points: float
    """Points of passed criteria."""
    eligible_points: float
    value: float | None
    """From 0 to 1; None: nothing was eligible, or nothing could be judged."""


class RubricScore(Frozen):
    """The score of one trajectory by one rubric."""

    rubric: str
    rubric_version: str
    value: float | None
    """From 0 to 1: 0 if a critical criterion failed, else `before_critical`."""
    before_critical: float | None
    """From 0 to 1, weighted over the domains, whatever was critical; None: nothing was eligible and judged, or the
    coverage is below the rubric's floor."""
    passed: bool | None
    """False if a critical criterion failed; None if one of them could not be judged, or nothing was."""
    critical_failed: tuple[str, ...] = ()
    domains: tuple[DomainScore, ...]
    coverage: float
    """Share of the criteria, from 0 to 1, that have an answer; "not eligible" is one."""
    eligible: int
    not_eligible: int
    judge_failed: int


def score_rubric(rubric: Rubric, case_id: str, judgements: Iterable[Judgement]) -> RubricScore:
    """The score of one trajectory; of several judgements by one criterion the last counts."""
    criteria = rubric.criteria_for(case_id)
    by_criterion = {one.criterion: one for one in judgements}
    domains = _domains(rubric, criteria, by_criterion)
    answers = [by_criterion[one.id].answer if one.id in by_criterion else "judge_failed" for one in criteria]
    failed = tuple(
        one.id for one in criteria if one.critical and one.id in by_criterion and by_criterion[one.id].answer == "fail"
    )
    open_ones = any(one.critical and answer == "judge_failed" for one, answer in zip(criteria, answers, strict=True))
    coverage = sum(answer != "judge_failed" for answer in answers) / len(answers)
    mean = (
        None if coverage < MIN_COVERAGE else weighted_mean({one.domain: one.value for one in domains}, rubric.weights)
    )
    return RubricScore(
        rubric=rubric.name,
        rubric_version=rubric.version,
        value=0.0 if failed else mean,
        before_critical=mean,
        passed=False if failed else None if open_ones or mean is None else True,
        critical_failed=failed,
        domains=domains,
        coverage=coverage,
        eligible=sum(answer in ("pass", "fail") for answer in answers),
        not_eligible=answers.count("not_eligible"),
        judge_failed=answers.count("judge_failed"),
    )


def weighted_mean(values: Mapping[str, float | None], weights: Mapping[str, float]) -> float | None:
    """The mean of domain values by weight, over the domains with a value; None if no domain has one."""
    known = {name: value for name, value in values.items() if value is not None}
    total = math.fsum(weights[name] for name in known)
    return math.fsum(weights[name] * value for name, value in known.items()) / total if known else None


def plain_mean(values: Mapping[str, float | None]) -> float | None:
    """The unweighted mean of domain values; None if no domain has a value."""
    known = [value for value in values.values() if value is not None]
    return math.fsum(known) / len(known) if known else None


def _domains(
    rubric: Rubric, criteria: Iterable[Criterion], by_criterion: Mapping[str, Judgement]
) -> tuple[DomainScore, ...]:
    earned = dict.fromkeys(rubric.weights, 0.0)
    eligible = dict.fromkeys(rubric.weights, 0.0)
    for criterion in criteria:
        answer = by_criterion[criterion.id].answer if criterion.id in by_criterion else None
        if answer in ("pass", "fail"):
            eligible[criterion.domain] += criterion.points
            earned[criterion.domain] += criterion.points if answer == "pass" else 0.0
    total = math.fsum(weight for name, weight in rubric.weights.items() if eligible[name])
    return tuple(
        DomainScore(
            domain=name,
            weight=weight,
            share=weight / total if eligible[name] else 0.0,
            points=earned[name],
            eligible_points=eligible[name],
            value=earned[name] / eligible[name] if eligible[name] else None,
        )
        for name, weight in rubric.weights.items()
    )


# Verdicts of a judge on the rubric `failure_modes` as findings, beside the facts: the step that decided the failure,
# its mode, and as evidence the rationale with the entries of the log that support it. The confidence is the accuracy
# that the judge is certified with. Without a certificate a finding is shown where it is asked for, and is in no table.

FAILURE_MODES: Final = "failure_modes"
UNCERTIFIED: Final = 0.2
"""The confidence of a finding of a judge that is not certified."""


def judged_findings(judgements: Iterable[Judgement], accuracy: Mapping[str, float]) -> tuple[Diagnosis, ...]:
    """One finding for each verdict that names a step.

    `judgements` are those of one trial. `accuracy`: criterion -> the judge's, 0 to 1; one that is missing is not
    certified.
    """
    return tuple(
        Diagnosis(
            failure=one.mode,
            kind="judged",
            origin_step=one.step,
            evidence="; ".join([f"{one.rationale} ({_judge(one, accuracy)})", *one.log]),
            confidence=accuracy.get(one.criterion, UNCERTIFIED),
            version=f"{one.rubric}@{one.rubric_version}",
        )
        for one in judgements
        if one.answer == "fail" and one.mode is not None
    )


def _judge(one: Judgement, accuracy: Mapping[str, float]) -> str:
    return f"judge {one.judge.model}{'' if one.criterion in accuracy else ', not certified'}"


def unjudged(judgements: Iterable[Judgement]) -> dict[str, str]:
    """Criterion -> why it gives neither a finding nor an acquittal: no verdict, or one that names no step."""
    found = {one.criterion: one.failure for one in judgements if one.failure is not None}
    strange = (one.criterion for one in judgements if one.answer == "fail" and one.mode is None)
    return found | {name: f"criterion {name!r} does not ask for a step (kind: step)" for name in strange}


def with_findings(diagnoses: Iterable[Diagnosis], judged: Iterable[Diagnosis]) -> tuple[Diagnosis, ...]:
    """The findings of code and of a judge, by origin step; earlier findings of a judge are left out."""
    return tuple(sorted([*(one for one in diagnoses if one.kind != "judged"), *judged], key=by_origin))
