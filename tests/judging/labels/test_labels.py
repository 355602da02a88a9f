"""What a label file holds, and which of it counts."""

import os
from pathlib import Path
from threading import Thread

import pytest

from harness.errors import InvalidDocument
from harness.judging.labels import Label, append_line, label_lines, label_path, sort_labels
from tests.judging.labelling import RUBRIC, label


def _file(folder: Path, *labels: Label) -> Path:
    file = label_path(folder, "suite", "counter")
    for one in labels:
        append_line(file, one)
    return file


def test_a_project_without_labels_has_none(tmp_path: Path) -> None:
    assert sort_labels(_file(tmp_path), RUBRIC).items == ()


def test_labels_are_plain_json_lines_in_the_suite(tmp_path: Path) -> None:
    file = _file(tmp_path, label("a", note="all of it\nis there"), label("b", "fail"))
    assert file == tmp_path / "suites" / "suite" / "labels" / "counter.jsonl"
    assert len(file.read_text().splitlines()) == 2
    assert [one.answer for one in sort_labels(file, RUBRIC).items] == ["pass", "fail"]


def test_two_people_agree_differ_and_are_adjudicated(tmp_path: Path) -> None:
    file = _file(
        tmp_path,
        label("a", "pass", "ann"),
        label("a", "pass", "ben"),
        label("b", "pass", "ann"),
        label("b", "fail", "ben"),
        label("c", "pass", "ann"),
        label("c", "not_eligible", "ben"),
        label("c", "not_eligible", "cem", role="adjudicator"),
        label("d", "unsure", "ann"),
    )
    found = sort_labels(file, RUBRIC)
    assert [(one.settled, one.answer) for one in found.items] == [
        ("agreed", "pass"),
        ("contested", None),
        ("adjudicated", "not_eligible"),
        ("unsure", None),
    ]
    assert found.annotators == ("ann", "ben")


def test_a_revision_replaces_and_a_second_word_contradicts(tmp_path: Path) -> None:
    file = _file(
        tmp_path,
        label("a", "pass"),
        label("a", "fail", revises=True),
        label("b", "pass"),
        label("b", "fail"),
        label("c", "pass"),
        label("c", "pass"),
    )
    found = sort_labels(file, RUBRIC)
    assert [(one.item.case_id, one.answer) for one in found.items] == [("a", "fail"), ("c", "pass")]
    assert [(one.line, one.why) for one in found.left_out] == [(3, "contradicting"), (4, "contradicting")]


def test_two_adjudicators_that_differ_settle_nothing(tmp_path: Path) -> None:
    file = _file(
        tmp_path,
        label("a", "pass", "ann"),
        label("a", "fail", "ben"),
        label("a", "pass", "cem", role="adjudicator"),
        label("a", "fail", "dee", role="adjudicator"),
    )
    found = sort_labels(file, RUBRIC)
    assert [one.settled for one in found.items] == ["contested"]
    assert [one.line for one in found.left_out] == [3, 4]


def test_what_does_not_count_is_named_with_its_line_and_counted(tmp_path: Path) -> None:
    file = _file(
        tmp_path,
        label("a"),
        label("a", criterion="cheerful"),
        label("a", version="1"),
        label("a", rubric="other"),
    )
    with file.open("a") as stream:
        stream.write('not json\n[1]\n{"annotator": "ann"}\n')
    found = sort_labels(file, RUBRIC)
    assert len(found.items) == 1
    assert [(one.line, one.why) for one in found.left_out] == [
        (2, "unknown_criterion"),
        (3, "old_version"),
        (4, "other_rubric"),
        (5, "unreadable"),
        (6, "unreadable"),
        (7, "unreadable"),
    ]

    assert ["3", "1", "1", "1"] == [problem.split()[0] for problem in found.problems()]


def test_a_line_that_a_killed_writer_tore_costs_only_itself(tmp_path: Path) -> None:
    file = _file(tmp_path, label("a"))
    with file.open("a") as stream:
        stream.write('{"annotator": "be')
    append_line(file, label("b"))
    found = sort_labels(file, RUBRIC)
    assert [one.item.case_id for one in found.items] == ["a", "b"]
    assert [one.why for one in found.left_out] == ["unreadable"]


def _write_many(path: Path, annotator: str) -> None:
    for number in range(10):
        append_line(path, label(f"case-{number}", annotator=annotator))


def test_two_people_write_the_same_file_at_a_time(tmp_path: Path) -> None:
    path = label_path(tmp_path, "suite", "counter")
    writers = [Thread(target=_write_many, args=(path, name)) for name in ("ann", "ben")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    found = sort_labels(path, RUBRIC)
    assert found.left_out == ()
    assert [len(one.labels) for one in found.items] == [2] * 10


def test_a_label_file_that_is_a_link_or_a_fifo_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    kept = _file(tmp_path / "kept", label("a"))
    for name, make in (("link", lambda place: place.symlink_to(kept)), ("fifo", os.mkfifo)):
        place = label_path(tmp_path / name, "suite", "counter")
        place.parent.mkdir(parents=True)
        make(place)
        with pytest.raises(InvalidDocument, match=r"a (link|FIFO)"):
            list(label_lines(place))
    assert 1 == len(list(label_lines(kept)))
