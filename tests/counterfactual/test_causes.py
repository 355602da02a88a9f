"""Causes are found by trying, and mutants by what they leave behind."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from harness.improve.blame import BlameRequest, CauseSearch
from harness.improve.mutants import Mutating, mutants, pool_of
from harness.improve.repairs import repairs
from harness.improve.subject import open_subject_of
from harness.reports.html.page import html_report
from harness.runs.execution.variants import VariantRequest, open_variants
from harness.runs.plan.plan import RunOptions
from harness.runs.plan.planning import plan_of
from harness.runs.store.folder import RunFolder
from harness.scoring.alignment import deviations_from_reference, deviations_from_trial
from harness.suite.cases import Case, ReferenceCall
from harness.suite.interventions import FedCall, Intervention, Invocation, TrialVariant
from harness.suite.loading import load_suite
from tests.counterfactual.conftest import LOCAL
from tests.walks.conftest import Walk

CASE = "planned-meeting"


def test_the_step_that_was_made_wrong_is_named_by_reference_alone(basics: Walk) -> None:
    options = RunOptions(suite="basics", cases=(CASE,), tools="live", sandbox="local")
    suite = load_suite(basics.folder, "basics")
    passing = RunFolder.open(basics.folder / "runs" / "good").trial(CASE, 1)
    assert passing is not None
    case = next(case for case in suite.cases if case.id == CASE)
    made = mutants(
        Mutating(case=case, trial=passing, tools=suite.tools, pool=pool_of([passing], suite.cases, suite.tools))
    )
    wrong = next(one for one in made if one.operator == "argument_changed" and "room" in one.intervention.words)
    with open_variants(plan_of(basics.folder, options), lambda _: None) as bench:
        planted = bench.run([VariantRequest(case=case, variant=TrialVariant(interventions=(wrong.intervention,)))])
        assert [False] == [one.success for one in planted]
        folder = RunFolder.open(bench.keep(planted).path)
        subject = open_subject_of(basics.folder, folder, CASE, 1)
        found = CauseSearch(subject, BlameRequest(repeats=2), bench).run()
    assert found.cause is not None
    assert ((wrong.step,), ("wrong_arguments",)) == (found.cause.steps, found.cause.kinds)
    assert (2, 0) == (found.cause.mended, found.cause.unchanged_successes)


@pytest.mark.slow
def test_a_trial_that_succeeds_by_itself_when_it_is_tried_again_has_no_cause(tmp_path: Path) -> None:
    walk = Walk(tmp_path / "evals")
    walk.folder.mkdir()
    walk("init", ".")
    agent = walk.folder / "suites" / "hello" / "agents" / "v1" / "main.py"
    marker = tmp_path / "was_here"
    agent.write_text(
        agent.read_text().replace(
            'send("/reply", {"message": greeting})',
            f"seen = os.path.exists({str(marker)!r})\n    open({str(marker)!r}, 'w').close()\n"
            '    send("/reply", {"message": greeting if seen else "No."})',
        )
    )
    words = ("--case", "hello-ada", *LOCAL, "--run-name", "moody")
    walk("run", "hello", *words)
    done = walk("blame", "moody", "hello-ada", *LOCAL, "--repeats", "2", "--json", status=1)
    told = json.loads(done.stdout)
    assert (None, None) == (told["cause"], told["run"])
    assert "2 of 2" in told["reason"]


HASTY = """
import re
from door import Door
door = Door()
door.task()
door.tool("plan_create", steps=["look", "book", "invite"])
door.tool("list_rooms")
door.tool("book_room", room="amber", hour=14)
door.tool("invite", people=["Ada", "Ben", "Cem", "Dee", "Eve"], room="birch", hour=14)
door.reply("birch")
"""


@pytest.mark.slow
def test_changes_at_earlier_steps_that_the_budget_left_untried_are_told(basics: Walk) -> None:
    suite = basics.folder / "suites" / "basics" / "suite.yaml"
    agents, before = suite.parent / "agents", suite.read_text()
    (agents / "hasty").mkdir()
    (agents / "hasty" / "door.py").write_text((agents / "good" / "door.py").read_text())
    (agents / "hasty" / "agent.py").write_text(HASTY)
    declared = 'agents:\n  hasty: {command: [python3, "{agent}/agent.py"], files: agents/hasty}\n'
    suite.write_text(before.replace("agents:\n", declared))
    try:
        basics("run", "basics", "--agent", "hasty", "--case", CASE, *LOCAL, "--tools", "live", "--run-name", "hasty")
        words = ("blame", "hasty", CASE, *LOCAL, "--tools", "live", "--reference-only", "--repeats", "1")
        found = json.loads(basics(*words, "--budget", "1", "--json").stdout)
        told = basics(*words, "--budget", "1").stdout
        enough = json.loads(basics(*words, "--budget", "9", "--json").stdout)
    finally:
        suite.write_text(before)
    assert (["wrong_arguments"], 1) == (found["cause"]["kinds"], found["trials"])
    assert found["cause"]["untried_earlier"]
    assert all(step < found["cause"]["steps"][0] for step in found["cause"]["untried_earlier"])
    assert "the cause may be there" in told
    assert (found["cause"]["steps"], []) == (enough["cause"]["steps"], enough["cause"]["untried_earlier"])


@pytest.mark.slow
def test_no_more_trials_are_run_than_the_budget_allows(basics: Walk) -> None:
    words = ("--tools", "live", "--reference-only", "--json")
    found = json.loads(basics("blame", "naive", CASE, *LOCAL, *words, "--budget", "7", "--repeats", "3").stdout)
    assert (7, 3) == (found["trials"], found["cause"]["mended"])
    none = json.loads(basics("blame", "naive", "five-items", *LOCAL, *words, "--budget", "6", status=1).stdout)
    assert none["trials"] == 1
    assert {"5", "1 of 10"} == set(re.findall(r"\b1 of 10\b|\b5\b", none["reason"]))


@pytest.mark.slow
def test_steps_of_an_imported_trajectory_are_found_by_their_index(basics: Walk) -> None:
    subject = open_subject_of(basics.folder, RunFolder.open(basics.folder / "runs" / "naive"), CASE, 1)
    trial = subject.trial
    steps = tuple(step.model_copy(update={"index": step.index + 1000}) for step in trial.trajectory.steps)
    moved = trial.model_copy(update={"trajectory": trial.trajectory.model_copy(update={"steps": steps})})
    strange = replace(subject, stored=replace(subject.stored, trial=moved))
    here, there = ([one.step for one in repairs(told, None)] for told in (subject, strange))
    assert [step + 1000 for step in here] == there


def test_a_budget_that_cannot_confirm_a_cause_is_refused(basics: Walk) -> None:
    done = basics("blame", "naive", CASE, *LOCAL, "--budget", "5", "--repeats", "3", status=2)
    assert "--budget 6" in done.stderr


def test_a_trial_that_succeeded_has_nothing_to_blame(basics: Walk) -> None:
    assert f"good/{CASE}" in basics("blame", "good", CASE, *LOCAL, status=2).stderr


@pytest.mark.slow
def test_a_missing_call_is_found_and_the_fork_that_succeeds_is_kept(basics: Walk) -> None:
    words = ("--tools", "live", "--reference-only", "--repeats", "1", "--json")
    found = json.loads(basics("blame", "naive", CASE, *LOCAL, *words).stdout)
    assert ["missing_call"] == found["cause"]["kinds"]
    assert "plan_create" in found["cause"]["words"]
    assert [True] == [card.success for card in RunFolder.open(basics.folder / "runs" / found["run"]).scorecards()]


@pytest.mark.slow
def test_a_cause_is_shown_beside_the_symptom_and_with_both_branches(basics: Walk) -> None:
    words = ("--tools", "live", "--reference-only", "--repeats", "1", "--json")
    found = json.loads(basics("blame", "naive", CASE, *LOCAL, *words).stdout)
    told = basics("explain", "naive", CASE).stdout
    assert f"at step {found['cause']['steps'][0]}: missing call" in told
    assert f"symptom: {found['symptom']}" in told
    assert f"harness explain {found['run']} {CASE}" in told
    kept = json.loads(basics("explain", "naive", CASE, "--json").stdout)["cause"]
    assert (found["cause"]["steps"], found["run"]) == (kept["steps"], kept["fork"])
    page = html_report(RunFolder.open(basics.folder / "runs" / "naive"))
    data = next(one for one in page.split("<script")[1:] if '"cause":' in one)
    view = json.loads(data.split(">", 1)[1].split("</script>")[0])["cause"]
    assert view["symptom"] == found["symptom"]
    assert any(call["name"] == "plan_create" for step in view["branch"]["steps"] for call in step.get("calls", []))


@pytest.mark.slow
def test_a_suite_that_notices_less_has_a_hole_with_a_check_that_closes_it(basics: Walk) -> None:
    cases = basics.folder / "suites" / "basics" / "cases.yaml"
    before = cases.read_text()
    cases.write_text(before[: before.index("    - name: booked")])
    words = ("--case", CASE, *LOCAL, "--tools", "live", "--mutants", "4", "--min-mutation-score", "1", "--json")
    try:
        gated = basics("case", "mutate", "basics", *words, status=1)
    finally:
        cases.write_text(before)
    report = json.loads(gated.stdout)
    total = report["total"]
    assert total["mutants"] == total["noticed"] + total["unnoticed"] + total["equivalent"] + total["unmeasured"]
    assert report["holes"]
    assert {"rules"} == {hole["proposal"]["verifier"] for hole in report["holes"] if hole["operator"] == "call_doubled"}
    assert "gate mutation_score >= 1: fails" in gated.stderr


@pytest.mark.slow
def test_a_score_is_kept_where_there_is_a_baseline_and_says_of_how_many_cases_it_is(basics: Walk) -> None:
    words = ("case", "mutate", "basics", "--case", CASE, *LOCAL, "--tools", "live", "--mutants", "1", "--keep")
    without = basics(*words, status=3)
    assert "harness baseline" in without.stderr
    assert "mutation score" not in without.stdout  # it is told before anything is run
    basics("baseline", "good", "--allow-unmeasured", "4")
    assert "covers 1 of 5 cases" in basics(*words).stderr


@pytest.mark.slow
def test_an_answer_that_was_changed_is_judged_as_if_its_trial_had_been_run(basics: Walk) -> None:
    options = RunOptions(suite="basics", cases=(CASE, "arithmetic"), tools="live", sandbox="local")
    with open_variants(plan_of(basics.folder, options), lambda _: None, evaluated="verdicts") as bench:
        case = next(case for case in bench.suite.cases if case.id == "arithmetic")
        plain = bench.run([VariantRequest(case=case)])[0]
        trial, tools = plain.scored.trial, bench.suite.tools
        made = mutants(Mutating(case=case, trial=trial, tools=tools, pool=pool_of([trial], [case], tools)))
        changed = [one.intervention for one in made if one.intervention.changes_answer_alone]
        variant = TrialVariant(interventions=(changed[0],))
        run, before = bench.run([VariantRequest(case=case, variant=variant)])[0], bench.trials_run
        told = bench.with_answer(plain, variant)
    assert ["number_changed"] == [one.operator for one in made if one.intervention.changes_answer_alone]
    assert (False, before) == (told.success, bench.trials_run)
    assert run.scored.card.verdicts == told.scored.card.verdicts
    assert run.scored.trial.trajectory.digest == told.scored.trial.trajectory.digest
    assert () == told.scored.card.scores


def call(tool: str, step: int, **arguments: object) -> FedCall:
    return FedCall.model_validate({"tool": tool, "arguments": arguments, "step": step})


@pytest.fixture
def case(project: Path) -> Case:
    return next(case for case in load_suite(project, "library_desk").cases if case.id == "lend")


def test_a_reference_tells_which_arguments_differ_and_which_call_is_missing(project: Path, case: Case) -> None:
    tools = load_suite(project, "library_desk").tools
    found = deviations_from_reference([call("lend_book", 1, book_id=2, member_id=1)], case.reference, tools)
    assert [("wrong_arguments", 0), ("missing_call", 0)] == [(one.kind, one.at) for one in found]
    assert ("book_id",) == found[0].arguments


def test_of_equal_calls_the_one_in_the_place_of_another_is_the_wrong_one(project: Path) -> None:
    suite = load_suite(project, "basics")
    (long,) = [one for one in suite.cases if one.id == "long-session"]
    made = [call("read_page", 1, page=3), *(call("read_page", n, page=n) for n in (2, 3, 4))]
    found = deviations_from_reference(made, long.reference[:4], suite.tools)
    assert [("wrong_arguments", 0, {"page": 1})] == [(one.kind, one.at, one.expected.arguments) for one in found]


def test_calls_in_the_wrong_order_are_named_so(project: Path, case: Case) -> None:
    tools = load_suite(project, "library_desk").tools
    query = {"query": "The Left Hand of Darkness"}
    made = [call("lend_book", 1, book_id=1, member_id=1), call("find_books", 2, **query)]
    found = deviations_from_reference(made, case.reference, tools)
    assert [("wrong_order", 0, 2)] == [(one.kind, one.at, one.belongs_at) for one in found]


def test_of_a_call_made_twice_the_later_one_is_needless(project: Path) -> None:
    tools = load_suite(project, "library_desk").tools
    once = [call("lend_book", 1, book_id=1, member_id=1)]
    found = deviations_from_trial([*once, call("lend_book", 2, book_id=1, member_id=1)], once, tools)
    assert [("needless_write", 1)] == [(one.kind, one.at) for one in found]


def test_a_reference_of_no_calls_makes_every_write_needless(project: Path) -> None:
    tools = load_suite(project, "library_desk").tools
    none: tuple[ReferenceCall, ...] = ()
    made = [call("lend_book", 1, book_id=1, member_id=1)]
    assert ["needless_write"] == [one.kind for one in deviations_from_reference(made, none, tools)]
    assert () == deviations_from_reference(made, None, tools)


def test_an_intervention_is_refused_that_has_no_call_to_make() -> None:
    with pytest.raises(ValueError, match=r"edits\.0"):
        Intervention.model_validate({"words": "x", "edits": [{"at": 0, "kind": "replace"}]})
    assert Intervention(words="x", at_end=(Invocation(tool="t"),)).at_end
