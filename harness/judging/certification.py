"""Certificates: whether a judge decides as people do, by criterion, on labels that decided nothing before.

A judge is certified for a criterion if the lower ends of the 95 % intervals of its true-positive and its true-negative
rate on people's labels are at least 0.80. The intervals are Wilson's, over the effective number of labels, because
labels of one case resemble each other. A judge that answers "not eligible" to what people call a pass or a fail, names
another step than they, or gives no answer, is wrong there: else a judge that fails at what is hard would be tested on
what is easy. A certificate holds for the judge's whole identity: prompt, model, samples, and how it is asked.

Each label decides once: the digest of every label that a calibration or a certification used is kept in the project,
one JSON line for each of them, and is no test again, of any judge. Whoever lets several judges answer the same labels
can certify the best one; so the level of the intervals is divided by the number of judges that have answered the unused
labels in any run of the project. A criterion with too few unused labels to certify
even a judge without an error is not looked at, so that its labels stay unused.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

from harness.judging.agreement import item_of
from harness.judging.labels import (
    LabelItem,
    SortedLabels,
    append_line,
    label_path,
    read_whole,
    sort_labels,
)
from harness.judging.questions import answer_form
from harness.judging.rubrics import Criterion, Rubric
from harness.judging.verdicts import JudgeIdentity, Judgement
from harness.scoring.statistics.correction import Corrected, Sample, corrected_share
from harness.scoring.statistics.intervals import Interval, effective_n, wilson
from harness.values import Frozen, digest_of

LEAST_RATE: Final = 0.80
"""The lower end of each of a certified judge's two rates."""
_MOST_LABELS: Final = 1_000_000


class ClassRate(Frozen):
    """How often the judge decided as people did, on the labels of one class: what they passed, or what they failed."""

    labels: int
    right: int
    not_eligible: int = 0
    """Labels at which the judge answered "not eligible", which is wrong."""
    unanswered: int = 0
    """Labels at which the judge gave no answer, which is wrong, too."""
    effective: float
    """The effective number of independent labels."""

    @property
    def rate(self) -> float:
        """Share of right answers; 0 without labels."""
        return self.right / self.labels if self.labels else 0.0

    @property
    def interval(self) -> Interval:
        """Wilson's, 95 %; from 0 to 1 without labels."""
        return wilson(self.rate, self.effective) or Interval(low=0.0, high=1.0)

    @property
    def sample(self) -> Sample:
        """Right answers among the labels that the judge found eligible."""
        decided = self.labels - self.not_eligible - self.unanswered
        if not decided:
            return Sample(share=0.0, n=0.0)
        return Sample(share=self.right / decided, n=self.effective * decided / self.labels)


class CriterionRates(Frozen):
    """A judge's true-positive rate (`passes`) and true-negative rate (`fails`) on one criterion."""

    question: str
    """Digest of the question (`asked_by`)."""
    passes: ClassRate
    fails: ClassRate
    judges: int = 1
    """How many judges had answered the labels."""

    def corrected(self, passed: float, effective: float, unanswered: float = 0.0) -> Corrected:
        """The share of passes among what applies, corrected for the judge's errors; `passed` is the judge's share of an
        effective number of trials, `unanswered` the share of trials at which it gave no answer. Rates are of labels at
        which the judge found the criterion eligible.
        """
        sample = Sample(share=passed, n=effective)
        return corrected_share(sample, self.passes.sample, self.fails.sample, unanswered)

    @property
    def shortfall(self) -> str | None:
        """Why it is no certificate, with the missing labels; None: it is one."""
        found = [_shortfall(name, one, self.judges) for name, one in (("pass", self.passes), ("fail", self.fails))]
        return "; ".join(words for words in found if words) or None


class JudgeRecord(Frozen):
    """One calibration or certification of a judge, and the labels that it used."""

    time: str
    """ISO 8601, UTC."""
    purpose: Literal["calibration", "certification"]
    rubric: str
    rubric_version: str
    judge: JudgeIdentity
    annotators: tuple[str, ...]
    criteria: dict[str, CriterionRates] = {}
    """What a certification measured."""
    used: tuple[str, ...]
    """Digests of the labels (`label_digest`)."""


def record_path(project: Path, suite: str, rubric: str) -> Path:
    """`suites/<suite>/labels/<rubric>.judges.jsonl`."""
    return project / "suites" / suite / "labels" / f"{rubric}.judges.jsonl"


