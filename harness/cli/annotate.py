"""`harness annotate`: opens the app where people answer a judge's questions."""

import shutil
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.cells import chop_cells

from harness.cli.options import open_option, page_port_option
from harness.cli.view import serve_app
from harness.errors import UsageError
from harness.runs.store.folder import run_path
from harness.text import visible

if TYPE_CHECKING:
    from harness.judging.turing import IntentQuestion, PairQuestion, ShownConversation, TuringAnswer, TuringReport


# `harness annotate --turing`: blind pairs of a real and a simulated conversation, answered by keys.

_QUIT = ("q", "\x03", "\x04")
_INDENT = 7
"""Width of a speaker's label, by which all lines of a message are indented."""


def ask_pairs(project: Path, run: str, real: str, annotator: str) -> None:
    """Asks until all questions are answered or `q` is pressed; each answer is written at once."""
    from harness.errors import UsageError
    from harness.judging.annotation import AnnotatorSession
    from harness.judging.turing import TuringFile, conversations_of, pairs_of, questions_of, turing_path
    from harness.runs.measured_trials import suite_of
    from harness.runs.store.folder import RunFolder, run_path

    name = AnnotatorSession.of(annotator).name
    simulated, people = RunFolder.open(run_path(project, run)), RunFolder.open(run_path(project, real))
    suite = suite_of(project, simulated)
    plans = {case.id: case.conversation.plan or "" for case in suite.cases if case.conversation is not None}
    pairs = pairs_of(
        conversations_of(real, (one.trial for one in people.trials()), {}),
        conversations_of(run, (one.trial for one in simulated.trials()), plans),
    )
    if not pairs:
        raise UsageError(
            f"no conversation of {run!r} can be paired with one of {real!r}",
            remedy="both runs need conversations with at least two messages of the user; `harness import` makes a run "
            "of recorded conversations",
        )
    file = TuringFile(turing_path(project, suite.name))
    questions = questions_of(pairs, file.answers()[0], name)
    for number, question in enumerate(questions, start=1):
        answer = _asked(question, f"{number} of {len(questions)}", name)
        if answer is None:
            break
        file.append(answer)
    left = len(questions_of(pairs, file.answers()[0], name))
    click.echo(f"{left} questions are left for {name}; run the same command to continue", err=True)


def lines_of(report: "TuringReport") -> list[str]:
    """The report as text."""
    rate = "-" if report.pass_rate is None else f"{100 * report.pass_rate:.0f} %"
    within = "" if report.interval is None else f" [{100 * report.interval.low:.0f}, {100 * report.interval.high:.0f}]"
    lines = [
        f"taken for a person: {rate}{within} of {report.pairs} pairs "
        f"({report.passed} passed, {report.unsure} could not be determined; 50 % is chance)"
    ]
    lines += [f"intent consistency by {rater}: {mean:.1f} of 5" for rater, mean in report.intent.items()]
    for one in (*report.people, *report.judge):
        kappa = "undefined" if one.kappa is None else f"{one.kappa:.2f}"
        same = "-" if one.same is None else f"{100 * one.same:.0f} %"
        near = "-" if one.within_one is None else f"{100 * one.within_one:.0f} %"
        lines.append(
            f"{one.raters[0]} and {one.raters[1]}: {one.conversations} conversations, equal {same}, within one {near}, "
            f"weighted kappa {kappa}"
        )
    return lines + [f"omitted: {one}" for one in report.left_out]


def _asked(question: "PairQuestion | IntentQuestion", place: str, annotator: str) -> "TuringAnswer | None":
    """The answer; None if the annotator stops here."""
    from harness.judging.turing import SCALE, PairQuestion

    click.echo(f"\n=== {place}")
    if isinstance(question, PairQuestion):
        for letter, shown in zip("AB", question.shown, strict=True):
            click.echo(f"\n--- conversation {letter}\n{shown_text(shown)}")
        keys = "which user is a person? a, b, u (cannot be determined), q (continue later)"
    else:
        plan = _message("", question.conversation.plan)
        click.echo(f"\n--- the plan\n{plan}\n\n--- the conversation\n{shown_text(question.conversation)}")
        points = ", ".join(f"{point} {words}" for point, words in SCALE.items())
        keys = f"how well does the user follow the plan? {points}; q (continue later)"
    while True:
        click.echo(f"\n{keys}")
        key = click.getchar().lower()
        if key in _QUIT:
            return None
        answer = question.answer(key, annotator)
        if answer is not None:
            return answer


