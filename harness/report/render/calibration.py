"""The results of a calibration, as tables."""

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderResult

from harness.judge import AgreementFigures, Calibrated, Measured
from harness.report.render.section import Section
from harness.report.render.terminal_tables import section_table
from harness.report.render.wording import UNKNOWN, number, percent

_HEADS = ("part", "prompt", "n", "agree", "kappa", "TPR", "TNR", "false passes", "critical", "no answer")
_MOST = 20


class _View:
    """Print it with a rich Console."""

    def __init__(self, section: Section) -> None:
        self._section = section

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Renders the table, or its title and notes where it has no rows."""
        del console, options
        if self._section.rows:
            yield from section_table(self._section)
        else:
            yield self._section.title
            yield from self._section.notes


class CalibrationView(_View):
    """The figures of validation and held-out cases, before and after."""

    def __init__(self, done: Calibrated) -> None:
        outcome = done.outcome
        rows = [
            *_rows("validation", outcome.validation, done),
            *_rows("held-out", outcome.held_out, done),
        ]
        title = f"{outcome.way} of {done.prompt} with {done.model}"
        super().__init__(Section(title=title, heads=_HEADS, rows=tuple(rows), notes=tuple(_notes(done))))


def _rows(part: str, measured: Measured, done: Calibrated) -> Iterator[tuple[str, ...]]:
    yield _row(part, done.before, measured.before)
    if measured.after is not None:
        yield _row(part, done.after or UNKNOWN, measured.after)


def _row(part: str, version: str, one: AgreementFigures) -> tuple[str, ...]:
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
    if done.after is not None:
        p = "" if outcome.held_out.p is None else f" (p {outcome.held_out.p:.2g})"
        yield f"accepted: prompts/{done.prompt}/{done.after}.md, label candidate; on held-out cases see above{p}"
        yield _next(done)
    else:
        yield f"no revision was accepted: version {done.before} stays in use"
    if done.held_out_seen_before:
        yield f"the held-out cases were used {done.held_out_seen_before} times before: label new cases to be sure"
    yield from (f"omitted: {problem}" for problem in done.left_out)
    yield f"{outcome.calls} questions were asked, the others were cached"


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
    return f"use it: harness judge prompt label {done.prompt} production {done.after}"
