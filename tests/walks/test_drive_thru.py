"""The drive-thru suite from end to end: the same evidence gives the same verdict, whoever answers."""

import pytest

from tests.walks.conftest import Walk

pytestmark = pytest.mark.docker

LOCAL = ("--sandbox", "local")
SOME = [word for number in ("000", "006", "010") for word in ("--case", f"order-correctness-{number}")]
"""Cases of three categories: both versions fail the second one, the first version the third too."""


@pytest.fixture(scope="module")
def runs(drive_thru: Walk) -> Walk:
    """Three cases: v2 replayed, two at a time, and v1 and v2 in order, one at a time."""
    run = ("run", "drive_thru", *SOME)
    drive_thru(*run, "--run-name", "replay", "--jobs", "2")
    drive_thru(*run, "--run-name", "ordered", "--jobs", "1")
    drive_thru(*run, "--run-name", "v1", "--agent", "v1")
    return drive_thru


def test_a_parallel_run_gives_the_same_scorecards_byte_for_byte(runs: Walk) -> None:
    ordered = runs.scorecards("ordered")
    assert 3 == len(ordered)
    assert ordered == runs.scorecards("replay")


@pytest.mark.slow
def test_a_parallel_run_with_the_live_service_gives_the_same_scorecards(runs: Walk) -> None:
    runs("run", "drive_thru", *SOME, "--live", "tools", "--run-name", "live", "--jobs", "2")
    assert runs.scorecards("ordered") == runs.scorecards("live")


@pytest.mark.slow
def test_all_of_the_suite_is_scored_alike_in_a_replay_and_by_the_sealed_service(drive_thru: Walk) -> None:
    for name, agent, live in (("v1", "v1", "none"), ("replay", "v2", "none"), ("sealed", "v2", "sealed")):
        drive_thru("run", "drive_thru", "--run-name", f"all-{name}", "--agent", agent, "--live", live)
    assert 25 == len(drive_thru.scorecards("all-sealed"))
    assert drive_thru.scorecards("all-sealed") == drive_thru.scorecards("all-replay")
    shown = drive_thru("compare", "all-v1", "all-replay").stdout
    assert "32 % → 88 %" in shown


def test_the_second_version_is_better_and_the_comparison_says_so(runs: Walk) -> None:
    shown = runs("compare", "v1", "ordered").stdout
    assert "33 % → 67 %" in shown
    assert "agent: v1 → v2" in runs("compare", "v1", "ordered", "--all").stdout


def test_nothing_is_asked_that_the_cassettes_do_not_answer(runs: Walk) -> None:
    for run in ("replay", "v1"):
        shown = runs("report", run).stdout
        assert "3 of 3 trials measured" in shown
        assert "exact" in runs("report", run, "--all").stdout


def test_a_stored_run_is_scored_again_to_the_same_scores(runs: Walk) -> None:
    before = runs("report", "ordered", "--json").stdout
    runs("score", "ordered")
    assert before == runs("report", "ordered", "--json").stdout


@pytest.mark.slow
def test_the_same_run_gives_the_same_report(runs: Walk) -> None:
    for form in ("--format=terminal", "--format=markdown", "--format=junit", "--json"):
        assert runs("report", "replay", form).stdout == runs("report", "replay", form).stdout


def test_a_run_name_that_exists_is_refused(runs: Walk) -> None:
    refused = runs("run", "drive_thru", "--run-name", "ordered", status=2)
    assert "--resume" in refused.stderr


def test_only_what_failed_is_run_again(runs: Walk) -> None:
    summary = runs.summary("run", "drive_thru", *SOME, "--failed-in", "ordered", "--run-name", "again", *LOCAL)
    assert ["order-correctness-006"] == [planned["case_id"] for planned in summary["manifest"]["planned"]]


@pytest.mark.parametrize(
    ("floor", "status"),
    [pytest.param("order_correctness=0.7", 0, marks=pytest.mark.slow), ("task_success=0.95", 1), ("recovery=0.1", 3)],
)
def test_a_gate_holds_fails_or_cannot_tell(runs: Walk, floor: str, status: int) -> None:
    words = ("--case", "order-correctness-000", "--case", "order-correctness-006", "--fail-under", floor, *LOCAL)
    runs("run", "drive_thru", *words, status=status)


def test_changing_the_agent_reseals_and_rebuilds_nothing_and_only_its_digest_changes(runs: Walk) -> None:
    def world() -> dict[str, bytes]:
        places = [path for part in ("snapshots", "cassettes") for path in (runs.folder / part).rglob("*")]
        return {str(path): path.read_bytes() for path in places if path.is_file()}

    before = world()
    agent = runs.folder / "suites/drive_thru/agents/v2/agent.py"
    agent.write_text(agent.read_text(encoding="utf-8") + "\n# another line\n", encoding="utf-8")
    summary = runs.summary("run", "drive_thru", "--case", "order-correctness-000", "--run-name", "edited", *LOCAL)
    assert before == world()
    assert "agent digest" in runs("compare", "ordered", "edited", "--all").stdout
    assert "exact" in summary["tiers"]
