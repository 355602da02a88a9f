"""Causes are found by trying."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.improve.blame import BlameRequest, CauseSearch
from harness.improve.repairs import repairs
from harness.improve.subject import open_subject_of
from harness.reports.pages.files import html_report
from harness.runs.execution.variants import VariantRequest, open_variants
from harness.runs.plan.plan import RunOptions
from harness.runs.plan.planning import plan_of
from harness.runs.store.folder import RunFolder
from harness.scoring.alignment import deviations_from_reference, deviations_from_trial
from harness.suite.cases import Case, ReferenceCall
from harness.suite.interventions import FedCall, Intervention, Invocation, TrialVariant
from harness.suite.loading import load_suite
from qa.counterfactual_eval.mutants import Mutating, mutants, pool_of
from tests.improve.causes.conftest import LOCAL
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
        found = CauseSearch(subject, BlameRequest(), bench).run()
    assert found.cause is not None
    assert ((wrong.step,), ("wrong_arguments",)) == (found.cause.steps, found.cause.kinds)
    assert (3, 0, 0.05) == (found.cause.mended, found.cause.unchanged_successes, found.cause.p_value)


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
    done = walk("blame", "moody", "hello-ada", *LOCAL, "--json", status=1)
    told = json.loads(done.stdout)
    assert (None, None, 3) == (told["cause"], told["run"], told["trials"])
    assert "3 of 3" in told["reason"]


HEAD = """
import pathlib
from door import Door
door = Door()
door.task()
"""
PLAN = 'door.tool("plan_create", steps=["list the rooms", "book the smallest that fits", "invite everybody"])\n'
LIST = 'door.tool("list_rooms")\n'
INVITE = 'door.tool("invite", people=["Ada", "Ben", "Cem", "Dee", "Eve"], room="birch", hour=14)\n'
BOOK = 'door.tool("book_room", room="birch", hour=14)\n'
REPLY = 'door.reply("birch")\n'
HASTY = HEAD + PLAN + LIST + BOOK.replace("birch", "amber") + INVITE + REPLY


@contextmanager
def agents(basics: Walk, sources: Mapping[str, str], edit: Callable[[str], str] = lambda text: text) -> Iterator[None]:
    """The suite with these further agents, and its cases edited."""
    folder = basics.folder / "suites" / "basics"
    suite, cases = folder / "suite.yaml", folder / "cases.yaml"
    before = suite.read_text(), cases.read_text()
    declared = ""
    for name, source in sources.items():
        (folder / "agents" / name).mkdir(exist_ok=True)
        (folder / "agents" / name / "door.py").write_text((folder / "agents" / "good" / "door.py").read_text())
        (folder / "agents" / name / "agent.py").write_text(source)
        declared += f'  {name}: {{command: [python3, "{{agent}}/agent.py"], files: agents/{name}}}\n'
    suite.write_text(before[0].replace("agents:\n", f"agents:\n{declared}"))
    cases.write_text(edit(before[1]))
    try:
        yield
    finally:
        suite.write_text(before[0])
        cases.write_text(before[1])


def blamed(basics: Walk, agent: str, case: str, *words: str, status: int = 0) -> dict[str, Any]:
    run = f"{agent}-{len(list((basics.folder / 'runs').iterdir()))}"
    basics("run", "basics", "--agent", agent, "--case", case, *LOCAL, "--live", "tools", "--run-name", run)
    found: dict[str, Any] = json.loads(
        basics("blame", run, case, *LOCAL, "--live", "tools", "--json", *words, status=status).stdout
    )
    return found


@pytest.mark.slow
def test_changes_at_earlier_steps_that_the_budget_left_untried_are_told(basics: Walk) -> None:
    with agents(basics, {"hasty": HASTY}):
        basics("run", "basics", "--agent", "hasty", "--case", CASE, *LOCAL, "--live", "tools", "--run-name", "hasty")
        words = ("blame", "hasty", CASE, *LOCAL, "--live", "tools", "--reference-only", "--repeats", "1")
        found = json.loads(basics(*words, "--budget", "1", "--json", status=1).stdout)
        told = basics(*words, "--budget", "1", status=1).stdout
        enough = json.loads(basics(*words, "--budget", "9", "--json", status=1).stdout)
    assert (["wrong_arguments"], 1) == (found["cause"]["kinds"], found["trials"])
    assert found["cause"]["untried_earlier"] or found["cause"]["steps"] == enough["cause"]["steps"]
    assert all(step < found["cause"]["steps"][0] for step in found["cause"]["untried_earlier"])
    assert len(told.splitlines()) <= 5
    assert "not confirmed" in told
    assert (found["cause"]["steps"], []) == (enough["cause"]["steps"], enough["cause"]["untried_earlier"])


@pytest.mark.slow
def test_two_faults_are_found_though_all_changes_together_do_harm(basics: Walk) -> None:
    """The reference and the passing trial each know the missing invitation in words of their own: one too many."""
    sources = {"forgetful": HEAD + LIST + BOOK + REPLY, "polite": HEAD + PLAN + LIST + BOOK + POLITE + REPLY}

    def exact(cases: str) -> str:
        old = "with: {mode: superset, only: {plan_create: []}}"
        return cases.replace(old, "with: {mode: unordered, only: {plan_create: [], invite: [room]}}")

    with agents(basics, sources, exact):
        basics("run", "basics", "--agent", "polite", "--case", CASE, *LOCAL, "--live", "tools", "--run-name", "polite")
        found = blamed(basics, "forgetful", CASE)
    assert ["missing_call", "missing_call"] == found["cause"]["kinds"]
    assert ["passing_trial", "reference"] == found["basis"]
    assert found["sets"] > 1


POLITE = 'door.tool("invite", people=["Eve", "Dee", "Cem", "Ben", "Ada"], room="birch", hour=14)\n'
COUNT = """
fruit = ["apples", "bananas", "cherries", "dates", "elderberries"]
total = sum(door.tool("count_item", item=name)["count"] for name in FRUIT)
door.reply(f"{total + MORE} pieces")
"""


def answer_alone(cases: str) -> str:
    """Of `five-items`, the check of the answer is left."""
    begin, end = cases.index("    - name: all_counted"), cases.index("- id: planned-meeting")
    return cases[:begin] + "\n" + cases[end:]


@pytest.mark.slow
def test_an_answer_that_is_replaced_stands_behind_the_calls_that_led_to_it(basics: Walk) -> None:
    misread = '["apples", "apples", "cherries", "dates", "dates"]'
    sources = {
        "misreading": HEAD + COUNT.replace("FRUIT", misread).replace("MORE", "0"),
        "miscounting": HEAD + COUNT.replace("FRUIT", "fruit").replace("MORE", "1"),
    }
    with agents(basics, sources, answer_alone):
        read = blamed(basics, "misreading", "five-items", "--reference-only")
        counted = blamed(basics, "miscounting", "five-items", "--reference-only")
    assert {"wrong_arguments"} == set(read["cause"]["kinds"])
    assert 2 == len(read["cause"]["steps"])
    assert (["answer_itself"], 0.05) == (counted["cause"]["kinds"], counted["cause"]["p_value"])


@pytest.mark.slow
@pytest.mark.parametrize(("heads", "trials", "told"), [({4}, 7, "chance explains it"), ({2}, 3, "--repeats 6")])
def test_a_coin_that_an_agent_flips_is_no_cause(
    basics: Walk, tmp_path: Path, heads: set[int], trials: int, told: str
) -> None:
    """Heads: a file that no call writes. The control is run first, then the one change, then that change again."""
    flips = f"""
