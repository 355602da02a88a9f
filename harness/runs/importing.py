"""Writes imported trajectories as an ordinary run folder, and scores them; attaches references to a stored one."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import JsonValue, field_validator

from harness import __version__
from harness.errors import InvalidDocument, UsageError
from harness.runs.foreign_runs import ImportedRun
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import PlannedTrial, RunManifest, RunNameTaken, begin_run, default_run_name
from harness.scoring.evidence import Evidence
from harness.scoring.scorer import Scorer, build_scorer
from harness.suite.cases import Case, CheckSpec, ReferenceCall
from harness.suite.digests import case_digests, suite_digest, tools_digest
from harness.suite.documents import read_document, shaped
from harness.suite.suites import Suite
from harness.traces.formats.suites import INFERRED
from harness.traces.trajectory import unattributed
from harness.traces.trial import REWARD
from harness.values import Frozen, digest_of

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


class CaseReference(Frozen):
    """What is expected of one case of an imported run, in a file of references."""

    id: str
    reference: tuple[ReferenceCall, ...] | None = None
    expected_output: JsonValue = None

    @field_validator("reference", mode="before")
    @classmethod
    def _with_ids(cls, calls: Any) -> Any:
        """A call without an id gets its number."""
        if not isinstance(calls, list):
            return calls
        return [{"id": str(number), **one} if isinstance(one, dict) else one for number, one in enumerate(calls, 1)]


def attach_references(folder: RunFolder, file: Path) -> Suite:
    """Stores the references of the file's cases with an imported run, with checks of calls and answer, and returns its
    suite. Raises UsageError for a run that was not imported and for a case that it does not have.
    """
    suite = folder.suite
    if suite is None:
        raise UsageError(
            f"run {folder.manifest.run!r} was not imported: its suite is the project's",
            remedy="write `reference` and `expected_output` into the cases of the suite",
        )
    given = read_document(file, tuple[CaseReference, ...])
    found = {one.id: one for one in given}
    if len(found) < len(given):
        raise InvalidDocument(file, "names a case twice")
    unknown = sorted(found.keys() - {case.id for case in suite.cases})
    if unknown:
        raise UsageError(
            f"{file}: the run has no case {', '.join(unknown[:5])}", remedy="see the cases: harness report"
        )
    cases = tuple(_with_reference(file, case, found.get(case.id)) for case in suite.cases)
    suite = suite.model_copy(update={"cases": cases})
    suite = suite.model_copy(update={"digest": suite_digest(suite)})
    folder.keep_suite(suite)
    return suite


_EXPECTED = {"reference": ("expected calls", "trajectory"), "expected_output": ("expected answer", "final_answer")}


def _with_reference(file: Path, case: Case, given: CaseReference | None) -> Case:
    if given is None:
        return case
    told = {name: value for name in _EXPECTED if (value := getattr(given, name)) is not None}
    names = {_EXPECTED[name][0]: _EXPECTED[name][1] for name in told}
    checks = [check for check in case.checks if check.name not in names]
    checks += [CheckSpec(name=name, verifier=verifier) for name, verifier in names.items()]
    fields = {name: getattr(case, name) for name in Case.model_fields}
    return shaped(file, {**fields, **told, "checks": tuple(checks)}, Case, {})


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
