"""Judgements, agreement and calibration as tables."""

from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.text import Text

from harness.judging.agreement import AgreementReport, AgreementRow
from harness.judging.calibration import Calibrated, Measured
from harness.judging.calibration_questions import AgreementFigures
from harness.reports.judged_figures import JudgedRubric
from harness.reports.render.sections import Section, judged_section
from harness.reports.render.terminal import section_table, view
from harness.reports.render.wording import printable
from harness.reports.units import UNKNOWN, chance, number, percent, percent_between, signed_points
from harness.scoring.statistics.agreement import BinaryAgreement

# The agreement of a judge with people as tables: eligibility, verdicts, and disagreements.

_AGREEMENT_COLUMNS = ("criterion", "n", "agree", "95 %", "always the same", "kappa", "TPR", "TNR", "shift")
_AGREEMENT_NOTES = (
    "agree: share of correct verdicts; always the same: the share that the more frequent answer alone has, which a"
    " judge must beat",
    "TPR, TNR: share of true passes and of true failures that the judge finds; shift: how much more often it passes",
)
_MOST = 20


@view
def agreement_view(report: AgreementReport) -> Iterator[RenderableType]:
    """Renders two tables, the disagreements, and the omitted items."""
    for section in agreement_sections(report):
        yield from section_table(section)
    yield ""
    for line in _disagreements(report):
        yield Text(line)


def agreement_sections(report: AgreementReport) -> tuple[Section, ...]:
    """The sections with content."""
    rows = (report.overall, *report.domains, *report.criteria)
    eligible = [(row.name, row.eligibility) for row in rows]
    verdicts = [(row.name, row.verdict) for row in rows]
    asked = f"{report.rubric} against {report.against}"
    found = (
        _section(f"verdict: {asked}", verdicts, (*_AGREEMENT_NOTES, *_counts(report))),
        _section(f"does it apply: {asked}", eligible, ()) if _has_eligibility(report) else None,
        _people(rows),
    )
    return tuple(section for section in found if section is not None and section.rows)


def _has_eligibility(report: AgreementReport) -> bool:
    """Whether any item was not eligible; otherwise the table is omitted."""
    rates = (report.overall.eligibility.right_rate, report.overall.eligibility.judged_rate)
    return any(rate is not None and rate < 1 for rate in rates)


def _section(title: str, rows: Iterable[tuple[str, BinaryAgreement]], notes: tuple[str, ...]) -> Section:
    shown = tuple(_agreement_row(name, one) for name, one in rows if one.agreement.n)
    return Section(title=title, heads=_AGREEMENT_COLUMNS, rows=shown, notes=notes)


def _agreement_row(name: str, one: BinaryAgreement) -> tuple[str, ...]:
    return (
        name,
        str(one.agreement.n),
        percent(one.agreement.value) + ("" if one.beats_constant or one.agreement.value == 1 else " !"),
        percent_between(one.agreement.interval),
        percent(one.constant),
        number(one.kappa),
        percent(one.true_positive.value),
        percent(one.true_negative.value),
        signed_points(one.shift),
    )


def _people(rows: Iterable[AgreementRow]) -> Section:
    """The agreement of people with each other on questions that two of them answered."""
    shown = []
    for row in rows:
        if row.people is None:
            continue
        for question, one in (("verdict", row.people.verdict), ("applies", row.people.eligibility)):
            if one.items:
                shown.append((row.name, question, str(one.items), percent(one.agreement), number(one.kappa)))
    notes = ("the agreement between people is an upper bound for a judge",)
    heads = ("criterion", "question", "items", "agree", "kappa")
    return Section(title="people with each other", heads=heads, rows=tuple(shown), notes=notes)


def _counts(report: AgreementReport) -> Iterator[str]:
    row = report.overall
    yield f"judge: {', '.join(report.judges) or 'none'}; !: does not beat always the same answer"
    if row.judge_failed or row.without_right:
        share = percent(row.judge_failed / row.judgements)
        yield f"not counted: {row.judge_failed} failed judgements ({share}), {row.without_right} without a counterpart"
    if report.against == "labels":
        yield f"pass rate: {percent(row.verdict.judged_rate)} by the judge, {percent(row.verdict.right_rate)} by people"
    yield from (f"omitted: {problem}" for problem in report.left_out)


