"""The measured trials of a stored run, as people and judges look at them."""

from collections.abc import Collection, Iterator
from pathlib import Path

from harness.case import Suite
from harness.case.loading import load_suite
from harness.errors import UsageError
from harness.judge.judge import Subject
from harness.results import RunFolder
from harness.trace import MEASURED


def suite_of(project: Path, folder: RunFolder) -> Suite:
    """The suite that was kept with the run, else the project's."""
    return folder.suite or load_suite(project, folder.manifest.suite)


def subjects(folder: RunFolder, suite: Suite, cases: Collection[str] = ()) -> Iterator[Subject]:
    """One trial at a time, in the planned order; of `cases` only, where some are named.

    Raises UsageError for a case that the suite does not have.
    """
    known = {case.id: case for case in suite.cases}
    missing = sorted(set(cases) - known.keys())
    if missing:
        raise UsageError(f"suite {suite.name!r} has no case {', '.join(missing)}")
    for stored in folder.trials():
        trial = stored.trial
        if trial.outcome in MEASURED and (not cases or trial.case_id in cases):
            yield Subject.of(folder.manifest.run, trial, known.get(trial.case_id))