def read_records(path: Path) -> tuple[JudgeRecord, ...]:
    """The records, oldest first; empty if there is no file. Raises InvalidDocument with the line."""
    return tuple(read_whole(path, JudgeRecord))


def add_record(path: Path, record: JudgeRecord) -> None:
    """Adds a line; existing lines stay."""
    append_line(path, record)


def asked_by(rubric: Rubric, criterion: Criterion) -> str:
    """Digest of everything that a judge's answer could depend on; points, domain and weight are excluded."""
    plain = criterion.model_dump(mode="json", by_alias=True, exclude={"points", "domain", "critical"})
    return digest_of([plain, dict(rubric.checklists) if criterion.kind == "checklist" else {}, answer_form(criterion)])


def label_digest(item: LabelItem) -> str:
    """Of the item, whatever was answered: a revised label is not a new one."""
    return digest_of([item.case_id, item.trajectory, item.criterion])[:16]


def used_labels(records: Iterable[JudgeRecord]) -> frozenset[str]:
    """Digests of the labels that have decided."""
    return frozenset(digest for one in records for digest in one.used)


def uncertified(
    project: Path, suite: str, rubric: Rubric, judge: JudgeIdentity, judges: Mapping[str, int] = MappingProxyType({})
) -> dict[str, str]:
    """Criterion -> why the judge's answers to it can be shown and cannot gate. Empty: it is certified for the rubric.
    `judges`: what `judges_of` returns.

    The reason says how many labels of which class are missing. Criteria that code decides, or that ask nothing, need no
    certificate. Raises InvalidDocument.
    """
    if judge.prompt is None:
        return {}
    records = read_records(record_path(project, suite, rubric.name))
    rates, used = measured_rates(rubric, judge, records), used_labels(records)
    labels: SortedLabels | None = None
    found: dict[str, str] = {}
    for one in rubric.criteria:
        if one.kind == "code" or (one.kind == "checklist" and not rubric.checklists):
            continue
        if one.id in rates:
            reason = rates[one.id].shortfall
        else:
            labels = labels or sort_labels(label_path(project, suite, rubric.name), rubric)
            cases = _class_cases(_unused(rubric, one, labels, used))
            reason = (
                _missing(cases, judges.get(one.id, 1))
                or "there are enough unused labels: harness judge agreement RUN --certify"
            )
        if reason is not None:
            found[one.id] = f"not certified: {reason}"
    return found


def label_rates(project: Path, suite: str, rubric: Rubric, judge: JudgeIdentity) -> dict[str, CriterionRates]:
    """`measured_rates` of the project's records. Raises InvalidDocument."""
    return measured_rates(rubric, judge, read_records(record_path(project, suite, rubric.name)))


def certified_accuracy(project: Path, suite: str, rubric: Rubric, judgements: Iterable[Judgement]) -> dict[str, float]:
    """Criterion -> the mean of the true-positive and the true-negative rate of the judge that answered it last, for
    criteria for which it is certified.
    """
    records = read_records(record_path(project, suite, rubric.name))
    found: dict[str, float] = {}
    for one in judgements:
        known = rubric.criterion(one.criterion)
        rates = None if known is None else measured_rates(rubric, one.judge, records).get(known.id)
        if rates is not None and rates.shortfall is None:
            found[one.criterion] = (rates.passes.rate + rates.fails.rate) / 2
    return found


def measured_rates(rubric: Rubric, judge: JudgeIdentity, records: Iterable[JudgeRecord]) -> dict[str, CriterionRates]:
    """By criterion the rates of the judge's last certification, whether it is a certificate or not; none for another
    judge or question.
    """
    asked = {one.id: asked_by(rubric, one) for one in rubric.criteria}
    own = (one for one in records if one.judge.decides == judge.decides)
    return {
        name: rates for record in own for name, rates in record.criteria.items() if asked.get(name) == rates.question
    }


