"""`harness annotate`: opens the app where people answer a judge's questions."""

from pathlib import Path

import click

from harness.cli.options import open_option, page_port_option
from harness.cli.view import serve_app
from harness.errors import UsageError
from harness.runs.store.folder import run_path


@click.command("annotate")
@click.argument("run")
@click.option("--rubric", metavar="NAME", help="Name of a rubric of the suite or of a template.")
@click.option("--as", "name", metavar="NAME", help="Name of the person who answers.")
@page_port_option
@open_option
@click.pass_obj
def command(project: Path, /, run: str, rubric: str | None, name: str | None, port: int, opens: bool) -> None:
    """Label the stored RUN by a rubric, in the app of `harness view`.

    \b
    harness annotate tour-v2
    harness annotate tour-v2 --rubric counter --as ann

    The app shows all criteria of a trial beside the evidence that a judge receives, and hides the answers of judges
    and of other annotators. Each answer is written at once to suites/<suite>/labels/<rubric>.jsonl; the same command
    continues an interrupted session. Without --rubric and --as, the app asks for them; there one also chooses to decide
    the questions that two people answered differently. Ctrl-C ends the app.
    """
    serve_app(project, port, opens=opens, start=_page(project, run, rubric, name))


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