def shown_text(shown: "ShownConversation", width: int | None = None) -> str:
    """A conversation for the terminal: only a speaker's label begins in the first column.

    `width`: columns of the terminal; None: detected. Lines are wrapped here, because a line that the terminal wraps
    continues in the first column, where a message could imitate a label or a heading.
    """
    spoken = [("user:", user) for user, _ in shown.turns]
    replied = [("agent:", agent) for _, agent in shown.turns]
    in_turn = [one for turn in zip(spoken, replied, strict=True) for one in turn]
    return "\n\n".join(_message(label, text, width) for label, text in in_turn if text)


def _message(label: str, text: str, width: int | None = None) -> str:
    columns = max(_INDENT + 1, width or shutil.get_terminal_size().columns)
    lines = [
        part
        for line in visible(text).expandtabs().split("\n")
        for words in textwrap.wrap(line, columns - _INDENT - 1) or [""]
        for part in chop_cells(words, columns - _INDENT - 1) or [""]
    ]
    return "\n".join((label if number == 0 else "").ljust(_INDENT) + line for number, line in enumerate(lines))


@click.command("annotate")
@click.argument("run")
@click.option("--rubric", metavar="NAME", help="Name of a rubric of the suite or of a template.")
@click.option(
    "--turing",
    metavar="REAL",
    help="Compare with the conversations of people in the run REAL, pair by pair, in the terminal.",
)
@click.option("--as", "name", metavar="NAME", help="Name of the person who answers.")
@page_port_option
@open_option
@click.pass_obj
def command(
    project: Path, /, run: str, rubric: str | None, turing: str | None, name: str | None, port: int, opens: bool
) -> None:
    """Label the stored RUN by a rubric, in the app of `harness view`.

    \b
    harness annotate tour-v2
    harness annotate tour-v2 --rubric counter --as ann
    harness annotate talks-v2 --turing people --as ann

    The app shows one criterion at a time with the evidence that a judge receives, and hides the answers of judges and
    of other annotators. Each answer is written at once to suites/<suite>/labels/<rubric>.jsonl; the same command
    continues an interrupted session. Without --rubric and --as, the app asks for them; there one also chooses to decide
    the questions that two people answered differently. Ctrl-C ends the app.

    With --turing: RUN's conversations with simulated users are shown next to conversations of people, without their
    source, and rated by keys; then each simulated user is rated from 1 to 5 for how well it followed its plan. `harness
    simulator turing` prints the figures.
    """
    if turing is None:
        serve_app(project, port, opens=opens, start=_page(project, run, rubric, name))
        return
    if name is None or rubric is not None:
        raise UsageError("--turing needs --as NAME and takes no --rubric")
    ask_pairs(project, run, turing, name)


def _page(project: Path, run: str, rubric: str | None, name: str | None) -> str:
    """The page's address in the app. Raises UsageError for a run, rubric or name that the page would refuse."""
    from harness.judging.annotation import AnnotatorSession
    from harness.judging.rubrics import rubric_names
    from harness.reports.pages.markup import path_of
    from harness.runs.measured_trials import suite_of
    from harness.runs.store.folder import RunFolder

    folder = RunFolder.open(run_path(project, run))
    run = folder.manifest.run
    if rubric is None:
        if name is not None:
            raise UsageError("--as is given without --rubric", remedy="give both, or choose both in the app")
        return path_of("annotate", run=run)
    known = rubric_names(suite_of(project, folder).folder)
    if rubric not in known:
        raise UsageError(f"there is no rubric {rubric[:100]!r}", remedy=f"one of: {', '.join(known)}")
    if name is None:
        return path_of("annotate", run=run, rubric=rubric)
    return path_of("annotate", run, rubric, **{"as": AnnotatorSession.of(name).name})
