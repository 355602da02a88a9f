"""The frequency of each failure mode in this run and in the other runs of the suite."""

from collections import Counter
from collections.abc import Iterator

from harness.errors import ResultsError
from harness.report.html.run import label
from harness.results import RunFolder, runs_in
from harness.trace import MEASURED
from harness.values import JsonObject, JsonValue

_MOST = 8


def releases_view(folder: RunFolder) -> JsonObject:
    """The newest other runs, oldest first; unreadable ones are named and skipped."""
    known = {run.manifest.run: run for run in _neighbours(folder)} | {folder.manifest.run: folder}
    newest = sorted(known.values(), key=lambda run: (run.manifest.created, run.manifest.run))[-_MOST:]
    if folder.manifest.run not in {run.manifest.run for run in newest}:
        newest = [folder, *newest[1:]]
    runs: list[JsonValue] = []
    unreadable: list[JsonValue] = []
    for run in newest:
        try:
            runs.append(_counted(run))
        except ResultsError:
            unreadable.append(run.manifest.run)
    return {"runs": runs, "unreadable": unreadable}


def _neighbours(folder: RunFolder) -> Iterator[RunFolder]:
    for run in runs_in(folder.path.parent):
        if run.manifest.suite == folder.manifest.suite:
            yield run


def _counted(run: RunFolder) -> JsonObject:
    cards = [card for card in run.scorecards() if card.outcome in MEASURED]
    modes = Counter(mode for card in cards for mode in {found.failure for found in card.diagnoses})
    known = [card.success for card in cards if card.success is not None]
    return {
        "run": run.manifest.run,
        "label": label(run.manifest),
        "measured": len(cards),
        "modes": dict(sorted(modes.items())),
        "rate": sum(known) / len(known) if known else None,
        "unknown": len(cards) - len(known),
    }
