"""`harness annotate`: people answer a judge's questions."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import click

from harness.cli.options import page_port_option
from harness.cli.turing import ask_pairs
from harness.errors import UsageError
from harness.results import run_path

if TYPE_CHECKING:
    from harness.judge import AnnotationQueue, AnnotationTask, Rubric


Role = Literal["annotator", "adjudicator"]


class Options(TypedDict):
    """The options of `harness annotate`."""

    name: str
    adjudicate: bool
    per_item: int
    criteria: tuple[str, ...]
    port: int
    turing: str | None


@click.command("annotate")
@click.argument("run")
@click.option(
    "--rubric", "rubric_name", metavar="NAME", help="Name of a rubric of the suite or of a template, or a file."
)
@click.option(
    "--turing",
    metavar="REAL",
    help="Compare with the conversations of people in the run REAL, pair by pair, in the terminal.",
)
@click.option("--as", "name", required=True, metavar="NAME", help="Name of the person who answers.")
@click.option("--adjudicate", is_flag=True, help="Decide the questions that two people answered differently.")
@click.option(
    "--per-item",
    type=click.IntRange(1, 20),
    default=2,
    show_default=True,
    help="Number of people who answer each question.",
)
@click.option("--case", "cases", multiple=True, metavar="ID", help="Only this case (repeatable).")
@click.option("--criterion", "criteria", multiple=True, metavar="ID", help="Only this criterion (repeatable).")
@page_port_option
@click.pass_obj
def command(
    project: Path, /, run: str, rubric_name: str | None, cases: Sequence[str], **options: Unpack[Options]
) -> None:
    """Label the stored RUN by a rubric, on a page that this machine alone can open.

    \b
    harness annotate tour-v2 --rubric counter --as ann
    harness annotate tour-v2 --rubric counter --as ben --criterion order_complete
    harness annotate tour-v2 --rubric counter --as cem --adjudicate
    harness annotate talks-v2 --turing people --as ann

    The page shows one criterion at a time with the evidence that a judge receives, and hides the answers of judges and
    of other annotators. Each answer is written at once to suites/<suite>/labels/<rubric>.jsonl; the same command
    continues an interrupted session. The button Finish or Ctrl-C ends it.

    With --turing: RUN's conversations with simulated users are shown next to conversations of people, without their
    source, and rated by keys; then each simulated user is rated from 1 to 5 for how well it followed its plan. `harness
    simulator turing` prints the figures.
    """
    if options["turing"] is not None:
        ask_pairs(project, run, options["turing"], options["name"])
        return
    if rubric_name is None:
        raise UsageError("no rubric is given", remedy="--rubric NAME, or --turing REAL for pairs of conversations")
    from harness.judge import load_rubric, work_of
    from harness.pipeline import suite_of
    from harness.pipeline.judge.subjects import subjects
    from harness.results import RunFolder

    folder = RunFolder.open(run_path(project, run))
    suite = suite_of(project, folder)
    rubric = load_rubric(rubric_name, suite.folder).with_violations(suite.cases)
    work = list(work_of(subjects(folder, suite, cases, rubric), rubric))
    wanted = _only(work, rubric, options["criteria"])
    role: Role = "adjudicator" if options["adjudicate"] else "annotator"
    serve(desk_of(project, suite.name, rubric, wanted, (options["name"], role, options["per_item"])), options["port"])


def desk_of(
    project: Path, suite: str, rubric: "Rubric", work: "Sequence[AnnotationTask]", annotator: tuple[str, Role, int]
) -> "AnnotationQueue":
    """The queue of one annotator: name, role and people per item."""
    from harness.judge import AnnotationQueue, AnnotatorSession, LabelFile, label_path

    return AnnotationQueue(
        rubric, LabelFile(label_path(project, suite, rubric.name)), AnnotatorSession.of(*annotator), work
    )


def serve(queue: "AnnotationQueue", port: int) -> None:
    """Serves until the annotator finishes or presses Ctrl-C; neither is an error."""
    from harness.judge import AnnotationServer

    with AnnotationServer(queue, port) as server:
        click.echo(server.url)
        click.echo("open this address in a browser; Ctrl-C stops the server, answers are already saved", err=True)
        try:
            while not server.finished.wait(0.5):
                pass
        except KeyboardInterrupt:
            pass
    places = queue.places()
    done = sum(place.answer is not None for place in places)
    click.echo(f"{done} of {len(places)} questions are answered by {queue.annotator.name}", err=True)


def _only(work: "Sequence[AnnotationTask]", rubric: "Rubric", criteria: Sequence[str]) -> "list[AnnotationTask]":
    unknown = sorted(one for one in criteria if rubric.criterion(one) is None)
    if unknown:
        raise UsageError(
            f"rubric {rubric.name!r} has no criterion {', '.join(unknown)}",
            remedy=f"criteria of the rubric: {', '.join(one.id for one in rubric.criteria)}",
        )
    return [
        one for one in work if not criteria or rubric.criterion(one.criterion.id) in map(rubric.criterion, criteria)
    ]
