"""A judge beside people as tables: whether it applies, whether it holds, and what they disagree about."""

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderResult

from harness.judge.agreement import AgreementReport, AgreementRow, BinaryAgreement, PeopleAgreement
from harness.report.render.section import Section
from harness.report.render.terminal import section_table
from harness.report.render.wording import UNKNOWN, number, percent, percent_between, printable, signed_points

_HEADS = ("criterion", "n", "agree", "95 %", "constant", "kappa", "alpha", "TPR", "TNR", "shift", "people")
_NOTES = (
    "agree: with what is right; constant: of always giving the more frequent right answer, which a judge must beat",
    "TPR, TNR: what should pass and was passed, what should fail and was failed; shift: how much more often it passes",
    "people: how often two people agree; no judge can be asked for more",
)
_MOST = 20


class AgreementView:
    """Print it with a rich Console."""

    def __init__(self, report: AgreementReport) -> None:
        self._report = report

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Two tables, the disagreements and what was left out."""
        del console, options
        for section in agreement_sections(self._report):
            yield from section_table(section)


def agreement_sections(report: AgreementReport) -> tuple[Section, ...]:
    """Those that have something to show."""
    rows = [("", report.overall), *((row.name, row) for row in report.domains), *_criteria(report)]
    eligible = [(row.name, row.eligibility, row.people.eligibility if row.people else None) for _, row in rows]
    verdicts = [(row.name, row.verdict, row.people.verdict if row.people else None) for _, row in rows]
    asked = f"{report.rubric} against {report.against}"
    found = (
        _section(f"verdict: {asked}", verdicts, (*_NOTES, *_counts(report))),
        _section(f"does it apply: {asked}", eligible, ()) if _told_apart(report) else None,
        _disagreements(report),
    )
    return tuple(section for section in found if section is not None and section.rows)


def _criteria(report: AgreementReport) -> Iterator[tuple[str, AgreementRow]]:
    return ((row.name, row) for row in report.criteria)


def _told_apart(report: AgreementReport) -> bool:
    """Whether anything was ever not eligible: else there is nothing to see."""
    rates = (report.overall.eligibility.right_rate, report.overall.eligibility.judged_rate)
    return any(rate is not None and rate < 1 for rate in rates)


def _section(
    title: str, rows: list[tuple[str, BinaryAgreement, PeopleAgreement | None]], notes: tuple[str, ...]
) -> Section:
    shown = tuple(_row(name, one, people) for name, one, people in rows if one.agreement.n)
    return Section(title=title, heads=_HEADS, rows=shown, notes=notes)


def _row(name: str, one: BinaryAgreement, people: PeopleAgreement | None) -> tuple[str, ...]:
    ceiling = UNKNOWN if people is None or not people.items else f"{percent(people.agreement)} of {people.items}"
    return (
        name,
        str(one.agreement.n),
        percent(one.agreement.value) + ("" if one.beats_constant or one.agreement.value == 1 else " !"),
        percent_between(one.agreement.interval),
        percent(one.constant),
        number(one.kappa),
        number(one.alpha),
        percent(one.true_positive.value),
        percent(one.true_negative.value),
        signed_points(one.shift),
        ceiling,
    )


def _counts(report: AgreementReport) -> Iterator[str]:
    row = report.overall
    yield f"judge: {', '.join(report.judges) or 'nobody'}; !: does not beat the constant answer"
    if row.judge_failed or row.without_right:
        yield f"in no figure: {row.judge_failed} judgements failed, {row.without_right} have nothing to compare with"
    if row.verdict.corrected_rate is not None and report.against == "labels":
        judge, corrected = percent(row.verdict.judged_rate), percent(row.verdict.corrected_rate)
        people = percent(row.verdict.right_rate)
        yield f"pass rate: {judge} by the judge, {corrected} less its own errors, {people} by people"
    yield from (f"left out: {problem}" for problem in report.left_out)


def _disagreements(report: AgreementReport) -> Section:
    rows = tuple(
        (
            f"{one.case_id} {one.attempt}",
            one.criterion,
            one.right.replace("_", " "),
            one.judged.replace("_", " "),
            printable(one.rationale, 90),
            printable("; ".join(one.notes), 60),
        )
        for one in report.disagreements[:_MOST]
    )
    more = len(report.disagreements) - len(rows)
    runs = sorted({one.run for one in report.disagreements})
    notes = [f"see one: harness transcript {run} CASE; harness explain {run} CASE" for run in runs]
    notes += [f"and {more} more: --json"] if more > 0 else []
    heads = ("case, attempt", "criterion", "right", "judged", "judge's reason", "people's notes")
    return Section(title=f"{len(report.disagreements)} disagreements", heads=heads, rows=rows, notes=tuple(notes))
