"""How well people agree with each other: the upper bound for every judge."""

from collections.abc import Sequence
from itertools import combinations

from harness.judge.labels import LabelledItem
from harness.stats import cohen_kappa, krippendorff_alpha
from harness.values import Frozen


class PeopleAgreement(Frozen):
    """The agreement on items that two or more people answered. None where there are no such items, or where it is not
    defined.
    """

    items: int
    agreement: float | None
    """Share of pairs of equal answers to one item."""
    kappa: float | None
    """Cohen's kappa, where the same two people answered all items."""
    alpha: float | None
    """Krippendorff's alpha, for any number of people."""


class People(Frozen):
    """The agreement on each of the two questions. Answers `unsure` are omitted."""

    eligibility: PeopleAgreement
    verdict: PeopleAgreement


def people_agreement(labelled: Sequence[LabelledItem]) -> People:
    """The annotators' agreement before adjudication, which is a decision and not a second opinion."""
    eligible, passed = [], []
    for one in labelled:
        answers = {label.annotator: label.answer for label in one.labels if label.answer != "unsure"}
        eligible.append({person: answer != "not_eligible" for person, answer in answers.items()})
        passed.append({person: answer == "pass" for person, answer in answers.items() if answer != "not_eligible"})
    return People(eligibility=_agreement(eligible), verdict=_agreement(passed))


def _agreement(units: Sequence[dict[str, bool]]) -> PeopleAgreement:
    paired = [unit for unit in units if len(unit) > 1]
    same = [one == other for unit in paired for one, other in combinations(unit.values(), 2)]
    people = {person for unit in paired for person in unit}
    pairs = [(unit[min(people)], unit[max(people)]) for unit in paired] if len(people) == 2 else []
    return PeopleAgreement(
        items=len(paired),
        agreement=sum(same) / len(same) if same else None,
        kappa=cohen_kappa(pairs),
        alpha=krippendorff_alpha([list(unit.values()) for unit in paired]),
    )
