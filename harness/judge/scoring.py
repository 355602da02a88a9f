"""Computes points from judgements: binary answers, weighted over the eligible criteria.

A domain's value is the points that passed over the points that were eligible and judged: points of ineligible criteria
are thereby spread over the others of their domain. A domain in which nothing was eligible gives its weight to the
others in proportion to theirs. A criterion whose judge failed is removed from both sums and lowers the coverage: it
never counts as a fail. Below the rubric's `min_coverage` there is no score, because the remaining criteria may be the
easy ones.
"""

import math
from collections.abc import Collection, Iterable, Mapping

from harness.judge.judgement import Judgement
from harness.judge.rubric import Criterion, Rubric
from harness.values import Frozen


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
    """From 0 to 1, weighted over the domains; None: nothing was eligible and judged, or the coverage is below the
    rubric's floor."""
    passed: bool | None
    """False where a critical criterion failed; None where one of them could not be judged, or nothing was."""
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
    value = (
        None
        if coverage < rubric.min_coverage
        else weighted_mean({one.domain: one.value for one in domains}, rubric.weights)
    )
    return RubricScore(
        rubric=rubric.name,
        rubric_version=rubric.version,
        value=value,
        passed=False if failed else None if open_ones or value is None else True,
        critical_failed=failed,
        domains=domains,
        coverage=coverage,
        eligible=sum(answer in ("pass", "fail") for answer in answers),
        not_eligible=answers.count("not_eligible"),
        judge_failed=answers.count("judge_failed"),
    )


def weighted_mean(values: Mapping[str, float | None], weights: Mapping[str, float]) -> float | None:
    """The mean of domain values by weight, over the domains with a value; None where no domain has one."""
    known = {name: value for name, value in values.items() if value is not None}
    total = math.fsum(weights[name] for name in known)
    return math.fsum(weights[name] * value for name, value in known.items()) / total if known else None


def plain_mean(values: Mapping[str, float | None], *, without: Collection[str] = ()) -> float | None:
    """The unweighted mean of domain values, without the given domains; None where no domain has a value."""
    known = [value for name, value in values.items() if value is not None and name not in without]
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
