"""A run, and a comparison of runs, made by a program: the values that the command line prints with `--json`."""

from pathlib import Path

from harness.pipeline import RunOptions, Watch, plan_of, run_plan
from harness.report import Comparison, Summary, compare_named, summarise_run, write_report
from harness.results import run_path


def run(options: RunOptions, *, project: Path | str = ".", watch: Watch | None = None) -> Summary:
    """Runs every planned trial and returns the run's summary, as `harness run --json` prints it.

    `project` is the folder that has `suites/`; the run folder is `runs/<summary.manifest.run>` in it. Gates are not
    evaluated: compare the summary's figures. Raises HarnessError (UsageError before anything is started) with a remedy.
    """
    folder, watch = Path(project), watch or Watch()
    made = run_plan(plan_of(folder, options), watch)
    summary = summarise_run(made)
    write_report(made, summary)
    return summary


def compare(before: str, after: str, *, project: Path | str = ".") -> Comparison:
    """Compares the run `before` (or `baseline:SUITE`) with the run `after`, paired by case and attempt.

    Runs are named by name or path. The result has the fields that `harness compare --format json` prints. Raises
    UsageError for runs that cannot be compared.
    """
    folder = Path(project)
    comparison, _ = compare_named(folder, before, run_path(folder, after))
    return comparison
