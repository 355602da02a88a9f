"""The runs and the rubric of a subcommand of `harness judge`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.results import run_path

if TYPE_CHECKING:
    from harness.judge import Prompt, Rubric
    from harness.pipeline import Runs


def opened_runs(project: Path, runs: Sequence[str], rubric_name: str) -> "Runs":
    """Raises UsageError for an unknown run or rubric, and for runs of several suites."""
    from harness.judge import load_rubric
    from harness.pipeline import Runs, suite_of
    from harness.results import RunFolder

    folders = tuple(RunFolder.open(run_path(project, run)) for run in runs)
    rubric = load_rubric(rubric_name, suite_of(project, folders[0]).folder)
    return Runs(project, folders, rubric)


def prompt_of(project: Path, rubric: "Rubric", version: str | None, label: str) -> "Prompt":
    """The given version of the rubric's prompt, else the version with the label."""
    from harness.judge import PromptRegistry

    registry = PromptRegistry(project)
    return registry.version(rubric.prompt, version) if version else registry.get(rubric.prompt, label)