count = pathlib.Path({str(tmp_path / "flips")!r})
flip = count.stat().st_size if count.exists() else 0
count.write_text("x" * (flip + 1))
if flip in {heads}:
    pathlib.Path("note.txt").write_text("heads")
"""

    def noted(cases: str) -> str:
        cut = cases.index("    - name: booked")
        return cases[:cut] + "    - {name: noted, verifier: files, with: {added: [note.txt]}}\n"

    with agents(basics, {"coin": HEAD + flips + PLAN + LIST + LIST + BOOK + INVITE + REPLY}, noted):
        found = blamed(basics, "coin", CASE, "--reference-only", "--jobs", "1", status=1)
    assert (None, None, trials) == (found["cause"], found["run"], found["trials"])
    assert told in found["reason"]


@pytest.mark.slow
def test_no_more_trials_are_run_than_the_budget_allows(basics: Walk) -> None:
    words = ("--live", "tools", "--reference-only", "--json")
    found = json.loads(basics("blame", "naive", CASE, *LOCAL, *words, "--budget", "7", "--repeats", "3").stdout)
    assert (7, 3) == (found["trials"], found["cause"]["mended"])
    none = json.loads(basics("blame", "naive", "five-items", *LOCAL, *words, "--budget", "7", status=1).stdout)
    assert none["trials"] == 4
    assert {"6", "1 of 10"} == set(re.findall(r"\b1 of 10\b|\b6\b", none["reason"]))


@pytest.mark.slow
def test_steps_of_an_imported_trajectory_are_found_by_their_index(basics: Walk) -> None:
    subject = open_subject_of(basics.folder, RunFolder.open(basics.folder / "runs" / "naive"), CASE, 1)
    trial = subject.trial
    steps = tuple(step.model_copy(update={"index": step.index + 1000}) for step in trial.trajectory.steps)
    moved = trial.model_copy(update={"trajectory": trial.trajectory.model_copy(update={"steps": steps})})
    strange = replace(subject, stored=replace(subject.stored, trial=moved))
    here, there = ([one.step for one in repairs(told, None)] for told in (subject, strange))
    assert [step + 1000 for step in here] == there


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        (("--budget", "6"), "--budget 7"),
        (("--repeats", "2"), "--repeats 3"),
        (("--confidence", "0.99"), "--repeats 5"),
    ],
)
def test_what_cannot_confirm_a_cause_is_refused(basics: Walk, given: tuple[str, ...], remedy: str) -> None:
    assert remedy in basics("blame", "naive", CASE, *LOCAL, *given, status=2).stderr


def test_a_trial_that_succeeded_has_nothing_to_blame(basics: Walk) -> None:
    assert f"good/{CASE}" in basics("blame", "good", CASE, *LOCAL, status=2).stderr


@pytest.mark.slow
def test_a_missing_call_is_found_and_the_fork_that_succeeds_is_kept(basics: Walk) -> None:
    words = ("--live", "tools", "--reference-only", "--json")
    found = json.loads(basics("blame", "naive", CASE, *LOCAL, *words).stdout)
    assert ["missing_call"] == found["cause"]["kinds"]
    assert "plan_create" in found["cause"]["words"]
    assert [True] == [card.success for card in RunFolder.open(basics.folder / "runs" / found["run"]).scorecards()]


@pytest.mark.slow
def test_a_cause_is_shown_beside_the_symptom_and_with_both_branches(basics: Walk) -> None:
    words = ("--live", "tools", "--reference-only", "--json")
    found = json.loads(basics("blame", "naive", CASE, *LOCAL, *words).stdout)
    told = basics("explain", "naive", CASE).stdout
    assert f"at step {found['cause']['steps'][0]}: missing call" in told
    assert f"symptom: {found['symptom']}" in told
    assert f"harness explain {found['run']} {CASE}" in told
    kept = json.loads(basics("explain", "naive", CASE, "--json").stdout)["cause"]
    assert (found["cause"]["steps"], found["run"]) == (kept["steps"], kept["fork"])
    page = html_report(basics.folder, RunFolder.open(basics.folder / "runs" / "naive"))
    assert "Cause by intervention" in page
    assert f"With the change it succeeds in {found['cause']['mended']} of" in page


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
