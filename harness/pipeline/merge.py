"""Merges the shards of a run into one run: its run scores are computed from all of its trials."""

from collections.abc import Sequence
from pathlib import Path

from harness.case import Suite
from harness.errors import UsageError
from harness.pipeline.rescore import finish_scores
from harness.results import MergeLimits, RunFolder, merge_runs
from harness.score import build_scorer


def merge_shards(parts: Sequence[RunFolder], suite: Suite, runs: Path, name: str, limits: MergeLimits) -> RunFolder:
    """The merged run, closed for writing; its trials' scorecards are the shards' own, byte for byte.

    Raises UsageError where they are not the shards of one run, exceed the limit of size, or ran another suite.
    """
    for part in parts:
        if part.manifest.suite_digest != suite.digest:
            raise UsageError(
                f"suite {suite.name!r} differs from the one that run {part.manifest.run!r} used",
                remedy="check out the commit that the shards were run from",
            )
    scorer = build_scorer(suite)
    with merge_runs(parts, runs, name, limits) as folder:
        finish_scores(folder, suite, scorer)
    return RunFolder.open(folder.path)
