"""Carries out `harness run --with NAME=VALUE,VALUE`: a run for each combination, and one table."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.cli.output.console import out, print_json, say
from harness.cli.results.matrix import matrix_and_runs, show_matrix
from harness.cli.run.running import gated, warn_of_no_isolation, watched, with_checked_gates
from harness.errors import ExitCode, HarnessError
from harness.pipeline import BegunMatrix, RunOptions, begin_matrix, resume_matrix, run_plan
from harness.report import matrix_table, write_report


def run_matrix_and_report(project: Path, options: RunOptions) -> ExitCode:
    """Runs the missing trials of a new or resumed matrix, prints the table, and returns the worst exit status."""
    begun = begin_matrix(project, options, say) if options.resume is None else resume_matrix(project, options)
    gates = with_checked_gates(project, options, begun.plans[0])
    warn_of_no_isolation(begun.plans[0].sandbox)
    unfinished = begun.unfinished
    with _resumable(project, begun):
        for plan in unfinished:
            with watched(str(plan.name), len(plan.own), []) as watch:
                run_plan(plan, watch)
    runs = matrix_and_runs(begun.path, begun.matrix)
    table = matrix_table(begun.matrix, runs)
    if options.as_json:
        print_json(table.model_dump(mode="json"))
    else:
        show_matrix(table)
    codes = []
    for folder, summary in runs:
        write_report(folder, summary)
        if gates.floors or gates.no_worse_than or gates.against_baseline:
            out(quiet=options.as_json).print(f"gates of {folder.manifest.run}:", markup=False)
        codes.append(gated(project, folder, summary, gates))
    return max(codes)


@contextmanager
def _resumable(project: Path, begun: BegunMatrix) -> Iterator[None]:
    """Prints how to resume an interrupted matrix."""
    try:
        yield
    except (KeyboardInterrupt, HarnessError):
        place = "" if project == Path.cwd() else f"--project {shlex.quote(str(project))} "
        say(
            f"stopped; finished trials are stored. Resume with: harness {place}run --resume"
            f" {shlex.quote(begun.matrix.name)}"
        )
        raise
