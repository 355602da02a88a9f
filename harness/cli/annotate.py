"""`harness annotate`: people answer a judge's questions."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.results import run_path

if TYPE_CHECKING:
    from harness.judge import AnnotationQueue, Rubric, Work


@click.command("annotate")
@click.argument("run")
@click.option("--rubric", "rubric_name", required=True, metavar="NAME", help="A suite's rubric, a template, or a file.")
@click.option("--as", "name", required=True, metavar="NAME", help="Whose answers they are.")
@click.option("--adjudicate", is_flag=True, help="Decide what two people answered differently.")
@click.option(
    "--per-item", type=click.IntRange(1, 20), default=2, show_default=True, help="People who answer each question."
)
@click.option("--case", "cases", multiple=True, metavar="ID", help="Only this case (repeatable).")
@click.option("--criterion", "criteria", multiple=True, metavar="ID", help="Only this criterion (repeatable).")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="a free one",
    help="Port of the page, on this machine alone.",
)
@click.pass_obj
def command(project: Path, /, run: str, rubric_name: str, cases: Sequence[str], **options: Any) -> None:
    """Label the stored RUN by a rubric, on a page that this machine alone can open.

    \b
    harness annotate tour-v2 --rubric counter --as ann
    harness annotate tour-v2 --rubric counter --as ben --criterion order_complete
    harness annotate tour-v2 --rubric counter --as cem --adjudicate

    One criterion at a time, with the evidence that a judge would see, blind to what judges and others said. Each answer
    is written at once to suites/<suite>/labels/<rubric>.jsonl; the same command goes on where it was left. It ends by
    the page's Finish, or by Ctrl-C.
    """
    from harness.judge import load_rubric, work_of
    from harness.pipeline import suite_of
    from harness.pipeline.subjects import subjects
    from harness.results import RunFolder

    folder = RunFolder.open(run_path(project, run))
    suite = suite_of(project, folder)
    rubric = load_rubric(rubric_name, suite.folder)
    work = list(work_of(subjects(folder, suite, cases), rubric))
    wanted = _only(work, rubric, options["criteria"])
    role = "adjudicator" if options["adjudicate"] else "annotator"
    serve(desk_of(project, suite.name, rubric, wanted, (options["name"], role, options["per_item"])), options["port"])


def desk_of(
    project: Path, suite: str, rubric: "Rubric", work: "Sequence[Work]", annotator: tuple[str, Any, int]
) -> "AnnotationQueue":
    """The queue of one annotator: name, role and people per item."""
    from harness.judge import AnnotationQueue, AnnotatorSession, LabelFile, label_path

    return AnnotationQueue(
        rubric, LabelFile(label_path(project, suite, rubric.name)), AnnotatorSession.of(*annotator), work
    )


def serve(queue: "AnnotationQueue", port: int) -> None:
    """Serves until the page is done, or Ctrl-C; both are a good end."""
    from harness.judge import AnnotationServer

    with AnnotationServer(queue, port) as server:
        click.echo(server.url)
        click.echo("open this address in a browser; Ctrl-C ends, and nothing is lost", err=True)
        try:
            while not server.finished.wait(0.5):
                pass
        except KeyboardInterrupt:
            pass
    places = queue.places()
    done = sum(place.answer is not None for place in places)
    click.echo(f"{done} of {len(places)} questions are answered by {queue.annotator.name}", err=True)


def _only(work: "Sequence[Work]", rubric: "Rubric", criteria: Sequence[str]) -> "list[Work]":
    from harness.errors import UsageError

    unknown = sorted(one for one in criteria if rubric.criterion(one) is None)
    if unknown:
        raise UsageError(
            f"rubric {rubric.name!r} has no criterion {', '.join(unknown)}",
            remedy=f"its own: {', '.join(one.id for one in rubric.criteria)}",
        )
    return [
        one for one in work if not criteria or rubric.criterion(one.criterion.id) in map(rubric.criterion, criteria)
    ]