def _disagreements(report: AgreementReport) -> Iterator[str]:
    """The disagreements with the reasons of both sides, and the command that shows the evidence."""
    count = len(report.disagreements)
    yield f"{count} disagreements" + (f", the first {_MOST} of them (all: --json)" if count > _MOST else "")
    for one in report.disagreements[:_MOST]:
        attempt = "" if one.attempt == 1 else f" --attempt {one.attempt}"
        right, judged = one.right.replace("_", " "), one.judged.replace("_", " ")
        command = f"harness explain {one.run} {one.case_id} --transcript everything{attempt}"
        yield f"  {one.criterion}: right {right}, judged {judged}; {command}"
        yield f"    judge: {printable(one.rationale, 160) or UNKNOWN}"
        if one.notes:
            yield f"    {printable('; '.join(one.notes), 160)}"


# The results of a calibration, as tables.

_CALIBRATION_COLUMNS = ("part", "prompt", "n", "agree", "kappa", "TPR", "TNR", "false passes", "critical", "no answer")


@view
def calibration_view(done: Calibrated) -> Iterator[RenderableType]:
    """The figures of validation and held-out cases, and of the held-out ones by domain, before and after."""
    outcome = done.outcome
    rows = (*_rows("validation", outcome.validation, done), *_rows("held-out", outcome.held_out, done))
    title = f"calibration of {done.prompt} with {done.model}"
    yield from section_table(Section(title=title, heads=_CALIBRATION_COLUMNS, rows=rows, notes=tuple(_notes(done))))


def _rows(part: str, measured: Measured, done: Calibrated) -> Iterator[tuple[str, ...]]:
    yield _calibration_row(part, done.before, measured.before)
    if measured.after is not None:
        yield _calibration_row(part, done.after or "candidate", measured.after)


def _calibration_row(part: str, version: str, one: AgreementFigures) -> tuple[str, ...]:
    counts = (one.false_passes, one.critical_false_passes, one.judge_failed)
    rates = (one.verdict.true_positive.value, one.verdict.true_negative.value)
    return (
        part,
        version,
        str(one.questions),
        percent(one.agreement),
        number(one.kappa),
        *(percent(rate) for rate in rates),
        *(str(count or UNKNOWN) for count in counts),
    )


def _notes(done: Calibrated) -> Iterator[str]:
    outcome = done.outcome
    cases, questions = outcome.cases, outcome.questions
    yield (
        f"{done.labels} labels by {', '.join(done.annotators)}; cases for training, validation and held out:"
        f" {cases[0]}, {cases[1]}, {cases[2]} ({questions[0]}, {questions[1]}, {questions[2]} questions)"
    )
    yield f"{outcome.candidates} candidates, {len(outcome.choice.vetoed)} vetoed; {outcome.choice.why}"
    for name, (before, after) in outcome.held_out.domains.items():
        yield f"held-out {name}: {percent(before)}" + ("" if after is None else f" -> {percent(after)}")
    if done.after is not None:
        yield f"accepted: prompts/{done.prompt}/{done.after}.md, label candidate; p {_p(done)} on held-out cases"
        yield _next(done)
    else:
        yield f"no better prompt found: {outcome.why}; version {done.before} stays in use"
    yield from (f"omitted: {problem}" for problem in done.left_out)
    yield f"{outcome.calls} questions were asked, the others were cached"


def _p(done: Calibrated) -> str:
    return chance(done.outcome.held_out.p)


def _next(done: Calibrated) -> str:
    """The next step for an accepted prompt; one that passes critical failures is not recommended for production."""
    after = [one.after for one in (done.outcome.validation, done.outcome.held_out) if one.after is not None]
    left = sum(one.critical_false_passes for one in after)
    if left:
        return (
            f"not for production: the judge still passes {left} critical failure(s); label more such cases and"
            " calibrate again, or"
            " let people decide these criteria"
        )
    return f"use it: harness judge prompts {done.prompt}@{done.after} --label production"


# Judgements for a terminal.


@view
def judged_view(judged: JudgedRubric) -> Iterator[RenderableType]:
    """One table and its notes."""
    yield from section_table(judged_section(judged))
