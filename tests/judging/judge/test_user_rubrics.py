"""The rubrics of simulated users: a judge is shown plan and persona, and asked what a persona never does."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import harness as api
from harness.api import RunOptions
from harness.cli.main import harness
from harness.judging.certification import ClassRate, CriterionRates, JudgeRecord, add_record, asked_by, record_path
from harness.judging.prompts import PromptRegistry
from harness.judging.rubrics import load_rubric
from harness.judging.settings import judge_settings
from harness.judging.transcripts import build_transcript
from harness.judging.views import view
from harness.suite.loading import load_suite
from qa.doubles.model_double import DoubleReply, DoubleRequest, ModelDouble
from qa.doubles.rule_user import RuleUser

SUITE = """\
agents:
  v1: {command: [python3, "{agent}/main.py"], files: agent}
checks:
  - {name: answered, verifier: final_answer, with: {regex: "."}}
"""
CASES = """\
- id: latte
  task: A latte, please.
  conversation:
    plan: Ask for the plan-canary. Refuse the muffin.
    persona: {id: calm, description: persona-canary, behaviours: [{name: calm, violation_rubrics: [The user shouts.]}]}
  user_profile: {name: Ann}
"""
AGENT = """\
import json, os, urllib.request
url = os.environ["HARNESS_GATEWAY_URL"]
try:
    urllib.request.urlopen(f"{url}/turn").read()
    body = json.dumps({"message": "A latte. Done."}).encode()
    urllib.request.urlopen(urllib.request.Request(f"{url}/reply", body, {"Content-Type": "application/json"})).read()
    urllib.request.urlopen(f"{url}/turn").read()
except OSError:
    pass
"""


class Judge(ModelDouble):
    """Finds that nothing of a user's plan was pursued, and that it shouted; passes everything else."""

    def __init__(self) -> None:
        super().__init__(name="judge")
        self.asked: list[str] = []

    async def answer(self, asked: DoubleRequest) -> DoubleReply:
        text = "\n".join((asked.system, *(said for _, said in asked.messages)))
        self.asked.append(text)
        criterion = re.search(r'"(?:id|criterion)": "([\w.]+)"', text.split("# Criterion")[-1])
        assert criterion is not None
        verdict = "fail" if criterion[1] in ("pursues_the_plan", "persona_kept.1") else "pass"
        answer = {"criterion": criterion[1], "eligible": True, "verdict": verdict, "rationale": "so", "refs": []}
        return DoubleReply(text=json.dumps(answer))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    suite = tmp_path / "suites" / "talks"
    (suite / "agent").mkdir(parents=True)
    (suite / "agent" / "main.py").write_text(AGENT)
    (suite / "cases.yaml").write_text(CASES)
    return tmp_path


def typed(project: Path, *words: str) -> str:
    """What a command prints, without the line ends of a terminal."""
    done = CliRunner().invoke(harness, ["--project", str(project), *words], catch_exceptions=False)
    return " ".join(done.output.split())


def test_what_code_does_not_see_is_said_once_a_run_unless_a_judge_is_declared(project: Path) -> None:
    with RuleUser() as model:
        user = f"user: {{kind: model, model: rule-user, base_url: '{model.url}', mode: live}}"
        (project / "suites" / "talks" / "suite.yaml").write_text(SUITE + user)
        words = ["run", "talks", "--sandbox", "local", "--trials", "3", "--run-name"]
        said = typed(project, *words, "talk")
        (project / "judge.yaml").write_text("{model: judge, base_url: 'http://127.0.0.1:9/v1', double: true}")
        with_judge = typed(project, *words, "other")

    assert (1, 0) == (said.count("not measured without a judge"), with_judge.count("not measured without a judge"))
    assert 1 == typed(project, "simulator", "report", "talk").count("not measured without a judge")


LOG = """\
turns:
  - {user: "A latte, please.", agent: "Of course, a latte. That is all."}
  - {user: Thanks.}
"""


class Compares(Judge):
    """Finds that two turns tell the same, as the model of `entailment:` and as a judge."""

    async def answer(self, asked: DoubleRequest) -> DoubleReply:
        if '"first":' not in asked.said_by("user"):
            return await super().answer(asked)
        self.asked.append(asked.system)
        answer = {"reason": "so", "first_entails_second": True, "second_entails_first": True}
        return DoubleReply(text=json.dumps(answer))


