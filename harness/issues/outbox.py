"""Reports that could not be filed: stored in `issues/outbox` until they are filed, oldest first.

    issues/outbox/<tracker>/<time>-<run>/drift.json     the report, which is filed again
    issues/outbox/<tracker>/<time>-<run>/<draft>.md     for people: drafts that are not in a tracker yet

A report waits for the tracker that did not accept it: filing it into another tracker would lose it for the first.
"""

import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.documents import write_atomically
from harness.errors import ResultsError, UsageError
from harness.issues.lifecycle import moment
from harness.issues.planning import TrackerAction
from harness.issues.quoting import line_of
from harness.results import DriftReport, read_drift, write_drift

OUTBOX = "outbox"


class ReportOutbox:
    """The reports of one project that one tracker has not accepted yet."""

    def __init__(self, issues: Path, tracker: str) -> None:
        self._folder = issues / OUTBOX / re.sub(r"[^A-Za-z0-9._-]+", "-", tracker)

    def hold(self, report: DriftReport) -> None:
        """Stores the report before anything is filed, so that a killed process loses nothing."""
        write_drift(self._place(report), report)

    def keep(self, report: DriftReport, unfiled: Sequence[TrackerAction], why: str) -> Path:
        """Returns the folder that now stores the report with its drafts; the drafts of an earlier attempt are
        replaced.
        """
        folder = self._place(report)
        drafts = [(step, step.draft) for step in unfiled if step.draft is not None]
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.md"):
            old.unlink()
        for step, draft in drafts:
            name = re.sub(r"[^A-Za-z0-9_-]+", "-", f"{step.tool or 'summary'}-{step.about}")[:100]
            text = f"# {draft.title}\n\nNot {step.verb}d yet: {line_of(why, 300)}\n\n{draft.body}"
            write_atomically(folder / f"{name}.md", text.encode("utf-8", "backslashreplace"))
        write_drift(folder, report)
        return folder

    def drop(self, report: DriftReport) -> None:
        """Removes a filed report."""
        shutil.rmtree(self._place(report), ignore_errors=True)

    def waiting(self) -> Iterator[DriftReport]:
        """The stored reports, oldest first; incomplete or damaged ones are skipped and stay where they are."""
        for folder in sorted(path for path in self._folder.glob("*") if path.is_dir()):
            try:
                yield read_drift(folder)
            except (ResultsError, UsageError):
                continue

    def _place(self, report: DriftReport) -> Path:
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", report.run)[:80]
        return self._folder / f"{moment(report):%Y%m%dT%H%M%S%f}-{name}"
