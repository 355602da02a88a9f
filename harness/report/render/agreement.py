"""The agreement of a judge with people as tables: eligibility, verdicts, and disagreements."""

from collections.abc import Iterable, Iterator

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from harness.judge import AgreementReport, AgreementRow
from harness.report.render.section import Section
from harness.report.render.terminal_tables import section_table
from harness.report.render.wording import UNKNOWN, number, percent, percent_between, printable, signed_points
from harness.stats import BinaryAgreement

_HEADS = ("criterion", "n", "agree", "95 %", "constant", "kappa", "alpha", "TPR", "TNR", "shift")
_NOTES = (
    "agree: share of correct verdicts; constant: the share of always giving the more frequent answer, which a judge"
    " must beat",
    "TPR, TNR: share of true passes and of true failures that the judge finds; shift: how much more often it passes",
)
_MOST = 20


class AgreementView:
    """Print it with a rich Console."""

    def __init__(self, report: AgreementReport) -> None:
        self._report = report

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Renders two tables, the disagreements, and the omitted items."""
        del console, options
        for section in agreement_sections(self._report):
            yield from section_table(section)
        yield ""
        for line in _disagreements(self._report):
            yield Text(line)


def agreement_sections(report: AgreementReport) -> tuple[Section, ...]:
    """The sections with content."""
    rows = (report.overall, *report.domains, *report.criteria)
    eligible = [(row.name, row.eligibility) for row in rows]
    verdicts = [(row.name, row.verdict) for row in rows]
    asked = f"{report.rubric} against {report.against}"
    found = (
        _section(f"verdict: {asked}", verdicts, (*_NOTES, *_counts(report))),
        _section(f"does it apply: {asked}", eligible, ()) if _has_eligibility(report) else None,
        _people(rows),
    )
    return tuple(section for section in found if section is not None and section.rows)


def _has_eligibility(report: AgreementReport) -> bool:
    """Whether any item was not eligible; otherwise the table is omitted."""
    rates = (report.overall.eligibility.right_rate, report.overall.eligibility.judged_rate)
    return any(rate is not None and rate < 1 for rate in rates)


def _section(title: str, rows: Iterable[tuple[str, BinaryAgreement]], notes: tuple[str, ...]) -> Section:
    shown = tuple(_row(name, one) for name, one in rows if one.agreement.n)
    return Section(title=title, heads=_HEADS, rows=shown, notes=notes)


def _row(name: str, one: BinaryAgreement) -> tuple[str, ...]:
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
    )


def _people(rows: Iterable[AgreementRow]) -> Section:
    """The agreement of people with each other on questions that two of them answered."""
    shown = []
    for row in rows:
        if row.people is None:
            continue
        for question, one in (("verdict", row.people.verdict), ("applies", row.people.eligibility)):
            if one.items:
                shown.append(
                    (row.name, question, str(one.items), percent(one.agreement), number(one.kappa), number(one.alpha))
                )
    notes = ("the agreement between people is an upper bound for a judge",)
    heads = ("criterion", "question", "items", "agree", "kappa", "alpha")
    return Section(title="people with each other", heads=heads, rows=tuple(shown), notes=notes)


def _counts(report: AgreementReport) -> Iterator[str]:
    row = report.overall
    yield f"judge: {', '.join(report.judges) or 'none'}; !: does not beat the constant answer"
    if row.judge_failed or row.without_right:
        yield f"not counted: {row.judge_failed} failed judgements, {row.without_right} without a counterpart"
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
        yield f"  {one.criterion}: right {right}, judged {judged}; harness transcript {one.run} {one.case_id}{attempt}"
        yield f"    judge: {printable(one.rationale, 160) or UNKNOWN}"
        if one.notes:
            yield f"    {printable('; '.join(one.notes), 160)}"
