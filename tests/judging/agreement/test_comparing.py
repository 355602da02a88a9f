"""Judgements beside labels: the two questions apart, what is left out counted, disagreements named."""

from pathlib import Path

from harness.judging.agreement import Right, against_labels, compare
from harness.judging.labels import Label, SortedLabels, append_line, sort_labels
from harness.judging.verdicts import Judgement
from tests.judging.labelling import RUBRIC, judgement, label


def _sorted(folder: Path, *labels: Label) -> SortedLabels:
    file = folder / "labels.jsonl"
    for one in labels:
        append_line(file, one)
    return sort_labels(file, RUBRIC)


def test_eligibility_and_verdict_are_two_questions(tmp_path: Path) -> None:
    labels = _sorted(
        tmp_path,
        label("a", "pass", criterion="polite"),
        label("b", "not_eligible", criterion="polite"),
        label("c", "not_eligible", criterion="polite"),
        label("d", "fail", criterion="polite"),
    )
    judged = [
        judgement("a", "pass", criterion="polite"),
        judgement("b", "pass", criterion="polite"),
        judgement("c", "not_eligible", criterion="polite"),
        judgement("d", "pass", criterion="polite"),
    ]
    row = against_labels(judged, labels, RUBRIC).criteria[1]
    assert row.name == "polite"
    assert (row.eligibility.agreement.value, row.eligibility.agreement.n) == (0.75, 4)
    assert (row.verdict.agreement.value, row.verdict.agreement.n) == (0.5, 2)
    assert row.eligibility.kappa is not None


def test_what_there_is_nothing_to_compare_with_is_counted(tmp_path: Path) -> None:
    labels = _sorted(tmp_path, label("a"), label("b"), label("c", "pass", "ann"), label("c", "fail", "ben"))
    judged = [judgement("a"), judgement("b", "judge_failed"), judgement("c"), judgement("d")]
    row = against_labels(judged, labels, RUBRIC).overall
    assert row.verdict.agreement.n == 1
    assert row.judge_failed == 1
    assert row.without_right == 2


def test_disagreements_name_both_sides_with_their_reasons(tmp_path: Path) -> None:
    labels = _sorted(tmp_path, label("a", "fail", note="the tea is missing"), label("b"))
    report = against_labels([judgement("a"), judgement("b")], labels, RUBRIC)
    assert len(report.disagreements) == 1
    found = report.disagreements[0]
    assert (found.case_id, found.right, found.judged) == ("a", "fail", "pass")
    assert found.notes == ("ann: the tea is missing",)
    assert found.rationale == "because pass"


def test_the_human_ceiling_stands_beside_the_judge(tmp_path: Path) -> None:
    two = [label(case, answer, who) for case in "abcd" for who, answer in (("ann", "pass"), ("ben", "pass"))]
    two += [label("e", "fail", "ann"), label("e", "pass", "ben"), label("f", "fail", "ann"), label("f", "fail", "ben")]
    people = against_labels([judgement("a")], _sorted(tmp_path, *two), RUBRIC).overall.people
    assert people is not None
    assert people.verdict.items == 6
    assert people.verdict.agreement == 5 / 6
    assert people.verdict.kappa is not None
    assert round(people.verdict.kappa, 3) == 0.571


def test_attempts_that_did_the_same_are_one_item_of_the_labels(tmp_path: Path) -> None:
    report = against_labels([judgement("a"), judgement("a", attempt=2)], _sorted(tmp_path, label("a")), RUBRIC)
    assert report.overall.verdict.agreement.n == 1


def test_judgements_of_an_old_version_of_the_criterion_are_not_compared(tmp_path: Path) -> None:
    report = against_labels([judgement("a", version="1")], _sorted(tmp_path, label("a")), RUBRIC)
    assert report.overall.verdict.agreement.n == 0


def test_domains_gather_their_criteria(tmp_path: Path) -> None:
    labels = _sorted(tmp_path, label("a"), label("a", "fail", criterion="polite"))
    report = against_labels([judgement("a"), judgement("a", criterion="polite")], labels, RUBRIC)
    assert {row.name: row.verdict.agreement.value for row in report.domains} == {"order": 1.0, "talk": 0.0}


def test_a_reward_says_nothing_of_eligibility() -> None:
    rewards = {"a": True, "b": False, "c": True}

    def reward(one: Judgement) -> Right | None:
        known = rewards.get(one.case_id)
        return None if known is None else Right(passed=known, tells_eligibility=False)

    judged = [judgement("a"), judgement("b"), judgement("c", "not_eligible"), judgement("d")]
    report = compare(judged, reward, RUBRIC, "reward")
    assert report.overall.eligibility.agreement.n == 0
    assert (report.overall.verdict.agreement.value, report.overall.verdict.agreement.n) == (0.5, 2)
    assert [one.case_id for one in report.disagreements] == ["b"]
    assert report.overall.without_right == 1
