"""Scores a stored run again; scores a run that is merged of shards."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from harness import __version__
from harness.errors import UsageError
from harness.judging.certification import certified_accuracy, uncertified
from harness.judging.rubrics import Rubric
from harness.judging.verdicts import FAILURE_MODES, Judgement, judged_findings, with_findings
from harness.runs.store.beside_trials import stored_reference_states
from harness.runs.store.folder import RunFolder, TrialKey, gc_paused
from harness.runs.store.judgements import judged_rubrics, kept_rubric, latest, of_last_judge, read_judgements
from harness.runs.store.manifest import Scoring
from harness.scoring.evidence import Evidence, JudgedCriterion
from harness.scoring.scorecard import Scorecard
from harness.scoring.scorer import Scorer, build_scorer
from harness.suite.digests import case_digests
from harness.suite.suites import Suite


@gc_paused()  # the garbage collector would traverse the stored scorecards repeatedly
def rescore(folder: RunFolder, suite: Suite) -> None:
    """Writes a further scoring; earlier ones are kept.

    Raises UsageError if the suite no longer has one of the run's cases.
    """
    scorer = replace(build_scorer(suite), reference_states=stored_reference_states(folder.path, suite))
    _write(folder, suite, scorer, map(scorer.score, evidence_of(folder, suite)))


def _write(folder: RunFolder, suite: Suite, scorer: Scorer, cards: Iterable[Scorecard]) -> None:
    cards, judges = _with_judged(folder, cards)
    scoring = Scoring(
        harness_version=__version__,
        suite_digest=suite.digest,
        case_digests=case_digests(suite) if folder.manifest.case_digests else {},
        scorer_versions=scorer.versions | judges,
    )
    folder.write_scorecards(cards, scoring)


def _with_judged(folder: RunFolder, cards: Iterable[Scorecard]) -> tuple[Iterable[Scorecard], dict[str, str]]:
    """The scorecards with the findings of the certified judge that answered last, and that judge as a detector, so that
    findings of different judges are not compared. Raises ResultsError, InvalidDocument.
    """
    every = [one for one in read_judgements(folder.path, FAILURE_MODES) if one.rubric == FAILURE_MODES]
    if not every:
        return cards, {}
    judge = every[-1].judge
    rubric = kept_rubric(folder.path, FAILURE_MODES, every[-1].rubric_digest)
    own = latest(one for one in every if one.judge == judge and one.rubric_digest == rubric.digest)
    project = folder.path.absolute().parents[1]
    accuracy = certified_accuracy(project, folder.manifest.suite, rubric, own.values())
    if not accuracy:
        return cards, {}
    found: dict[tuple[str, int, str], list[Judgement]] = {}
    for one in own.values():
        if one.criterion in accuracy:
            found.setdefault((one.case_id, one.attempt, one.trajectory), []).append(one)
    judged = (
        card.model_copy(update={"diagnoses": with_findings(card.diagnoses, judged_findings(mine, accuracy))})
        if (mine := found.get((card.case_id, card.attempt, card.digest)))
        else card
        for card in cards
    )
    return judged, {
        "detector:judged": f"{judge.model} {judge.prompt}@{judge.prompt_version} x{judge.samples}, {judge.asked}"
    }


def evidence_of(folder: RunFolder, suite: Suite) -> Iterator[Evidence]:
    """The stored trials as evidence, one at a time; raises UsageError if the suite lacks one of their cases."""
    cases = {case.id: case for case in suite.cases}
    judged = judged_criteria(folder.path) if _asks_judgements(suite) else {}
    for stored in folder.trials():
        case = cases.get(stored.trial.case_id)
        if case is None:
            raise UsageError(f"suite {suite.name!r} has no case {stored.trial.case_id!r}")
        own = judged.get((stored.trial.case_id, stored.trial.attempt), {})
        yield Evidence(
            case=case,
            trial=stored.trial,
            tools=suite.tools,
            end_state_archive=stored.end_state,
            judged=tuple(own.get(stored.trial.trajectory.digest, ())) if own else (),  # a digest takes time
        )


def _asks_judgements(suite: Suite) -> bool:
    checks = (*suite.checks, *(check for case in suite.cases for check in case.checks))
    return any(check.verifier == "criterion" for check in checks)


def judged_criteria(run: Path) -> dict[TrialKey, dict[str, list[JudgedCriterion]]]:
    """By trial and digest of its trajectory, what judges found in a run, oldest first: of each rubric what the judge
    found that answered last, and what code decided.
    """
    found: dict[TrialKey, dict[str, list[JudgedCriterion]]] = {}
    for rubric in judged_rubrics(run):
        asked, reasons = dict[str, Rubric](), dict[str, dict[str, str]]()
        # what a file of others says of itself names no other rubric
        for one in of_last_judge(one for one in read_judgements(run, rubric) if one.rubric == rubric):
            if one.judge.prompt is not None and one.rubric_digest not in reasons:
                home = run.absolute().parents[1], RunFolder.open(run).manifest.suite
                asked[one.rubric_digest] = kept_rubric(run, rubric, one.rubric_digest)
                reasons[one.rubric_digest] = uncertified(*home, asked[one.rubric_digest], one.judge)
            known = asked[one.rubric_digest].criterion(one.criterion) if one.judge.prompt is not None else None
            reason = None if known is None else reasons[one.rubric_digest].get(known.id)
            by_trial = found.setdefault((one.case_id, one.attempt), {})
            by_trial.setdefault(one.trajectory, []).append(judged_of(one, reason))
    return found


def judged_of(one: Judgement, reason: str | None = None) -> JudgedCriterion:
    """A judgement as evidence; `reason`: why it decides no check."""
    return JudgedCriterion(
        rubric=one.rubric,
        criterion=one.criterion,
        passed=one.passed,
        reason=one.rationale[:2000] or one.failure or "",
        judge=one.judge.model,
        uncertified=reason,
    )


def merge_shards(parts: Sequence[RunFolder], suite: Suite, runs: Path, name: str, max_bytes: int) -> RunFolder:
    """The merged run, closed for writing; its trials' scorecards are the shards' own, byte for byte.

    Raises UsageError if they are not the shards of one run, exceed the limit of size, or ran another suite.
    """
    from harness.runs.store.merging import merge_runs

    for part in parts:
        if part.manifest.suite_digest != suite.digest:
            raise UsageError(
                f"suite {suite.name!r} differs from the one that run {part.manifest.run!r} used",
                remedy="check out the commit that the shards were run from",
            )
    with merge_runs(parts, runs, name, max_bytes) as folder:
        merged = folder.path
    return RunFolder.open(merged)
