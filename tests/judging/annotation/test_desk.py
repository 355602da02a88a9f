"""Who is asked what, in which order, and what becomes of the answers."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.judging.annotation import AnnotationQueue, AnnotatorSession, work_of
from harness.judging.labels import PersonAnswer, sort_labels
from harness.judging.rubrics import Criterion, Rubric
from harness.values import JsonObject
from tests.judging.annotation_work import queue, subject, work
from tests.judging.labelling import RUBRIC

ROOT = Path(__file__).parents[3]


def _answered(one: AnnotationQueue, number: int, answer: PersonAnswer, note: str = "") -> None:
    one.answer(one.queue[number], answer, note)


def _shown(one: AnnotationQueue) -> JsonObject:
    """The first question."""
    return one.shown(one.queue[0])


def _asked(one: AnnotationQueue) -> list[tuple[str, str]]:
    return [(place.case_id, place.criterion) for place in one.places()]


def test_everything_that_no_code_decides_is_asked_once(tmp_path: Path) -> None:
    assert _asked(queue(tmp_path, "ann", work("a", "b"))) == [
        ("a", "complete"),
        ("a", "polite"),
        ("b", "complete"),
        ("b", "polite"),
    ]


def test_attempts_that_did_the_same_are_asked_about_once() -> None:
    twice = list(work_of([subject("a"), subject("a", attempt=2), subject("a", attempt=3, said="No tea.")], RUBRIC))
    assert [1, 1, 3, 3] == [one.subject.trial.attempt for one in twice]


def test_what_code_decides_or_an_expression_excludes_is_not_asked() -> None:
    rubric = Rubric(
        name="mixed",
        criteria=(
            Criterion(id="coded", statement="x", kind="code", code="no_leakage"),
            Criterion(id="excluded", statement="x", eligibility="$.steps[?@.message == 'never']"),
            Criterion(id="listed", statement="x", kind="checklist"),
            Criterion(id="asked", statement="x"),
        ),
    )
    assert ["asked"] == [one.criterion.id for one in work_of([subject("a")], rubric)]


def test_an_answer_is_on_disk_when_the_call_returns_and_the_same_again_writes_nothing(tmp_path: Path) -> None:
    one = queue(tmp_path, "ann", work("a"))
    _answered(one, 0, "fail", "no tea")
    _answered(one, 0, "fail", "no tea")
    assert 1 == len((tmp_path / "labels.jsonl").read_text().splitlines())
    _answered(one, 0, "pass")
    found = sort_labels(tmp_path / "labels.jsonl", RUBRIC)
    assert (1, "pass", ()) == (len(found.items), found.items[0].answer, found.left_out)


def test_who_comes_back_finds_the_answers_first_and_the_open_questions_after_them(tmp_path: Path) -> None:
    _answered(queue(tmp_path, "ann", work("a", "b")), 2, "pass", "well")
    again = queue(tmp_path, "ann", work("a", "b"))
    assert ("b", "complete") == _asked(again)[0]
    assert ["pass", None, None, None] == [place.answer for place in again.places()]
    assert "well" == _shown(again)["note"]


def test_what_another_has_answered_comes_first_and_what_two_have_answered_not_at_all(tmp_path: Path) -> None:
    _answered(queue(tmp_path, "ann", work("a", "b")), 3, "pass")
    second = queue(tmp_path, "ben", work("a", "b"))
    assert ("b", "polite") == _asked(second)[0]
    _answered(second, 0, "fail")
    assert ("b", "polite") not in _asked(queue(tmp_path, "cem", work("a", "b")))
    assert ("b", "polite") in _asked(queue(tmp_path, "cem", work("a", "b"), per_item=3))


def test_nobody_sees_what_others_or_judges_said(tmp_path: Path) -> None:
    _answered(queue(tmp_path, "ann", work("a")), 0, "fail", "a secret reason")
    asked = _shown(queue(tmp_path, "ben", work("a")))
    assert "a secret reason" not in str(asked)
    assert [] == asked["others"]
    assert asked["answer"] is None
    assert not {"verdict", "rationale", "judge", "passed"} & asked.keys()


def test_an_adjudicator_gets_what_is_contested_sees_both_answers_and_no_names(tmp_path: Path) -> None:
    questions = work("a", "b")
    for name, answer in (("ann", "pass"), ("ben", "fail")):
        one = queue(tmp_path, name, questions)
        _answered(one, 0, answer, f"as {answer}")
        _answered(one, 1, "pass")
    judge = queue(tmp_path, "cem", questions, role="adjudicator")
    assert [("a", "complete")] == _asked(judge)
    asked = _shown(judge)
    assert [("pass", "as pass"), ("fail", "as fail")] == [(one["answer"], one["note"]) for one in asked["others"]]
    assert {"answer", "step", "note"} == set(asked["others"][0])
    assert "ann" not in str(asked)
    _answered(judge, 0, "fail")
    settled = sort_labels(tmp_path / "labels.jsonl", RUBRIC).items[0]
    assert ("adjudicated", "fail") == (settled.settled, settled.answer)
    back = queue(tmp_path, "cem", questions, role="adjudicator")
    assert [("a", "complete", "fail")] == [(one.case_id, one.criterion, one.answer) for one in back.places()]


def test_who_answered_cannot_adjudicate(tmp_path: Path) -> None:
    questions = work("a")
    for name, answer in (("ann", "pass"), ("ben", "fail")):
        _answered(queue(tmp_path, name, questions), 0, answer)
    with pytest.raises(UsageError, match="another name"):
        queue(tmp_path, "ann", questions, role="adjudicator")


def test_answers_that_cannot_be_are_refused(tmp_path: Path) -> None:
    one = queue(tmp_path, "ann", work("a"))
    with pytest.raises(UsageError, match="'complete'"):
        _answered(one, 0, "not_eligible")
    with pytest.raises(UsageError, match="2000"):
        _answered(one, 0, "pass", "x" * 2001)
    assert not (tmp_path / "labels.jsonl").exists()
    _answered(one, 1, "not_eligible")


@pytest.mark.parametrize("name", ["", "../ann", "ann smith", "-ann", "x" * 61])
def test_a_name_that_cannot_be_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=re.escape(repr(name))):
        AnnotatorSession.of(name)


def test_the_evidence_is_what_a_judge_would_be_shown(tmp_path: Path) -> None:
    asked = queue(tmp_path, "ann", work("a")).queue[0].loaded()
    assert ["Tea please, I am a.", "One tea."] == [piece.text for piece in asked.evidence]


def test_one_person_on_two_pages_revises_and_contradicts_nobody(tmp_path: Path) -> None:
    first, second = queue(tmp_path, "ann", work("a")), queue(tmp_path, "ann", work("a"))
    _answered(first, 0, "pass")
    _answered(second, 0, "fail", "on another page")
    _answered(second, 0, "fail", "on another page")
    found = sort_labels(tmp_path / "labels.jsonl", RUBRIC)
    assert ("fail", (), 2) == (found.items[0].answer, found.left_out, len(_lines(tmp_path)))


@pytest.mark.slow
def test_many_people_answer_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    names = [f"p{number}" for number in range(4)]
    program = "import sys; from tests.judging.annotation.test_desk import answer_all; answer_all(*sys.argv[1:])"
    running = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name], cwd=ROOT) for name in names]
    answer_all(str(tmp_path), "p0")  # the same person as one of the programs, at the same time
    assert [0] * len(names) == [one.wait(120) for one in running]
    found = sort_labels(tmp_path / "labels.jsonl", RUBRIC)
    assert () == found.left_out
    assert {len(names)} == {len(one.labels) for one in found.items}
    assert 12 == len(found.items)


def answer_all(folder: str, name: str) -> None:
    """Answers every question, then changes every answer."""
    own = queue(Path(folder), name, work("a", "b", "c", "d", "e", "f"), per_item=9)
    for answer in ("pass", "fail"):
        for number in range(len(own.queue)):
            _answered(own, number, answer)


def test_a_queue_learns_of_answers_of_others_when_it_is_refreshed(tmp_path: Path) -> None:
    own = queue(tmp_path, "ann", work("a", "b"), per_item=1)
    _answered(queue(tmp_path, "ben", work("a", "b")), 0, "pass")
    assert 4 == len(own.queue)
    own.refresh()
    assert ("a", "complete") not in _asked(own)
    assert 3 == len(own.queue)


def _lines(folder: Path) -> list[str]:
    return (folder / "labels.jsonl").read_text().splitlines()
