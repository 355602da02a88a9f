"""A run folder of one trial, a foreign trajectory: the files that its readers are given changed."""

from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.runs.foreign_runs import import_file
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import PlannedTrial, RunManifest
from harness.scoring.scorecard import Scorecard
from harness.traces.trial import Trial
from qa.fuzz.projects import ROOT

TRIAL = ("trial.json", "spans.jsonl", "scorecard.json", "seal.json")


@lru_cache(maxsize=1)
def stored_run() -> dict[str, bytes]:
    """The files of a run of one trial, a foreign trajectory."""
    with TemporaryDirectory() as temporary:
        found, spans = next(iter(import_file("tau2", ROOT / "tests/traces/importing/fixtures/tau2.json").trials))
        trial = found.model_copy(update={"attempt": 1})
        folder = RunFolder.create(Path(temporary), _manifest(trial))
        with folder:
            place = folder.commit(trial, spans, _scorecard(trial))
        names = {name: (place / name).read_bytes() for name in TRIAL}
        return names | {name: (folder.path / name).read_bytes() for name in ("manifest.json",)}


def _manifest(trial: Trial) -> RunManifest:
    return RunManifest(
        run="fuzzed",
        created="2026-01-31T12:00:00Z",
        harness_version="0.1.0",
        suite="s",
        suite_digest="d",
        agent="v1",
        agent_digest="a",
        snapshot_digest="s",
        tools_digest="t",
        tool_mode="replay",
        provider="docker",
        isolates=True,
        planned=(PlannedTrial(case_id=trial.case_id, attempt=trial.attempt),),
    )


def _scorecard(trial: Trial) -> Scorecard:
    return Scorecard(
        case_id=trial.case_id,
        attempt=trial.attempt,
        category="general",
        outcome=trial.outcome,
        success=True,
        scores=(),
        digest=trial.trajectory.digest,
    )
