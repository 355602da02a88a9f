"""Judgements as a table: domains, then criteria."""

from harness.judge import JudgeIdentity
from harness.report.figures.judged_figures import CriterionFigures, JudgedRubric
from harness.report.render.section import Section
from harness.report.render.wording import UNKNOWN, percent, percent_between

_HEADS = ("rate", "pass", "fail", "n/a", "no answer", "points", "")


def judged_section(judged: JudgedRubric) -> Section:
    """The rubric's criteria under their domains."""
    rows: list[tuple[str, ...]] = []
    for domain in judged.domains:
        blanks = ("",) * 4
        rows.append((domain.domain, percent(domain.mean), *blanks, f"weight {domain.weight:g}", ""))
        rows += [_row(one) for one in judged.criteria if one.domain == domain.domain]
    return Section(
        title=f"judged by {judged.rubric}", heads=("criterion", *_HEADS), rows=tuple(rows), notes=tuple(_notes(judged))
    )


def _row(one: CriterionFigures) -> tuple[str, ...]:
    marks = [word for word, holds in (("critical", one.critical), ("uncal.", one.uncalibrated)) if holds]
    counts = (one.passed, one.failed, one.not_eligible, one.judge_failed)
    shown = (str(count or UNKNOWN) for count in counts)
    return (f"  {one.criterion}", percent(one.rate), *shown, f"{one.points:g}", ", ".join(marks))


def _notes(judged: JudgedRubric) -> list[str]:
    score = _score(judged)
    passed = f"no critical failure in {percent(judged.pass_rate)} {percent_between(judged.pass_interval)}".rstrip()
    notes = [f"{score}; {passed}; {judged.trials} trials, coverage {percent(judged.coverage)}"]
    if judged.below_floor and judged.mean is not None:
        notes.append(
            f"{judged.below_floor} of {judged.trials} trials have no score: fewer than {percent(judged.min_coverage)} "
            "of their criteria were answered"
        )
    notes += [f"judge: {judge_words(judge)}" for judge in judged.judges]
    if any(one.uncalibrated for one in judged.criteria):
        notes.append(
            "uncal.: uncalibrated; this judge was not compared with people's labels there; see harness judge calibrate"
        )
    return notes


def _score(judged: JudgedRubric) -> str:
    if judged.mean is not None:
        return f"score {percent(judged.mean)} {percent_between(judged.interval)}".rstrip()
    if judged.below_floor:
        return (
            f"score unknown: coverage {percent(judged.coverage)} is below the floor of {percent(judged.min_coverage)}"
        )
    return "score unknown"


def judge_words(judge: JudgeIdentity) -> str:
    """A judge in a line."""
    prompt = "" if judge.prompt is None else f", prompt {judge.prompt}@{judge.prompt_version}"
    return f"{judge.model}{prompt}" + (f", majority of {judge.samples}" if judge.samples > 1 else "")
