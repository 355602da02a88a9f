"""The results of comparing the trajectories of two runs, and the figures over many comparisons."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from harness.judge.judgement import JudgeIdentity
from harness.judge.pairwise import Preference
from harness.judge.rubric import Name
from harness.stats import AgreementRate, position_consistency, rate
from harness.values import Frozen


class PairwiseComparison(Frozen):
    """One criterion of one case, in two runs: `first` is run A, `second` run B, whatever the order of presentation."""

    run_a: str
    run_b: str
    case_id: str
    attempt: int
    """The attempt's number, in both runs."""
    trajectory_a: str
    """Digest."""
    trajectory_b: str
    rubric: Name
    """Names a file of the run, which may come from an untrusted source."""
    rubric_version: str
    rubric_digest: str
    criterion: str
    criterion_version: str
    judge: JudgeIdentity
    preference: Preference


class ComparisonScore(Frozen):
    """Comparisons by one criterion, items of a checklist together. Intervals count cases."""

    criterion: str
    compared: int
    a_better: int
    b_better: int
    ties: int
    """Comparisons in which neither is better, in both orders."""
    by_position: int
    """Comparisons in which the orders disagree: no preference."""
    failed: int
    """Comparisons in which the judge failed in at least one order; they are in no other figure."""
    b_preferred: AgreementRate
    """Share of B among the comparisons that have a winner."""
    position_consistency: AgreementRate
    """Share of comparisons with the same answer in both orders, of those with two answers."""


def comparison_score(criterion: str, comparisons: Sequence[PairwiseComparison]) -> ComparisonScore:
    """The figures of one criterion."""
    preferences = [(one.case_id, one.preference) for one in comparisons]
    won = Counter(preference.winner for _, preference in preferences)
    turned = [(case, one.consistent) for case, one in preferences if one.consistent is not None]
    return ComparisonScore(
        criterion=criterion,
        compared=len(preferences),
        a_better=won["first"],
        b_better=won["second"],
        ties=won["neither"],
        by_position=sum(not same for _, same in turned),
        failed=len(preferences) - len(turned),
        b_preferred=rate(
            [(case, one.winner == "second") for case, one in preferences if one.winner in ("first", "second")]
        ),
        position_consistency=rate(turned).model_copy(
            update={
                "value": position_consistency([(one.in_order, one.swapped) for _, one in preferences if _whole(one)])
            }
        ),
    )


def scores_by_criterion(comparisons: Iterable[PairwiseComparison]) -> list[ComparisonScore]:
    """One row for each criterion, in alphabetical order."""
    rows: defaultdict[str, list[PairwiseComparison]] = defaultdict(list)
    for one in comparisons:
        rows[one.criterion].append(one)
    return [comparison_score(name, rows[name]) for name in sorted(rows)]


def _whole(preference: Preference) -> bool:
    return preference.consistent is not None
