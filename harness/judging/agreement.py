"""Compares judgements with a reference: labels of people, or any verdict that a trial already has.

Whether a criterion applies and whether it is met are two questions, which are compared separately: the second only
if both state that it applies.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, combinations
from typing import Literal, TypeVar

from harness.judging.labels import LabelItem, LabelledItem, SortedLabels
from harness.judging.rubrics import Rubric
from harness.judging.verdicts import Answer, Judgement
from harness.scoring.statistics.agreement import (
    AnswerPair,
    BinaryAgreement,
    binary_agreement,
    cohen_kappa,
)
from harness.values import Frozen


class PeopleAgreement(Frozen):
    """The agreement on items that two or more people answered. None if there are no such items, or if it is not
    defined.
    """

    items: int
    agreement: float | None
    """Share of pairs of equal answers to one item."""
    kappa: float | None
    """Cohen's kappa, if the same two people answered all items."""


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
    )


T = TypeVar("T")


class Right(Frozen):
    """The reference answer for one judged criterion."""

    passed: bool | None
    """None: the criterion does not apply."""
    step: int | None = None
    """Of a criterion of kind `step`: the step that people named."""
    tells_eligibility: bool = True
    """False for a verdict without information about eligibility; then the items are compared if the judge answers
    "applies".
    """
    notes: tuple[str, ...] = ()
    """Notes that people wrote."""


class Disagreement(Frozen):
    """One judgement that differs from the reference."""

    run: str
    case_id: str
    attempt: int
    criterion: str
    right: Literal["pass", "fail", "not_eligible"]
    judged: Answer
    rationale: str = ""
    notes: tuple[str, ...] = ()
    spans: tuple[str, ...] = ()


class AgreementRow(Frozen):
    """One criterion, one domain, or all criteria."""

    name: str
    version: str | None = None
    """The version of the criterion."""
    eligibility: BinaryAgreement
    verdict: BinaryAgreement
    """The agreement on items that both call eligible."""
    people: People | None = None
    """The agreement of people with each other, which is the upper bound for a judge; None if there is only one
    source.
    """
    judgements: int = 0
    judge_failed: int = 0
    """The number of failed judgements, which are in no figure here, and are errors in a certification."""
    without_right: int = 0
    """The number of judgements without a reference: nobody labelled the item, or people did not agree on it."""


class AgreementReport(Frozen):
    """A judge's judgements by one rubric, compared with a reference."""

    rubric: str
    rubric_version: str
    against: str
    """`labels` or `reward`."""
    judges: tuple[str, ...]
    """Prompt, version and model of every judge."""
    overall: AgreementRow
    domains: tuple[AgreementRow, ...]
    criteria: tuple[AgreementRow, ...]
    disagreements: tuple[Disagreement, ...]
    left_out: tuple[str, ...] = ()
    """Descriptions of labels that do not count."""


RightOf = Callable[[Judgement], Right | None]


def against_labels(judgements: Iterable[Judgement], labels: SortedLabels, rubric: Rubric) -> AgreementReport:
    """The judgements compared with people's labels; of several of one item, as from equal attempts, the last counts."""
    last = {item_of(one): one for one in judgements if one.rubric == rubric.name}
    by_item = labels.by_item
    report = compare(list(last.values()), lambda one: _settled_label(by_item.get(item_of(one))), rubric, "labels")
    domains, criteria = _by_row(labels.items, rubric, lambda one: one.item.criterion)

    def with_people(row: AgreementRow, labelled: Sequence[LabelledItem]) -> AgreementRow:
        return row.model_copy(update={"people": people_agreement(labelled)})

    return report.model_copy(
        update={
            "overall": with_people(report.overall, labels.items),
            "domains": tuple(with_people(row, domains[row.name]) for row in report.domains),
            "criteria": tuple(with_people(row, criteria[row.name]) for row in report.criteria),
            "left_out": labels.problems(),
        }
    )