def test_the_prompt_that_compares_turns_is_the_projects_and_is_judged_by_its_rubric(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts = project / "prompts" / "entailment"
    prompts.mkdir(parents=True)
    (prompts / "2.md").write_text("prompt-canary\n")
    (prompts / "labels.yaml").write_text('production: "2"\n')
    (project / "suites" / "talks" / "log.yaml").write_text(LOG)
    (project / "suites" / "talks" / "cases.yaml").write_text(
        '- {id: latte, task: "A latte, please.", user: {kind: logged, log: log.yaml}}'
    )
    with Compares() as model:
        user = f"user: {{entailment: {{model: judge, base_url: '{model.url}', mode: live}}}}"
        (project / "suites" / "talks" / "suite.yaml").write_text(SUITE + user)
        typed(project, "run", "talks", "--sandbox", "local", "--run-name", "talk")
        (compared,) = model.asked
        monkeypatch.setenv("OPENAI_BASE_URL", model.url)
        typed(project, "judge", "run", "talk", "--rubric", "entailment", "--model", "judge")
        judged = model.asked[-1]

    assert compared.startswith("prompt-canary")
    assert all(text in judged for text in ("prompt-canary", "first.1", "That is all.", "second.1", "A latte. Done."))
    assert "entailment" in typed(project, "simulator", "report", "talk")


@pytest.mark.parametrize("failing", [None, "nothing"])
def test_a_judge_reads_plan_and_persona_and_is_reported(
    project: Path, failing: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RuleUser(failing=failing) as model:
        user = f"user: {{kind: model, model: rule-user, base_url: '{model.url}', mode: live}}"
        (project / "suites" / "talks" / "suite.yaml").write_text(SUITE + user)
        api.run(RunOptions(suite="talks", sandbox="local", run_name="talk"), project=project)
    with Judge() as judge:
        words = ["--rubric", "user_simulator", "--model", "judge"]
        monkeypatch.setenv("OPENAI_BASE_URL", judge.url)
        CliRunner().invoke(harness, ["--project", str(project), "judge", "run", "talk", *words], catch_exceptions=False)
    report = ["--project", str(project), "simulator", "report", "talk", "--json"]
    found = json.loads(CliRunner().invoke(harness, report, catch_exceptions=False).stdout)

    assert all("plan-canary" in text and "persona-canary" in text for text in judge.asked)
    assert any("This happens nowhere: The user shouts." in text for text in judge.asked)
    assert {"pursues_the_plan", "persona_kept.1"} <= {one["kind"] for one in found["judged"]}, found
    assert {"pursues_the_plan", "persona_kept"} <= found["uncertified"].keys()
    assert 0 == found["unanswered"]

    suite = load_suite(project, "talks")
    rubric = load_rubric("user_simulator").with_violations(suite.cases)
    right = ClassRate(labels=20, right=20, effective=20)
    record = JudgeRecord(
        time="2026-01-01T00:00:00+00:00", purpose="certification", rubric=rubric.name, rubric_version=rubric.version,
        judge=judge_settings(project, suite.folder, {"model": "judge"}).identity(PromptRegistry(project).get("judge")),
        annotators=("ann",), used=(),
        criteria={
            one.id: CriterionRates(question=asked_by(rubric, one), passes=right, fails=right)
            for one in rubric.criteria
        },
    )  # fmt: skip
    add_record(record_path(project, "talks", rubric.name), record)
    assert {} == json.loads(CliRunner().invoke(harness, report, catch_exceptions=False).stdout)["uncertified"]
    assert "is certified" in CliRunner().invoke(harness, report[:-1], catch_exceptions=False).stdout


def test_who_judges_the_agent_is_not_shown_what_the_user_was_to_do(project: Path) -> None:
    from harness.traces.trajectory import Step, Trajectory
    from harness.traces.trial import Trial

    (project / "suites" / "talks" / "suite.yaml").write_text(SUITE)
    case = load_suite(project, "talks").cases[0]
    step = Step(index=0, source="user", message="A latte, please.")
    trial = Trial(
        case_id="latte",
        attempt=1,
        outcome="finished",
        trajectory=Trajectory(trace_id="t", agent="a", steps=(step,)),
    )
    transcript = build_transcript(trial, case)

    for selector in ("everything", "conversation", "profile", "request"):
        assert "canary" not in str(view(transcript, (selector,), ())), selector
    assert "plan-canary" in str(view(transcript, ("scenario",), ()))
    assert load_rubric("user_simulator").of_user
