"""The measured trials of a stored run, in the form that people and judges read."""

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from harness.errors import ResultsError, UsageError
from harness.judging.judge import JudgedTrial
from harness.judging.rubrics import Rubric
from harness.runs.store.folder import SUITE, RunFolder, TrialKey
from harness.scoring.registry import named_code
from harness.scoring.scorecard import Scorecard
from harness.suite.loading import load_stored_suite, load_suite
from harness.suite.suite_file import suite_names
from harness.suite.suites import Suite, check_cases
from harness.traces.outcomes import MEASURED, Outcome

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def suite_of(project: Path, folder: RunFolder) -> Suite:
    """The suite that is stored with an imported run, else the project's.

    A run folder may come from an untrusted source, and must not decide which code runs here. A stored suite that names
    code is taken from the project if the project has a suite of the same digest; raises UsageError if it has
    none. Its rubrics and prompts are those in the project's folder of its name.
    """
    kept = folder.suite
    if kept is None:
        return load_stored_suite(project, folder.manifest.suite, folder.path)
    if not _NAME.fullmatch(kept.name):
        raise ResultsError(f"{folder.path / SUITE}: field 'name': {kept.name[:100]!r} cannot be a suite's name")
    code = named_code(kept)
    if not code:
        return kept.model_copy(update={"folder": project / "suites" / kept.name})
    own = load_suite(project, kept.name) if kept.name in suite_names(project) else None
    if own is not None and own.digest == kept.digest:
        return own
    raise UsageError(
        f"{folder.path / SUITE} names code, and code of a run folder is never run: {'; '.join(code[:3])}",
        remedy=f"put the suite with its code into {project / 'suites' / kept.name}, or import the trajectories again",
    )


def judged_outcomes(rubric: Rubric | None) -> frozenset[Outcome]:
    """The outcomes of trials that are judged by a rubric: of a user, the ones that it invalidated too."""
    return MEASURED | {"simulator_failed"} if rubric is not None and rubric.of_user else MEASURED


def cards_for(folder: RunFolder, rubric: Rubric) -> dict[TrialKey, Scorecard]:
    """The scorecards, whose findings criteria of kind `step` are shown; empty if the rubric has none."""
    if all(one.kind != "step" for one in rubric.criteria):
        return {}
    return {(card.case_id, card.attempt): card for card in folder.scorecards()}


def subjects(
    folder: RunFolder, suite: Suite, cases: Collection[str] = (), rubric: Rubric | None = None
) -> Iterator[JudgedTrial]:
    """One trial at a time, in the planned order; of `cases` only, if some are named.

    Raises UsageError for a case that the suite does not have.
    """
    known, cards = {case.id: case for case in suite.cases}, {} if rubric is None else cards_for(folder, rubric)
    check_cases(suite, cases)
    for stored in folder.trials():
        trial = stored.trial
        if trial.outcome in judged_outcomes(rubric) and (not cases or trial.case_id in cases):
            card = cards.get((trial.case_id, trial.attempt))
            yield JudgedTrial.of(folder.manifest.run, trial, known.get(trial.case_id), card)
