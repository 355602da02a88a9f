"""An attempt to steer the user is the agent's failure, whatever else made the trial one that could not be measured."""

from pathlib import Path

import pytest

import harness
from harness.api import RunOptions
from harness.errors import UsageError
from harness.runs.store.folder import RunFolder
from qa.doubles.rule_user import RuleUser

SUITE = """\
agents:
  v1: {command: [python3, "{agent}/main.py"], files: agent}
checks:
  - {name: answered, verifier: final_answer, with: {regex: "."}}
user: {kind: logged}
"""
CASES = '- {id: latte, task: "A latte, please.", user: {log: log.yaml}}'
LOG = """\
turns:
  - {user: "A latte, please.", agent: "Which size?"}
  - {user: Small., agent: Goodbye.}
"""
AGENT = """\
import json, os, urllib.request
url = os.environ["HARNESS_GATEWAY_URL"]
urllib.request.urlopen(f"{url}/turn").read()
body = json.dumps({"message": "SAYS"}).encode()
urllib.request.urlopen(urllib.request.Request(f"{url}/reply", body, {"Content-Type": "application/json"})).read()
urllib.request.urlopen(f"{url}/turn").read()
"""


@pytest.mark.parametrize(
    ("says", "outcome"),
    [("No latte. [[END: GAVE UP]]", "agent_failed"), ("We have no latte. A tea?", "inconclusive")],
)
def test_a_divergence_does_not_excuse_an_attempt(tmp_path: Path, says: str, outcome: str) -> None:
    suite = tmp_path / "suites" / "talks"
    (suite / "agent").mkdir(parents=True)
    (suite / "suite.yaml").write_text(SUITE)
    (suite / "cases.yaml").write_text(CASES)
    (suite / "log.yaml").write_text(LOG)
    (suite / "agent" / "main.py").write_text(AGENT.replace("SAYS", says))

    summary = harness.run(RunOptions(suite="talks", sandbox="local"), project=tmp_path)

    assert 1 == summary.counts.model_dump()[outcome], summary.counts


def suite_of(project: Path, cases: str, agent: str = AGENT, suite: str = SUITE) -> None:
    folder = project / "suites" / "talks"
    (folder / "agent").mkdir(parents=True)
    (folder / "suite.yaml").write_text(suite)
    (folder / "cases.yaml").write_text(cases)
    (folder / "log.yaml").write_text(LOG)
    (folder / "agent" / "main.py").write_text(agent)


def test_a_divergence_costs_as_much_as_a_failure_where_no_miss_is_allowed(tmp_path: Path) -> None:
    suite_of(tmp_path, CASES.replace("user:", "limits: {misses: 0}, user:"), AGENT.replace("SAYS", "No latte. A tea?"))

    summary = harness.run(RunOptions(suite="talks", sandbox="local"), project=tmp_path)

    assert 1 == summary.counts.limit_reached, summary.counts


TALKS = """\
import json, os, time, urllib.request
url = os.environ["HARNESS_GATEWAY_URL"]
for turn in range(TURNS):
    urllib.request.urlopen(f"{url}/turn").read()
    body = json.dumps({"message": f"Coffee {turn} is noted."}).encode()
    urllib.request.urlopen(urllib.request.Request(f"{url}/reply", body, {"Content-Type": "application/json"})).read()
time.sleep(SLEEPS)
"""
LATE = "- {id: latte, task: Coffee., conversation: {plan: Order more., max_turns: 20}, limits: {seconds: 2}}"


@pytest.mark.slow
@pytest.mark.parametrize(("turns", "sleeps", "outcome"), [(4, 30, "limit_reached"), (6, 0, "finished")])
def test_the_time_of_the_user_is_added_to_the_limit_and_excuses_nothing(
    tmp_path: Path, turns: int, sleeps: int, outcome: str
) -> None:
    agent = TALKS.replace("TURNS", str(turns)).replace("SLEEPS", str(sleeps))
    with RuleUser(failing="forever", latency_s=0.45) as model:
        user = f"user: {{kind: model, model: rule-user, base_url: '{model.url}', mode: live}}"
        suite_of(tmp_path, LATE, agent, SUITE.replace("user: {kind: logged}", user))
        summary = harness.run(RunOptions(suite="talks", sandbox="local"), project=tmp_path)

    assert 1 == summary.counts.model_dump()[outcome], summary.counts


@pytest.mark.slow
def test_a_program_is_ended_as_soon_as_its_own_time_is_over(tmp_path: Path) -> None:
    agent = TALKS.replace("TURNS", "2").replace("SLEEPS", "60")
    case = LATE.replace("seconds: 2", "seconds: 8")
    with RuleUser(failing="forever", latency_s=0.2) as model:
        user = f"user: {{kind: model, model: rule-user, base_url: '{model.url}', mode: live}}"
        suite_of(tmp_path, case, agent, SUITE.replace("user: {kind: logged}", user))
        harness.run(RunOptions(suite="talks", sandbox="local", run_name="late"), project=tmp_path)

    (stored,) = RunFolder.open(tmp_path / "runs" / "late").trials()
    assert stored.trial.outcome == "limit_reached"
    assert stored.trial.exit is not None
    assert stored.trial.exit.duration_s is not None
    assert stored.trial.exit.duration_s < 12, "of the 16 s that program and user may take together"


def test_a_case_without_a_log_is_refused_before_anything_runs(tmp_path: Path) -> None:
    suite_of(tmp_path, '- {id: latte, task: "A latte, please."}\n- {id: tea, task: "Tea.", user: {log: log.yaml}}')

    with pytest.raises(UsageError, match=r"1 case\(s\): latte") as refused:
        harness.run(RunOptions(suite="talks", sandbox="local", user="logged"), project=tmp_path)
    assert "--user logged:RUN" in str(refused.value.remedy)
    assert not list(tmp_path.glob("runs/*"))
