"""The judgements of a run: scores by rubric, domain and criterion, their coverage, and how reliable they are."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from harness.judging.agreement import Right
from harness.judging.certification import CriterionRates, label_rates, uncertified
from harness.judging.rubrics import MIN_COVERAGE, Rubric
from harness.judging.verdicts import JudgeIdentity, Judgement, RubricScore, plain_mean, score_rubric
from harness.reports.judged_figures import CriterionFigures, JudgedDomain, JudgedRubric
from harness.runs.store.folder import RunFolder, TrialKey
from harness.runs.store.judgements import judged_rubrics, kept_rubric, latest, read_judgements
from harness.scoring.statistics.correction import Corrected
from harness.scoring.statistics.intervals import bootstrap, effective_n, wilson


def judged_run(folder: RunFolder) -> tuple[JudgedRubric, ...]:
    """By every rubric and every judge that the run was judged by: one score, one judge."""
    return tuple(one for name in judged_rubrics(folder.path) for one in judged_by_each(folder.path, name))


def judged_trials(folder: RunFolder) -> dict[tuple[str, int], tuple[Judgement, ...]]:
    """By case and attempt what counts of the judgements that `judged_run` counts, by rubric, in the rubric's order."""
    found: dict[tuple[str, int], dict[Judgement, None]] = {}
    for name in judged_rubrics(folder.path):
        every = [(read.place_of(one), one) for read in _read(folder.path, name) for one in read.kept]
        for _, one in sorted(every, key=lambda placed: placed[0]):
            found.setdefault((one.case_id, one.attempt), {})[one] = None
    return {key: tuple(own) for key, own in found.items()}


def judged_rubric(path: Path, name: str) -> JudgedRubric | None:
    """By one rubric and the judge that answered last; None: there is no judgement. Raises as `judged_by_each`."""
    return next(reversed(judged_by_each(path, name)), None)


def judged_by_each(path: Path, name: str) -> tuple[JudgedRubric, ...]:
    """By one rubric, as it was when it was last used: a score for each judge, the one that answered last at the end; of
    several verdicts of a judge the last counts, and what code decided counts for each.

    Raises ResultsError naming the damaged file and line.
    """
    found = []
    for read in _read(path, name):
        reasons = {} if read.judge is None else uncertified(*read.home, read.rubric, read.judge)
        found.append(judged(read.rubric, read.kept, reasons, read.rates))
    return tuple(found)


@dataclass(frozen=True, kw_only=True)
class _Read:
    rubric: Rubric
    judge: JudgeIdentity | None
    """None: code decided everything."""
    kept: Sequence[Judgement]
    home: tuple[Path, str]
    """Project and suite."""

    def place_of(self, one: Judgement) -> int:
        """The position among the rubric's criteria; other criteria come last."""
        known = self.rubric.criterion(one.criterion)
        return len(self.rubric.criteria) if known is None else self.rubric.criteria.index(known)

    @property
    def rates(self) -> Mapping[str, CriterionRates]:
        """The judge's rates on people's labels."""
        return {} if self.judge is None else label_rates(*self.home, self.rubric, self.judge)


def _read(path: Path, name: str) -> tuple[_Read, ...]:
    """What counts, for each judge, the one that answered last at the end."""
    newest: str | None = None
    for one in read_judgements(path, name):
        newest = one.rubric_digest
    if newest is None:
        return ()
    rubric = kept_rubric(path, name, newest)
    every = [one for one in read_judgements(path, name) if one.rubric_digest == newest]
    home = path.absolute().parents[1], RunFolder.open(path).manifest.suite
    answered = dict.fromkeys(one.judge for one in reversed(every) if one.judge.prompt is not None)
    return tuple(
        _Read(
            rubric=rubric,
            judge=judge,
            kept=list(latest(one for one in every if one.judge.prompt is None or one.judge == judge).values()),
            home=home,
        )
        for judge in (reversed(answered) if answered else (None,))
    )


def judged(
    rubric: Rubric,
    judgements: Sequence[Judgement],
    reasons: Mapping[str, str] = MappingProxyType({}),
    rates: Mapping[str, CriterionRates] = MappingProxyType({}),
) -> JudgedRubric:
    """The figures of one judge's judgements, one a trial and criterion; `reasons`: what `uncertified` returns, `rates`:
    what `label_rates` returns.
    """
    scores = _scores(rubric, judgements)
    values = _by_case(scores, lambda one: one.value)
    passes = _by_case(scores, lambda one: None if one.passed is None else float(one.passed))
    coverage = sum(one.coverage for one in scores.values()) / len(scores) if scores else None
    known = [one for one in scores.values() if one.coverage >= MIN_COVERAGE]
    if coverage is not None and coverage < MIN_COVERAGE:
        values, known = {}, []  # the few fully judged trials are not a representative sample of the run
    flat = [value for each in values.values() for value in each]
    means = [one.before_critical for one in known if one.before_critical is not None]
    outcomes = [value for each in passes.values() for value in each]
    rate = sum(outcomes) / len(outcomes) if outcomes else None
    domains = _domains(rubric, known)
    return JudgedRubric(
        rubric=rubric.name,
        rubric_version=rubric.version,
        judges=tuple(dict.fromkeys(one.judge for one in judgements if one.judge.prompt is not None)),
        trials=len(scores),
        mean=sum(flat) / len(flat) if flat else None,
        interval=bootstrap(values) if flat else None,
        mean_before_critical=sum(means) / len(means) if means else None,
        pass_rate=rate,
        pass_interval=None if rate is None else wilson(rate, effective_n(passes)),
        coverage=coverage,
        below_floor=sum(one.coverage < MIN_COVERAGE for one in scores.values()),
        domain_mean=plain_mean({one.domain: one.mean for one in domains}),
        domains=domains,
        criteria=_criteria(rubric, judgements, reasons, rates),
    )


