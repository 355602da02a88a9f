"""Durations of trials with live tools or a live model."""

from harness.results.folder import RunFolder
from harness.results.manifest import RunManifest
from harness.trace import MEASURED


def takes_real_time(manifest: RunManifest) -> bool:
    """Whether tools or a model answered live; durations of a replay say nothing about production."""
    return manifest.tool_mode != "replay" or manifest.model_mode not in ("none", "replay")


def real_durations(folder: RunFolder) -> dict[str, float]:
    """`case/attempt` -> seconds of each measured trial; empty for a replay. Reads every trial of the run."""
    if not takes_real_time(folder.manifest):
        return {}
    trials = [stored.trial for stored in folder.trials()]
    return {
        f"{trial.case_id}/{trial.attempt}": round(trial.duration_s, 6)
        for trial in trials
        if trial.outcome in MEASURED and trial.duration_s is not None
    }
