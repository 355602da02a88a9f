"""Rules learned from the passing trials of stored runs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.disk import write_atomically
from harness.errors import UsageError
from harness.runs.measured_trials import suite_of
from harness.runs.rescore import evidence_of
from harness.runs.store.folder import RunFolder, gc_paused
from harness.scoring.rules.events import row_of
from harness.scoring.rules.features import Trial, trial_of
from harness.scoring.rules.learned import FILE, Update, read_rules, text_of, updated
from harness.scoring.rules.mining import Learned, learn


@dataclass(frozen=True, kw_only=True)
class Learning:
    """What was learned for a suite, beside what its file says."""

    suite: str
    path: Path
    learned: Learned
    update: Update
    is_new: bool
    """Whether the suite has no such file yet."""

    def write(self) -> None:
        """Writes the file of the suite."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path, text_of(self.update.file, self.suite).encode())


@gc_paused()
def learn_rules(project: Path, suite: str, runs: Sequence[RunFolder], *, most: int | None = 40) -> Learning:
    """The rules that all passing trials of these runs keep.

    Raises UsageError if a run is of another suite, or no trial passed.
    """
    for folder in runs:
        if folder.manifest.suite != suite:
            raise UsageError(
                f"run {folder.manifest.run!r} is of the suite {folder.manifest.suite!r}",
                remedy=f"name runs of {suite!r}, or learn rules for {folder.manifest.suite!r}",
            )
    learned = learn((trial for folder in runs for trial in passing_trials(project, folder)), most=most)
    if not learned.cases:
        names = ", ".join(folder.manifest.run for folder in runs) or "none"
        raise UsageError(
            f"no trial of suite {suite!r} passed in these runs: {names}",
            remedy="rules are learned from passing trials: run the suite, or name other runs with --from",
        )
    path = project / "suites" / suite / FILE
    old = read_rules(path.parent)
    return Learning(suite=suite, path=path, learned=learned, update=updated(old, learned), is_new=old is None)


def passing_trials(project: Path, folder: RunFolder) -> Iterator[Trial]:
    """The trials of a run that passed all their checks."""
    suite = suite_of(project, folder)
    writes = frozenset(tool.name for tool in suite.tools if tool.effect == "write")
    passed = {(card.case_id, card.attempt) for card in folder.cards() if card.success}
    for one in evidence_of(folder, suite):
        if (one.case.id, one.trial.attempt) in passed:
            yield trial_of(row_of(one.counted), one.case.id, one.case.category, writes)
