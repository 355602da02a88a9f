"""A domain in the way of tau2-bench on PostgreSQL: its tasks are judged by the database that their references leave."""

import json
import shutil
from pathlib import Path

import pytest

from tests.walks.conftest import ROOT, Walk

pytestmark = [pytest.mark.docker, pytest.mark.slow]
RUN = ("run", "library_domain", "--live", "sealed", "--jobs", "2")


@pytest.fixture(scope="module")
def domain(tmp_path_factory: pytest.TempPathFactory) -> Walk:
    """A copy of what the suite needs of this repository's own project."""
    folder = tmp_path_factory.mktemp("domain")
    for name in ("images/postgres", "images/library_desk", "snapshots/library_desk", "suites/library_domain"):
        shutil.copytree(ROOT / name, folder / name)
    return Walk(folder)


def test_the_database_decides_whatever_the_order_of_the_calls(domain: Walk) -> None:
    first = domain(*RUN, "--run-name", "clerk").stderr
    second = domain(*RUN, "--run-name", "obliging", "--agent", "obliging", "--case", "two-loans-already").stderr

    cards = [json.loads(card) for card in domain.scorecards("clerk").values()]
    assert [True] * 5 == [card["success"] for card in cards]
    [failed] = [json.loads(card) for card in domain.scorecards("obliging").values()]
    reason = failed["verdicts"][0]["reason"]
    assert 'table \'hold\', row {"book_id":2,"member_id":2,"placed_on":"2026-03-02"} is not there' in reason
    assert "table 'loan', row " in reason
    assert "reference states: 5 to play, 0 stored" in first
    assert "to play" not in second

    trial = domain.trial("clerk", "two-books")
    lent = [call["arguments"]["book_id"] for call in calls(trial) if call["name"] == "lend_book"]
    assert [4, 2] == lent  # the reference lends them the other way round


def calls(trial: dict) -> list[dict]:
    return [call for step in trial["trajectory"]["steps"] for call in step["calls"]]


def test_the_oracle_passes_every_case_and_an_agent_that_does_nothing_fails_it(domain: Walk) -> None:
    assert "5 cases checked, 0 wrong" in domain("case", "check", "library_domain", "--jobs", "2").stderr


def test_a_replay_is_refused_before_it_starts(domain: Walk) -> None:
    refused = domain("run", "library_domain", status=2).stderr
    assert "probe 'library'" in refused
    assert "--live sealed" in refused


def test_a_call_that_the_service_refuses_is_a_fault_of_the_case(domain: Walk) -> None:
    cases = domain.folder / "suites/library_domain/cases.yaml"
    before = cases.read_text(encoding="utf-8")
    cases.write_text(before.replace("loan_id: 1}", "loan_id: 99}"), encoding="utf-8")
    try:
        refused = domain(*RUN, "--case", "swap", "--case", "lent", "--run-name", "wrong", status=2).stderr
    finally:
        cases.write_text(before, encoding="utf-8")

    assert "case 'swap': the reference's call 'back' (return_book) failed: tool_error" in refused
    assert "'lent'" not in refused
    assert not (domain.folder / "runs/wrong").exists()


SPY = """
import json, os, subprocess, urllib.request
mark = "placed_on"
found = [name for name, value in os.environ.items() if mark in value]
for folder, _, names in os.walk("/"):
    if folder.startswith(("/proc", "/sys", "/agent")):
        continue
    for name in names + ([folder] if "reference_state" in folder else []):
        path = os.path.join(folder, name)
        try:
            read = open(path, errors="ignore").read(1 << 20) if os.path.isfile(path) else ""
            found += [path] if "reference_state" in path or mark in read else []
        except OSError:
            pass
message = json.dumps({"message": json.dumps(found)}).encode()
url = os.environ["HARNESS_GATEWAY_URL"] + "/reply"
urllib.request.urlopen(urllib.request.Request(url, message, {"Content-Type": "application/json"}))
"""


def test_the_agent_sees_nothing_of_the_reference_state(domain: Walk) -> None:
    agent = domain.folder / "suites/library_domain/agents/clerk/agent.py"
    before = agent.read_text(encoding="utf-8")
    agent.write_text(SPY, encoding="utf-8")
    try:
        domain(*RUN, "--case", "lent", "--run-name", "spy")
    finally:
        agent.write_text(before, encoding="utf-8")

    state = Path(domain.folder / "runs/spy/reference_states/lent.state.json").read_text(encoding="utf-8")
    assert "placed_on" in state
    assert "[]" == domain.trial("spy", "lent")["trajectory"]["final_output"]
