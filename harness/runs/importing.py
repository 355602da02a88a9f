"""Writes imported trajectories as an ordinary run folder, and scores them."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from harness import __version__
from harness.runs.foreign_runs import ImportedRun
from harness.runs.rescore import finish_scores
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import PlannedTrial, RunManifest, RunNameTaken, begin_run, default_run_name
from harness.scoring.evidence import Evidence
from harness.scoring.scorer import Scorer, build_scorer
from harness.suite.cases import CheckSpec
from harness.suite.digests import case_digests, suite_digest, tools_digest
from harness.suite.suites import Suite
from harness.traces.formats.suites import INFERRED
from harness.traces.trajectory import unattributed
from harness.traces.trial import REWARD
from harness.values import digest_of

IMPORTED = "imported"
"""The manifest's value if a run of the harness names its modes, its sandbox and its digests."""


def store_imported(
    imported: ImportedRun, runs: Path, *, name: str | None = None, progress: Callable[[str], None] = lambda _: None
) -> RunFolder:
    """Writes and scores every imported trial; a reward that the file gave becomes the check `reward`.

    Raises UsageError if the run's name is taken, InvalidDocument if a file changed meanwhile.
    """
    suite = with_rewards(imported)
    scorer = build_scorer(suite.model_copy(update={"folder": runs.parent / "suites" / suite.name}))  # learned rules
    now = datetime.now(UTC)

    def begin(run: str) -> RunFolder:
        return RunFolder.create(runs, _manifest(imported, suite, scorer, run, now))

    with _begin_folder(runs, name, default_run_name(now, suite.name, IMPORTED), begin) as folder:
        folder.keep_suite(suite)
        cases = {case.id: case for case in suite.cases}
        for trial, spans in imported.trials:
            reward = imported.rewards.get((trial.case_id, trial.attempt))
            states = trial.states if reward is None else {**trial.states, REWARD: reward}
            kept = trial.model_copy(
                update={"attempt": trial.attempt + 1, "states": states, "trajectory": unattributed(trial.trajectory)}
            )
            evidence = Evidence(case=cases[kept.case_id], trial=kept, tools=suite.tools)
            folder.commit(kept, spans, scorer.score(evidence))
            progress(f"{kept.case_id}/{kept.attempt}")
        finish_scores(folder, suite, scorer)
    return RunFolder.open(folder.path)


def _begin_folder(runs: Path, name: str | None, default: str, begin: Callable[[str], RunFolder]) -> RunFolder:
    try:
        return begin_run(runs, name, default, begin)
    except RunNameTaken as taken:  # an import cannot be resumed
        raise RunNameTaken(taken.message, remedy="choose another --run-name") from None


def with_rewards(imported: ImportedRun) -> Suite:
    """The imported suite, its cases that were rewarded checked by their reward."""
    rewarded = {case_id for case_id, _ in imported.rewards}
    check = CheckSpec.model_validate({"name": "reward", "verifier": "reward"})
    cases = tuple(
        case.model_copy(update={"checks": (*case.checks, check)}) if case.id in rewarded else case
        for case in imported.suite.cases
    )
    suite = imported.suite.model_copy(update={"cases": cases})
    return suite.model_copy(update={"digest": suite_digest(suite)})


def _manifest(imported: ImportedRun, suite: Suite, scorer: Scorer, run: str, now: datetime) -> RunManifest:
    return RunManifest(
        run=run,
        created=now.isoformat(timespec="seconds"),
        harness_version=__version__,
        suite=suite.name,
        suite_digest=suite.digest,
        agent=suite.default_agent,
        agent_digest=digest_of(IMPORTED),
        snapshot_digest=digest_of(IMPORTED),
        case_digests=case_digests(suite),
        tools_digest=tools_digest(suite, but=INFERRED),
        tool_mode=IMPORTED,
        model_mode=IMPORTED,
        provider=IMPORTED,
        isolates=False,
        scorer_versions=scorer.versions,
        planned=tuple(PlannedTrial(case_id=case_id, attempt=attempt + 1) for case_id, attempt in imported.trials.keys),
    )
