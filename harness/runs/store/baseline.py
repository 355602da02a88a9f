"""What a run is compared with: the committed baseline, or the earlier run, and its trials in pairs."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Literal

from harness.disk import write_atomically
from harness.errors import NotMeasured, ResultsError, UsageError
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import RunManifest
from harness.scoring.scorecard import Scorecard
from harness.suite.documents import read_document
from harness.traces.outcomes import MEASURED
from harness.values import Frozen


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


# The baseline that a change is compared with: the scorecards and digests of one run, without its trajectories; small,
# and committed.
#
# baselines/<suite>.json      the head, then one line a trial, so that a review shows which trials moved

FOLDER = "baselines"
_LONGEST_REASON = 200


class Baseline(Frozen):
    """The stored results of a run: every verdict and value, without evidence, explanations and steps."""

    version: Literal[1] = 1
    manifest: RunManifest
    scorecards: tuple[Scorecard, ...]
    durations: dict[str, float] = {}
    """`case/attempt` -> duration in seconds; empty for a replay, whose durations have no meaning."""


def baseline_of(folder: RunFolder, allow_unmeasured: int = 0, cases: Collection[str] = ()) -> Baseline:
    """Raises UsageError if more trials than allowed were not measured: later losses there would not be detected.

    `cases`: those of the suite; each that was not planned is a trial that was not measured.
    """
    manifest, cards = folder.manifest, folder.cards()
    measured = sum(card.outcome in MEASURED for card in cards)
    left_out = set(cases) - {one.case_id for one in manifest.planned}
    planned = len(manifest.planned) + len(left_out)
    missing = planned - measured
    if missing > allow_unmeasured or not measured:
        raise UsageError(
            f"run {manifest.run!r} has {missing} trials of {planned} that were not measured"
            + (f": it leaves out {len(left_out)} cases of the suite" if left_out else ""),
            remedy=f"run every case, with recordings of all answers, or allow it: --allow-unmeasured {missing}",
        )
    return Baseline(
        manifest=manifest, scorecards=tuple(_slim(card) for card in cards), durations=real_durations(folder)
    )


def baseline_path(project: Path, suite: str) -> Path:
    return project / FOLDER / f"{suite}.json"


def write_baseline(project: Path, baseline: Baseline) -> Path:
    """An earlier baseline of the suite is replaced."""
    path = baseline_path(project, baseline.manifest.suite)
    write_atomically(path, _baseline_text(baseline).encode("ascii"))
    return path


def read_baseline(project: Path, suite: str, suite_digest: str | None = None) -> Baseline:
    """The suite's baseline. Raises NotMeasured if there is none, or none of the suite as it is now
    (`suite_digest`); InvalidDocument for a damaged file."""
    path = baseline_path(project, suite)
    remedy = f"harness run {suite} --run-name new-baseline, then: harness baseline new-baseline"
    if path.is_symlink() or not path.is_file():  # the change under test may contain a link to any file
        raise NotMeasured(f"suite {suite!r} has no baseline: {path} does not exist", remedy=remedy)
    found = read_document(path, Baseline)
    if suite_digest is not None and found.manifest.suite_digest != suite_digest:
        raise NotMeasured(
            f"the baseline of {suite!r} is outdated: the suite's cases or checks have changed since", remedy=remedy
        )
    return found


def _slim(card: Scorecard) -> Scorecard:
    return card.model_copy(
        update={
            "reason": None if card.reason is None else _shortened(card.reason),
            "verdicts": tuple(
                one.model_copy(update={"evidence": {}, "reason": "" if one.passed else _shortened(one.reason)})
                for one in card.verdicts
            ),
            "scores": tuple(one.model_copy(update={"explanation": ""}) for one in card.scores),
            "diagnoses": tuple(
                one.model_copy(update={"evidence": "", "dependent_steps": ()}) for one in card.diagnoses
            ),
            "tool_use": (),
        }
    )


def _shortened(reason: str) -> str:
    """Shortens a reason for readers, and replaces surrogates that represent bytes of a file's name."""
    return reason[:_LONGEST_REASON].encode("utf-8", "replace").decode()


def _baseline_text(baseline: Baseline) -> str:
    plain = baseline.manifest.model_dump(mode="json", exclude_defaults=True)
    head = ",\n".join(f" {json.dumps(name)}: {_json_line(plain[name])}" for name in sorted(plain))
    lines = ",\n".join(_json_line(card.model_dump(mode="json", exclude_defaults=True)) for card in baseline.scorecards)
    durations = f'"durations": {_json_line(baseline.durations)},\n' if baseline.durations else ""
    return f'{{\n"version": 1,\n"manifest": {{\n{head}\n}},\n{durations}"scorecards": [\n{lines}\n]\n}}\n'


def _json_line(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def latest_comparable(runs: Path, manifest: RunManifest, *, same_agent: bool = False) -> RunFolder | None:
    """The newest finished run in the folder `runs` that can be compared with this one; None if there is none.

    Comparable: same suite digest, tool mode, model mode, users and scorer versions, and at least the same planned
    trials. The sandbox provider and the agent may differ (`same_agent`: the agent's name may not). Folders that cannot
    be read are skipped: a damaged old run must not stop a new one.
    """
    found = [run for run in runs_in(runs) if _comparable(run.manifest, manifest, same_agent)]
    newest_first = sorted(found, key=lambda run: (run.manifest.created, run.manifest.run), reverse=True)
    return next((run for run in newest_first if _finished(run)), None)


def runs_in(runs: Path) -> list[RunFolder]:
    """All readable run folders, by name."""
    return opened_in(runs)[0]


def opened_in(runs: Path) -> tuple[list[RunFolder], dict[str, str]]:
    """All readable run folders, by name; and run -> why it cannot be opened. A folder that is not that of a run is in
    neither.
    """
    readable, damaged = list[RunFolder](), dict[str, str]()
    for path in sorted(path for path in runs.glob("*") if not path.name.startswith(".")):
        try:
            run = RunFolder.open(path)
            _ = run.manifest  # its latest scoring is read here
        except UsageError:
            continue
        except ResultsError as error:
            damaged[path.name] = error.message
        else:
            readable.append(run)
    return readable, damaged


def _finished(run: RunFolder) -> bool:
    try:
        return len(run.finished()) == len(run.manifest.planned)
    except ResultsError:
        return False


def _comparable(other: RunManifest, manifest: RunManifest, same_agent: bool) -> bool:
    alike = all(
        getattr(other, field) == getattr(manifest, field)
        for field in ("suite_digest", "tool_mode", "model_mode", "users", "scorer_versions")
    )
    covers = bool(manifest.planned) and set(manifest.planned) <= set(other.planned)
    return alike and covers and other.run != manifest.run and (not same_agent or other.agent == manifest.agent)
