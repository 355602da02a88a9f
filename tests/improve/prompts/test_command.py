"""`harness optimise` on the suite of its how-to page, in plain processes."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event

import pytest
from click.testing import CliRunner, Result

from harness.cli.main import harness
from harness.errors import HarnessError, UsageError
from harness.improve.candidates import candidate_of, components_of, texts_of
from harness.improve.held_out import HeldOutUse, looks_path, split_cases
from harness.improve.opening import prepare_optimisation
from harness.improve.trial_verdict import TrialJudge
from harness.improve.whole_trials import open_whole_trials
from harness.judging.certification import ClassRate, CriterionRates, JudgeRecord, add_record, asked_by, record_path
from harness.judging.prompts import PromptRegistry
from harness.judging.rubrics import load_rubric
from harness.judging.settings import judge_settings
from harness.runs.plan.plan import RunOptions
from harness.runs.plan.planning import plan_of
from qa.doubles.rule_user import RuleUser
from tests.docs.blocks import ROOT
from tests.improve.prompts.conftest import accepted, begun, request_of, tea

JOINT = ("tea", "--mode", "joint", "--rollouts", "60", "--minibatch", "3", "--sandbox", "local", "--jobs", "2")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return tea(tmp_path)


def typed(project: Path, *words: str) -> Result:
    return CliRunner().invoke(harness, ["--project", str(project), "optimise", *words])


def joint(project: Path, *words: str) -> Result:
    rubric = () if "--rubric" in words else ("--rubric", "service")
    return typed(project, *JOINT, *rubric, "--reflector-rules", str(project / "suites/tea/edits.yaml"), *words)


def refused(result: Result) -> str:
    assert isinstance(result.exception, HarnessError), result.output
    return str(result.exception)


@pytest.mark.slow
def test_a_prompt_is_optimised_shown_promoted_and_not_looked_at_twice(project: Path):
    done = joint(project, "--run-name", "one", "--json")
    assert 0 == done.exit_code, done.output
    outcome = json.loads(done.stdout)
    held_out = outcome["results"][0]["held_out"]
    assert (0.5, 1.0) == (held_out["before"], held_out["after"])
    assert "critical: no_inner_workings" in str(outcome["results"])

    again = joint(project, "--run-name", "one", "--json")
    assert (0, outcome["accepted"]) == (json.loads(again.stdout)["calls"], json.loads(again.stdout)["accepted"])

    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    evidence = project / "one.md"
    made = typed(project, "promote", "one", "--patch", str(project / "one.patch"), "--evidence", str(evidence))
    assert "held-out 0.500 -> 1.000 (+0.500; " in evidence.read_text()
    assert {"domain checks: 0.000 -> 1.000", "criterion no_inner_workings: 1.000 -> 1.000"} <= set(
        re.findall("(?:domain|criterion) [^`]*", evidence.read_text())
    )
    assert 0 == made.exit_code, made.output
    assert "Ask whether anything else" in (project / "prompts/tea-prompts-waiter/1.md").read_text()
    assert 'candidate: "1"' in (project / "prompts/tea-prompts-waiter/labels.yaml").read_text()
    subprocess.run(["git", "apply", "one.patch"], cwd=project, check=True)
    assert "Ask whether anything else" in (project / "suites/tea/waiter/prompts/waiter.md").read_text()
    assert "since one " in refused(typed(project, "promote", "one"))

    assert "1 optimisation before, last by 'one'" in refused(joint(project, "--run-name", "two"))
    assert "24 cases leave 7 held out" not in refused(joint(project, "--run-name", "two"))


def test_a_patch_applies_whatever_ends_a_line_in_the_text_and_wherever_the_agent_lies(project: Path):
    (project / "agents").mkdir()
    (project / "suites/tea/waiter").rename(project / "agents/waiter")
    declared = project / "suites/tea/suite.yaml"
    declared.write_text(declared.read_text().replace("files: waiter", "files: ../../agents/waiter"))
    text = "Be kind.\x0cAsk for\u2028sugar.\x1d\n- Bring tea.\n"
    accepted(project, text)
    made = typed(project, "promote", "made", "--patch", str(project / "made.patch"))
    assert 0 == made.exit_code, made.output
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    subprocess.run(["git", "apply", "made.patch"], cwd=project, check=True)
    assert text.encode() == (project / "agents/waiter/prompts/waiter.md").read_bytes()


def test_an_outcome_brings_no_patch_of_its_own(project: Path):
    """The evidence stands before the patch, and `git apply` takes every patch that a file holds."""
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    forged = "\ndiff --git a/planted b/planted\nnew file mode 100644\n--- /dev/null\n+++ b/planted\n@@ -0,0 +1 @@\n+x\n"
    outcome = accepted(project, "Be kind.\n") / "outcome.json"
    told = json.loads(outcome.read_text())
    told["why"], told["component"], told["refusals"] = forged, f"waiter{forged}", [f"@everyone {forged}"]
    outcome.write_text(json.dumps(told))

    made = typed(project, "promote", "made", "--patch", str(project / "made.patch"))
    assert 0 == made.exit_code, made.output
    subprocess.run(["git", "apply", "made.patch"], cwd=project, check=True)
    assert "Be kind.\n" == (project / "suites/tea/waiter/prompts/waiter.md").read_text()
    assert not (project / "planted").exists()
    assert "@everyone" not in (project / "made.patch").read_text()


def test_a_folder_with_a_link_is_neither_shown_nor_continued(project: Path, tmp_path_factory: pytest.TempPathFactory):
    folder, elsewhere = accepted(project, "Be kind.\n"), tmp_path_factory.mktemp("elsewhere")
    (folder / "candidates").rename(elsewhere / "candidates")
    (folder / "candidates").symlink_to(elsewhere / "candidates")
    assert f"{folder / 'candidates'} is a link" in refused(typed(project, "promote", "made"))
    assert f"{folder / 'candidates'} is a link" in refused(joint(project, "--run-name", "made"))


def test_an_outcome_without_the_share_of_its_optimiser_is_refused(project: Path):
    path = accepted(project, "Be kind.\n") / "outcome.json"
    path.write_text(path.read_text().replace('"optimiser": "gepa",', '"optimiser": "other",', 1))
    assert "'other'" in refused(typed(project, "promote", "made"))


def test_a_rubric_that_judges_no_held_out_case_is_refused(project: Path):
    cases = [f"order-{number}" for number in range(1, 25)]
    split = split_cases(cases)
    rubric = {
        "name": "lists",
        "criteria": [{"id": "wishes", "kind": "checklist", "statement": "What was wished holds.", "safety": True}],
        "checklists": {case: ["The tea is hot."] for case in (*split.train, *split.validation)},
    }
    path = project / "suites/tea/rubrics/lists.yaml"
    path.write_text(json.dumps(rubric))
    judge = project / "suites/tea/judge.yaml"
    judge.write_text(json.dumps({"model": "none", "base_url": "http://127.0.0.1:1/v1"}))
    problem = refused(joint(project, "--rubric", "lists", "--estimate"))
    assert f"the {len(split.held_out)} held-out" in problem
    rubric["checklists"] = {split.held_out[0]: ["The tea is hot."]}
    path.write_text(json.dumps(rubric))
    assert 0 == joint(project, "--rubric", "lists", "--estimate").exit_code


def test_a_look_counts_when_its_run_folder_is_deleted(project: Path):
    folder = accepted(project, "Be kind.\n")
    held_out = split_cases(f"order-{number}" for number in range(1, 25)).held_out
    look = HeldOutUse(time="2026-01-01T00:00:00+00:00", run="made", mode="joint", cases=held_out)
    looks_path(project / "suites/tea").write_text(look.model_dump_json() + "\n")
    assert 0 == joint(project, "--run-name", "made", "--estimate").exit_code
    shutil.rmtree(folder)
    assert "1 optimisation before" in refused(joint(project, "--run-name", "made", "--estimate"))


def test_the_estimate_is_made_without_a_rollout(project: Path):
    done = joint(project, "--estimate", "--json")
    assert 0 == done.exit_code, done.output
    told = json.loads(done.stdout)
    assert {"rollouts", "reflections", "usd", "tokens", "calls", "minibatch", "revisions", "warning"} == told.keys()
    assert (3, 8, None) == (told["minibatch"], told["revisions"], told["warning"])
    assert not (project / "runs").exists()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--component", "waiter"), "--mode joint revises all components"),
        (("--mode", "agent"), "--mode agent names no component"),
        (("--mode", "agent", "--component", "waiter"), "--from RUN"),
        (("--mode", "agent", "--component", "cook"), "declares no component 'cook'"),
        (("--rubric", "none"), "there is no rubric 'none'"),
        (("--rollouts", "19"), "--rollouts 20 at least"),
    ],
    ids=["component", "no-component", "no-trace", "unknown-component", "rubric", "rollouts"],
)
def test_what_cannot_be_is_refused(project: Path, words: tuple[str, ...], problem: str):
    assert problem in refused(joint(project, *words))
    assert not (project / "runs").exists()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("optimise:", "gates: {}\nx:", "x"),
        ("files: [prompts/waiter.md]", "files: [waiter.py]", "the agent 'v1' does not read 'waiter.py'"),
        ("files: [prompts/waiter.md]", "files: [prompts/cook.md]", "there is no file 'prompts/cook.md'"),
        ("files: [prompts/waiter.md]", "files: [../suite.yaml]", "is not a plain relative path"),
    ],
    ids=["field", "unread", "missing", "outside"],
)
def test_a_wrong_declaration_is_refused(project: Path, old: str, new: str, problem: str):
    path = project / "suites/tea/suite.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    assert problem in refused(joint(project))


def test_a_suite_that_declares_nothing_is_refused(project: Path):
    path = project / "suites/tea/suite.yaml"
    path.write_text(path.read_text().partition("optimise:")[0])
    assert "`optimise:`" in refused(joint(project))


def test_a_run_folder_of_another_request_is_refused(project: Path):
    begun(project)
    assert ": max_cost_increase differ" in refused(joint(project, "--run-name", "made", "--max-cost-increase", "1"))


def with_guests(project: Path, url: str = "http://127.0.0.1:9/v1") -> None:
    """Gives the suite users that a model can play."""
    with (project / "suites/tea/suite.yaml").open("a") as told:
        told.write(f"user: {{model: guest, base_url: {url!r}, double: true}}\n")
    talk = {"task": "A tea, please.", "conversation": {"plan": "Ask for a biscuit."}}
    cases = [{"id": f"order-{number}", **talk} for number in range(1, 25)]
    (project / "suites/tea/cases.yaml").write_text(json.dumps(cases))


def test_a_run_folder_goes_on_with_the_same_tools_users_and_judge_alone(project: Path):
    with_guests(project)
    begun(project)  # its users are the model that the suite names
    other = "holds another optimisation:"
    assert f"{other} users differ" in refused(joint(project, "--run-name", "made", "--user", "script"))
    assert f"{other} users differ" in refused(joint(project, "--run-name", "made", "--live", "none"))
    assert f"{other} tools, users differ" in refused(
        joint(project, "--run-name", "made", "--user", "script", "--live", "sealed")
    )


def test_a_folder_goes_on_with_the_same_judge_alone(project: Path):
    rubric = project / "suites/tea/rubrics/service.yaml"
    rubric.write_text(rubric.read_text() + "  - {id: polite, domain: safety, statement: The guest is greeted.}\n")
    judge = project / "judge.yaml"
    judge.write_text("{model: one, base_url: 'http://127.0.0.1:9/v1'}")
    begun(project)
    judge.write_text("{model: two, base_url: 'http://127.0.0.1:9/v1'}")
    assert ": judge differ" in refused(joint(project, "--run-name", "made"))


def test_a_judge_without_a_certificate_confirms_no_candidate(project: Path):
    rubric = project / "suites/tea/rubrics/service.yaml"
    rubric.write_text(rubric.read_text() + "  - {id: polite, domain: safety, statement: The guest is greeted.}\n")
    (project / "judge.yaml").write_text("{model: one, base_url: 'http://127.0.0.1:9/v1'}")
    assert "polite: not certified: 16 labels 'pass' and 16 labels 'fail'" in refused(joint(project))
    assert not list((project / "runs").glob("*"))

    asked = load_rubric("service", project / "suites/tea")
    prompt = PromptRegistry(project).get("judge")
    judge = judge_settings(project, project / "suites/tea", {}).identity(prompt)
    right = ClassRate(labels=20, right=20, effective=20)
    (polite,) = (one for one in asked.criteria if one.id == "polite")
    rates = CriterionRates(question=asked_by(asked, polite), passes=right, fails=right)
    record = JudgeRecord(
        time="2026-01-01T00:00:00+00:00", purpose="certification", rubric="service", rubric_version=asked.version,
        judge=judge, annotators=("ann",), criteria={"polite": rates}, used=(),
    )  # fmt: skip
    add_record(record_path(project, "tea", "service"), record)
    stopping = Event()
    stopping.set()
    with pytest.raises(KeyboardInterrupt):
        prepare_optimisation(project, request_of(project)).run(stopping=stopping)


def test_a_users_model_is_asked_live_because_no_recording_holds_what_a_revised_agent_says(project: Path):
    attentive = ROOT / "tests/improve/prompts/attentive_waiter.py"
    (project / "suites/tea/waiter/waiter.py").write_text(attentive.read_text())
    with RuleUser() as model:
        with_guests(project, model.url)
        options = RunOptions(suite="tea", sandbox="local", jobs=1)
        plan = plan_of(project, options)
        start = candidate_of(texts_of(plan.suite, components_of(plan.suite)))
        with open_whole_trials(plan, TrialJudge(judge=None)) as whole:
            (done,) = whole.trials(start, ["order-1"])
    user = done[1].user
    assert user is not None
    assert ("goal_reached", 1) == (user.ended, user.generated), user
    assert model.bodies


def test_what_no_candidate_may_change_is_frozen_while_candidates_are_tried(project: Path):
    plan = plan_of(project, RunOptions(suite="tea", sandbox="local", jobs=1))
    texts = texts_of(plan.suite, components_of(plan.suite))
    waiter = project / "suites/tea/waiter/waiter.py"
    with open_whole_trials(plan, TrialJudge(judge=None)) as whole:
        list(whole.run(candidate_of(texts), ["order-1"]))
        (project / "suites/tea/waiter/prompts/waiter.md").write_text("- What the text in use is now.\n")
        better = candidate_of(dict.fromkeys(texts, "- Ask whether anything else is wanted.\n"))
        assert [1.0] == [one.domains["checks"] for one in whole.run(better, ["order-1"])]
        waiter.write_text(waiter.read_text().replace("Here you are", "Anything else"))
        with pytest.raises(UsageError, match="'v1'"):
            list(whole.run(candidate_of(dict.fromkeys(texts, "- Be kind.\n")), ["order-1"]))


def test_a_users_model_that_cannot_be_reached_is_refused_before_any_rollout(project: Path):
    with_guests(project, "http://127.0.0.1:9/v1")
    problem = refused(joint(project, "--run-name", "made"))
    assert "`user`, 'guest'" in problem
    assert "--live none" in problem


def test_a_missing_reflector_or_judge_is_refused_by_options_that_exist(project: Path, monkeypatch: pytest.MonkeyPatch):
    for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(key, raising=False)
    problem = typed(project, *JOINT, "--rubric", "service").exception
    assert isinstance(problem, HarnessError)
    assert isinstance(problem, UsageError)
    assert "--reflector MODEL, or --reflector-rules FILE" in str(problem.remedy)

    rubric = project / "suites/tea/rubrics/service.yaml"
    rubric.write_text(rubric.read_text() + "  - {id: polite, domain: safety, statement: The guest is greeted.}\n")
    problem = joint(project).exception
    assert isinstance(problem, HarnessError)
    assert ("no judge model is configured", False) == (problem.message, "--model" in str(problem.remedy))


def test_too_few_selected_cases_are_refused_with_the_number_that_would_do(project: Path):
    problem = joint(project, "--case", "order-1").exception
    assert isinstance(problem, HarnessError)
    assert "20 cases" in str(problem.remedy)


def test_a_rubric_that_can_veto_nothing_is_refused_unless_that_is_asked_for(project: Path):
    rubric = project / "suites/tea/rubrics/kind.yaml"
    unguarded = (
        "{name: kind, domains: {safety: 1}, criteria: [{id: no_inner_workings, domain: safety, kind: code, "
        "code: reasoning_leakage, statement: The guest is told nothing of tools.}]}"
    )
    rubric.write_text(unguarded)
    assert "rubric 'kind'" in refused(joint(project, "--rubric", "kind", "--estimate"))
    assert 0 == joint(project, "--rubric", "kind", "--estimate", "--no-safety").exit_code
    rubric.write_text(unguarded.replace("kind: code", "kind: code, safety: true"))
    assert 0 == joint(project, "--rubric", "kind", "--estimate").exit_code


def test_what_is_no_optimisation_is_not_promoted(project: Path):
    (project / "runs/other").mkdir(parents=True)
    assert "`harness optimise`" in refused(typed(project, "promote", "other"))
    assert "'nothing'" in refused(typed(project, "promote", "nothing"))


def test_a_run_of_another_suite_is_refused_by_both_names(project: Path):
    suite = project / "suites/tea"
    shutil.copytree(suite, project / "suites/coffee")
    ran = [
        "--project",
        str(project),
        "run",
        "coffee",
        "--sandbox",
        "local",
        "--run-name",
        "poured",
        "--case",
        "order-1",
    ]
    assert CliRunner().invoke(harness, ran).exit_code in (0, 1)
    for words in (("--estimate",), ("--mode", "agent", "--component", "waiter")):
        assert re.search("'poured'.*'coffee'.*'tea'", refused(joint(project, "--from", "poured", *words)))
    assert not list(project.glob("runs/optimise-*"))


@pytest.mark.slow
def test_the_first_interrupt_lets_begun_trials_finish_and_keeps_them(project: Path):
    counted, go = project / "counted", project / "go"
    waiter = project / "suites/tea/waiter/waiter.py"
    waits = f"""
import time
with open({str(counted)!r}, "a") as counted:
    counted.write(".")
first = Path({str(counted)!r}).stat().st_size <= 2  # the first two end at once
while not first and not Path({str(go)!r}).exists():
    time.sleep(0.02)
"""
    waiter.write_text(waiter.read_text().replace("import Path\n", f"import Path\n{waits}", 1))
    command = [
        sys.executable,
        "-m",
        "harness",
        "--project",
        str(project),
        "optimise",
        *JOINT,
        "--rubric",
        "service",
        "--run-name",
        "one",
    ]
    command += ["--reflector-rules", str(project / "suites/tea/edits.yaml")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not counted.exists() or counted.read_text() != "....":
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    while "stopping: running trials finish" not in process.stderr.readline():
        assert process.poll() is None
    go.touch()
    process.communicate(timeout=120)
    assert (130, "....") == (process.returncode, counted.read_text())
    kept = [json.loads(line) for line in (project / "runs/one/journal.jsonl").read_text().splitlines()]
    assert 4 == sum("rollout" in one for one in kept)