def measure(
    rubric: Rubric,
    judgements: Iterable[Judgement],
    labels: SortedLabels,
    used: Collection[str],
    criteria: Collection[str],
    judges: Mapping[str, int],
) -> tuple[dict[str, CriterionRates], tuple[str, ...]]:
    """Rates on unused labels by criterion, for those of `criteria` with enough of them, and the digests of the labels
    that were looked at.

    `judgements` are those of one judge. Of several of one item the last answer counts, and else that there is none.
    """
    steps = {one.item: one.step for one in labels.items}
    answers: dict[LabelItem, str] = {}
    for one in sorted(judgements, key=lambda one: one.failure is None):
        if one.rubric == rubric.name and one.judge.prompt is not None:
            item = item_of(one)
            is_there = one.failure is not None or one.step == steps.get(item)
            answers[item] = one.answer if is_there else "another step"
    rates, looked_at = {}, []
    for criterion in rubric.criteria:
        if criterion.id not in criteria:
            continue
        items = {item: right for item, right in _unused(rubric, criterion, labels, used).items() if item in answers}
        tries = judges.get(criterion.id, 1)
        if _missing(_class_cases(items), tries) is None:
            rates[criterion.id] = CriterionRates(
                question=asked_by(rubric, criterion),
                passes=_class_rate(answers, items, "pass"),
                fails=_class_rate(answers, items, "fail"),
                judges=tries,
            )
            looked_at += [label_digest(item) for item in items]
    return rates, tuple(sorted(looked_at))


def judges_of(
    rubric: Rubric, judgements: Iterable[Judgement], labels: SortedLabels, used: Collection[str]
) -> dict[str, int]:
    """By criterion the number of judges that have answered its unused labels; `judgements` are those of all judges."""
    answered: dict[LabelItem, set[tuple[object, ...]]] = {}
    for one in judgements:
        if one.failure is None and one.rubric == rubric.name and one.judge.prompt is not None:
            answered.setdefault(item_of(one), set()).add((*one.judge.decides, one.criterion_version))
    items = {one.id: _unused(rubric, one, labels, used) for one in rubric.criteria}
    return {name: len({judge for item in own for judge in answered.get(item, ())}) or 1 for name, own in items.items()}


def _unused(rubric: Rubric, criterion: Criterion, labels: SortedLabels, used: Collection[str]) -> dict[LabelItem, str]:
    """The items of the criterion that people passed or failed, without those that decided before."""
    return {
        one.item: one.answer
        for one in labels.items
        if one.answer in ("pass", "fail")
        and rubric.is_of(one.item.criterion, criterion.id)
        and label_digest(one.item) not in used
    }


def _class_cases(items: Mapping[LabelItem, str]) -> dict[str, int]:
    return {name: len({item.case_id for item, right in items.items() if right == name}) for name in ("pass", "fail")}


def _missing(cases: Mapping[str, int], judges: int) -> str | None:
    """The labels without which not even a judge without an error can be certified; None: there are enough."""
    least = labels_needed(1.0, judges)
    lacking = [f"{least - found} labels {name!r}" for name, found in cases.items() if found < least]
    return f"{' and '.join(lacking)} of other cases are missing{_tried(judges)}" if lacking else None


def _tried(judges: int) -> str:
    return f", because {judges} judges have answered the same labels" if judges > 1 else ""


def labels_needed(rate: float, judges: int = 1) -> int:
    """The number of independent labels of a class with which a judge of that observed rate is certified; a million if
    no smaller number is enough. Of a judge without an error, the only one that was tried: 16.
    """
    if rate <= LEAST_RATE:
        return _MOST_LABELS
    few, enough = 0, _MOST_LABELS
    while enough - few > 1:
        tried = (few + enough) // 2
        found = wilson(rate, tried, judges)
        few, enough = (few, tried) if found is not None and found.low >= LEAST_RATE else (tried, enough)
    return enough


def _class_rate(answers: Mapping[LabelItem, str], items: Mapping[LabelItem, str], right: str) -> ClassRate:
    by_case: dict[str, list[float]] = {}
    for item in (own := {item: answers[item] for item, people in items.items() if people == right}):
        by_case.setdefault(item.case_id, []).append(float(own[item] == right))
    counts = Counter(own.values())
    return ClassRate(
        labels=len(own),
        right=counts[right],
        not_eligible=counts["not_eligible"],
        unanswered=counts["judge_failed"],
        effective=effective_n(by_case),
    )


def _shortfall(name: str, one: ClassRate, judges: int) -> str | None:
    interval = wilson(one.rate, one.effective, judges)
    low = 0.0 if interval is None else interval.low
    if low >= LEAST_RATE:
        return None
    silent = f" and gives no answer to {one.unanswered}" if one.unanswered else ""
    found = f"the judge finds {one.right} of {one.labels} {name!r}{silent}"
    needed = labels_needed(one.rate, judges)
    if needed == _MOST_LABELS:
        return f"{found}, and {LEAST_RATE:.0%} at least are needed: revise it"
    return f"{found} ({low:.0%} at least): at this rate {needed} unused labels {name!r} are needed{_tried(judges)}"
