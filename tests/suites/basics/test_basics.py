"""The suite `basics`: what its checks say of an agent that goes about each task rightly, and of one that does not."""

import shutil
from pathlib import Path

import pytest

from harness.runs.store.folder import RunFolder
from harness.suite.loading import load_suite
from tests.walks.conftest import Walk

pytestmark = pytest.mark.docker

FAILING = {
    "arithmetic": {"answer", "calculator_used"},
    "first-line": {"viewport_used", "no_unbounded_read"},
    "long-session": {"answer", "compacted"},
    "five-items": {"answer", "all_counted", "no_shortcut"},
    "planned-meeting": {"planned", "booked"},
}


@pytest.fixture(scope="module")
def basics(tmp_path_factory: pytest.TempPathFactory, project: Path) -> Walk:
    """A copy of the suite, with its recordings."""
    folder = tmp_path_factory.mktemp("basics")
    for name in ("suites/basics", "cassettes/basics"):
        shutil.copytree(project / name, folder / name)
    return Walk(folder)


def test_each_of_the_five_tasks_is_a_case(basics: Walk) -> None:
    assert list(FAILING) == [case.id for case in load_suite(basics.folder, "basics").cases]


def test_the_good_agent_passes_all_five_from_the_cassettes(basics: Walk) -> None:
    summary = basics.summary("run", "basics", "--run-name", "good", "--fail-under", "task_success=1.0")
    assert (5, 0) == (summary["counts"]["finished"], summary["counts"]["inconclusive"])


@pytest.mark.slow
def test_the_naive_agent_fails_each_by_the_checks_that_name_its_way(basics: Walk) -> None:
    basics("run", "basics", "--agent", "naive", "--run-name", "naive")
    found = {
        card.case_id: {verdict.check for verdict in card.verdicts if verdict.passed is False}
        for card in RunFolder.open(basics.folder / "runs" / "naive").scorecards()
    }
    assert FAILING == found


@pytest.mark.slow
def test_the_oracle_passes_every_case_and_doing_nothing_passes_none(basics: Walk) -> None:
    assert "5 cases checked, 0 wrong" in basics("case", "check", "basics").stderr
