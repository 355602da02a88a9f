"""How many trials may be inconclusive is said once, to a run or in its suite; every report of the run knows it."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.drift.conftest import Project, first_release
from tests.drift.shop import open_shop

RECORDED: dict[str, list[list[Any]]] = {"one": [["get_item", {"id": 1}]], "two": [["get_item", {"id": 2}]]}
ASKED = {**RECORDED, "two": [["get_item", {"id": 3}]]}
"""The second case meets a replay miss."""


def run(project: Project, name: str, *more: str, status: int = 0) -> None:
    project.type("run", "s", "--sandbox", "local", "--run-name", name, *more, status=status)


def kinds(text: str) -> list[str]:
    """Of each test case: what it is besides passed."""
    return [child.tag for test in ET.fromstring(text).iter("testcase") for child in test if child.tag != "system-err"]


def reported(project: Project, name: str, *more: str) -> list[str]:
    return kinds(project.type("report", name, "--format", "junit", *more))


def stored(project: Project, name: str) -> list[str]:
    return kinds((project.folder / "runs" / name / "report" / "junit.xml").read_text())


@pytest.fixture
def missed(tmp_path: Path) -> Project:
    with open_shop(first_release()) as shop:
        made = Project(tmp_path, shop)
        made.write(RECORDED)
        made.record()
        made.write(ASKED)
    return made


def test_a_report_takes_what_the_run_was_allowed(missed: Project) -> None:
    run(missed, "typed", "--max-inconclusive", "1")
    assert ["skipped", "skipped"] == reported(missed, "typed")
    run(missed, "strict", status=1)
    assert ["skipped", "error"] == reported(missed, "strict")
    missed.write(ASKED, gates={"max_inconclusive": 1})
    run(missed, "gated")
    assert ["skipped", "skipped"] == reported(missed, "gated")
    run(missed, "stricter", "--max-inconclusive", "0", status=1)
    assert ["skipped", "error"] == reported(missed, "stricter")


def test_a_report_that_is_written_again_does_not_change(missed: Project) -> None:
    run(missed, "r", "--max-inconclusive", "1")
    for again in (["report", "r"], ["score", "r"]):
        missed.type(*again)
        assert ["skipped", "skipped"] == stored(missed, "r"), again


def test_shards_that_were_allowed_some_are_merged_with_it(missed: Project) -> None:
    for part in ("1/2", "2/2"):
        run(missed, f"part-{part[0]}", "--shard", part, "--max-inconclusive", "1")
    missed.type("merge", "part-1", "part-2", "--run-name", "whole")
    assert ["skipped", "skipped"] == reported(missed, "whole")
    assert ["skipped", "skipped"] == stored(missed, "whole")


def test_a_merged_run_exits_as_the_undivided_run_does(missed: Project) -> None:
    run(missed, "undivided", status=1)
    for part in ("1/2", "2/2"):  # the second has the replay miss
        run(missed, f"part-{part[0]}", "--shard", part, status=int(part == "2/2"))
    assert "record the missing answers: harness record s" in missed.type("merge", "part-1", "part-2", status=1)


def test_a_merged_run_and_a_resumed_one_are_judged_by_the_gates_they_began_with(missed: Project) -> None:
    missed.write(ASKED, gates={"fail_under": {"parameter_validity": 0.9}})
    for part in ("1/2", "2/2"):
        run(missed, f"part-{part[0]}", "--shard", part, status=3 if part == "2/2" else 0)
    run(missed, "undivided", status=3)
    missed.write(ASKED, gates={"max_inconclusive": 1})
    for again in (["merge", "part-1", "part-2"], ["run", "--resume", "undivided", "--sandbox", "local"]):
        said = missed.type(*again, status=3)
        assert re.search(r"gate parameter_validity >= 0.9: not measured \(1 of 2 ", said), again
    missed.type("run", "--resume", "undivided", "--max-inconclusive", "1", status=2)