def compare(judgements: Sequence[Judgement], right_of: RightOf, rubric: Rubric, against: str) -> AgreementReport:
    """All rows and disagreements; judgements of other versions of their criterion are not compared."""
    current = sorted((one for one in judgements if _is_current(one, rubric)), key=_sort_key)
    domains, criteria = _by_row(current, rubric, lambda one: one.criterion)
    versions = {one.id: one.version for one in rubric.criteria}
    return AgreementReport(
        rubric=rubric.name,
        rubric_version=rubric.version,
        against=against,
        judges=tuple(sorted({_judge(one) for one in current})),
        overall=_row("all", current, right_of),
        domains=tuple(_row(name, held, right_of) for name, held in domains.items()),
        criteria=tuple(_row(name, held, right_of, versions[name]) for name, held in criteria.items()),
        disagreements=tuple(_disagreements(current, right_of)),
    )


def item_of(judgement: Judgement) -> LabelItem:
    """The item that a label of this judgement would have."""
    return LabelItem(case_id=judgement.case_id, trajectory=judgement.trajectory, criterion=judgement.criterion)


def _by_row(
    things: Iterable[T], rubric: Rubric, criterion_of: Callable[[T], str]
) -> tuple[dict[str, list[T]], dict[str, list[T]]]:
    """By domain and by criterion; items of a checklist belong to the criterion that represents them."""
    criteria: dict[str, list[T]] = {one.id: [] for one in rubric.criteria}
    for thing in things:
        found = rubric.criterion(criterion_of(thing))
        if found is not None:
            criteria[found.id].append(thing)
    domains = {
        name: list(chain.from_iterable(criteria[one.id] for one in rubric.criteria if one.domain == name))
        for name in rubric.weights
    }
    return domains, criteria


def _sort_key(judgement: Judgement) -> tuple[str, str, int, str]:
    """The sort key of a judgement: judgements arrive in any order, and are displayed in a fixed one."""
    return judgement.run, judgement.case_id, judgement.attempt, judgement.criterion


def _is_current(judgement: Judgement, rubric: Rubric) -> bool:
    criterion = rubric.criterion(judgement.criterion)
    return criterion is not None and criterion.version == judgement.criterion_version


def _row(name: str, judgements: Sequence[Judgement], right_of: RightOf, version: str | None = None) -> AgreementRow:
    judged = [one for one in judgements if one.failure is None]
    known = [(one, right) for one in judged if (right := right_of(one)) is not None]
    return AgreementRow(
        name=name,
        version=version,
        eligibility=binary_agreement(
            [
                AnswerPair(one.case_id, right.passed is not None, one.answer != "not_eligible")
                for one, right in known
                if right.tells_eligibility
            ]
        ),
        verdict=binary_agreement(
            [
                AnswerPair(one.case_id, right.passed, one.passed)
                for one, right in known
                if right.passed is not None and one.passed is not None
            ]
        ),
        judgements=len(judgements),
        judge_failed=len(judgements) - len(judged),
        without_right=len(judged) - len(known),
    )


def _disagreements(judgements: Sequence[Judgement], right_of: RightOf) -> Iterable[Disagreement]:
    for one in judgements:
        right = right_of(one)
        if right is None or one.failure is not None:
            continue
        if one.answer == "not_eligible" and not right.tells_eligibility:
            continue
        expected = _answer_name(right)
        another = right.step is not None and expected == one.answer and right.step != one.step
        if expected != one.answer or another:
            yield Disagreement(
                run=one.run,
                case_id=one.case_id,
                attempt=one.attempt,
                criterion=one.criterion,
                right=expected,
                judged=one.answer,
                rationale=one.rationale,
                notes=(*right.notes, *([f"people name step {right.step}, the judge step {one.step}"] * another)),
                spans=one.spans,
            )


def _answer_name(right: Right) -> Literal["pass", "fail", "not_eligible"]:
    if right.passed is None:
        return "not_eligible"
    return "pass" if right.passed else "fail"


def _settled_label(labelled: LabelledItem | None) -> Right | None:
    if labelled is None or labelled.answer is None:
        return None
    labels_in_order = labelled.labels if labelled.adjudication is None else (*labelled.labels, labelled.adjudication)
    notes = tuple(f"{label.annotator}: {label.note}" for label in labels_in_order if label.note)
    passed = None if labelled.answer == "not_eligible" else labelled.answer == "pass"
    return Right(passed=passed, step=labelled.step, notes=notes)


def _judge(judgement: Judgement) -> str:
    judge = judgement.judge
    prompt = "" if judge.prompt is None else f"{judge.prompt}@{judge.prompt_version} "
    return f"{prompt}{judge.model}"