def _scores(rubric: Rubric, judgements: Sequence[Judgement]) -> dict[TrialKey, RubricScore]:
    by_trial: dict[TrialKey, list[Judgement]] = {}
    for one in judgements:
        by_trial.setdefault((one.case_id, one.attempt), []).append(one)
    return {key: score_rubric(rubric, key[0], own) for key, own in by_trial.items()}


def _by_case(
    scores: Mapping[tuple[str, int], RubricScore], value: Callable[[RubricScore], float | None]
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for (case_id, _), score in scores.items():
        known = value(score)
        if known is not None:
            found.setdefault(case_id, []).append(known)
    return found


def _domains(rubric: Rubric, scores: Sequence[RubricScore]) -> tuple[JudgedDomain, ...]:
    found = []
    for name, weight in rubric.weights.items():
        own = [one.value for score in scores for one in score.domains if one.domain == name and one.value is not None]
        mean = sum(own) / len(own) if own else None
        found.append(JudgedDomain(domain=name, weight=weight, trials=len(own), mean=mean))
    return tuple(found)


def _criteria(
    rubric: Rubric,
    judgements: Iterable[Judgement],
    reasons: Mapping[str, str],
    rates: Mapping[str, CriterionRates],
) -> tuple[CriterionFigures, ...]:
    counts: dict[str, Counter[str]] = {one.id: Counter() for one in rubric.criteria}
    by_case: dict[str, dict[str, list[float]]] = {one.id: {} for one in rubric.criteria}
    for one in judgements:
        known = rubric.criterion(one.criterion)
        if known is not None:
            counts[known.id][one.answer] += 1
            if one.answer in ("pass", "fail"):
                by_case[known.id].setdefault(one.case_id, []).append(float(one.answer == "pass"))
    return tuple(
        CriterionFigures(
            criterion=one.id,
            domain=one.domain,
            points=one.points,
            critical=one.critical,
            passed=counts[one.id]["pass"],
            failed=counts[one.id]["fail"],
            not_eligible=counts[one.id]["not_eligible"],
            judge_failed=counts[one.id]["judge_failed"],
            corrected=_corrected(rates.get(one.id), by_case[one.id], counts[one.id]["judge_failed"]),
            uncertified=reasons.get(one.id),
        )
        for one in rubric.criteria
    )


def _corrected(
    rates: CriterionRates | None, passed: Mapping[str, Sequence[float]], unanswered: int
) -> Corrected | None:
    if rates is None or not passed:
        return None
    flat = [value for values in passed.values() for value in values]
    return rates.corrected(sum(flat) / len(flat), effective_n(passed), unanswered / (unanswered + len(flat)))


def pooled_criteria(runs: Iterable[Path]) -> dict[tuple[str, JudgeIdentity], tuple[CriterionFigures, ...]]:
    """By rubric and judge the criteria over several runs, each run's by the rubric as it was last used there; runs
    that another version of the rubric judged before the last ones are left out.
    """
    reads: dict[tuple[str, JudgeIdentity], list[_Read]] = {}
    for path in runs:
        for name in judged_rubrics(path):
            for read in _read(path, name):
                if read.judge is not None:
                    reads.setdefault((name, read.judge), []).append(read)
    found = {}
    for key, own in reads.items():
        last = own[-1]
        kept = [one for read in own if read.rubric == last.rubric for one in read.kept]
        found[key] = _criteria(last.rubric, kept, {}, last.rates)
    return found


def rewards_of(folders: Iterable[RunFolder]) -> Callable[[Judgement], Right | None]:
    """Whether the trial succeeded; eligibility is not covered."""
    known = {
        (folder.manifest.run, card.case_id, card.attempt): card.success
        for folder in folders
        for card in folder.scorecards()
    }

    def right(judgement: Judgement) -> Right | None:
        truth = known.get((judgement.run, judgement.case_id, judgement.attempt))
        return None if truth is None else Right(passed=truth, tells_eligibility=False)

    return right
