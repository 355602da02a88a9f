"""Loops beyond equal calls, answers that rest on nothing, workers whose result was carried on."""

from collections.abc import Callable
from typing import Any

from harness.scoring.evidence import Evidence, Verdict
from harness.scoring.failures.diagnose import findings, not_measured
from harness.scoring.failures.ranking import Counted, Fitted, fitted, suspects
from harness.scoring.scorecard import Kind
from harness.suite.cases import Case
from harness.suite.tools import ToolSpec
from harness.traces.trajectory import Step, Trajectory
from harness.traces.trial import Trial

Found = Callable[..., list[tuple[str, int | None]]]


def _tool(name: str) -> ToolSpec:
    return ToolSpec.model_validate(
        {"name": name, "effect": "read", "server": "s", "http": {"path": "/"}, "parameters": {"type": "object"}}
    )


TOOLS = [_tool("page_down"), _tool("find"), _tool("python_interpreter"), _tool("final_answer")]
ERROR = "the tool takes no argument by this name"


def _failing(**arguments: Any) -> tuple[Any, ...]:
    return ("call", "page_down", arguments, None, ERROR)


FIND = ("call", "find", {"word": "horse"}, "no such word on this page of the book")


def test_a_tool_that_fails_again_and_again_with_one_error_is_stuck(found: Found) -> None:
    assert [("stuck_on_error", 2)] == found(_failing(x=""), FIND, _failing(x=""), tools=TOOLS)
    three = [_failing(words="the horse of the vet", n=n) for n in range(3)]
    assert [("stuck_on_error", 1)] == found(*three, tools=TOOLS)


def test_one_more_try_after_which_the_cause_is_looked_for_is_no_loop(found: Found) -> None:
    assert [] == found(_failing(x=""), _failing(x=""), FIND, tools=TOOLS)
    assert [("stuck_on_error", 1)] == found(_failing(x=""), _failing(x=""), tools=TOOLS)


def test_another_error_or_a_success_between_is_no_loop(found: Found) -> None:
    good = ("call", "page_down", {}, "the next page tells of other animals")
    other = ("call", "page_down", {"x": ""}, None, "the server did not answer in time")
    assert [] == found(_failing(x=""), good, _failing(x=""), good, tools=TOOLS)
    assert [] == found(_failing(x=""), other, _failing(x=""), good, tools=TOOLS)


def test_five_failures_of_a_tool_in_direct_succession_are_stuck_whatever_the_errors_are(found: Found) -> None:
    names = ("river", "bridge", "mayor", "paper", "archive")
    tries = [("call", "find", {name: name}, None, f"{name} {name}s cannot be {name}d in this") for name in names]
    assert [("stuck_on_error", 1)] == found(*tries, tools=TOOLS)
    assert [] == found(*tries[:4], FIND, tries[4], tools=TOOLS)


def _printing(words: str) -> tuple[Any, ...]:
    question = f"please find for me the year in which the old bridge over the river in the northern town was {words}"
    code = f"task = '{question} and tell me which newspaper wrote about the opening day'\nprint(task)"
    return ("call", "python_interpreter", {"code": code}, f"Execution logs:\n{code[8:-14]}\nLast output: None")


def test_printing_ones_own_question_brings_nothing_new_and_supports_no_answer(found: Found, hinted: Found) -> None:
    asked = [_printing(words) for words in ("built", "opened", "repaired")]
    answer = ("call", "final_answer", {"answer": "1937"}, "1937")
    assert [("unsupported_answer", 3)] == found(*asked, answer, tools=TOOLS)
    assert [("echoed_call", 1)] == hinted(*asked, answer, tools=TOOLS)
    told = "The bridge was opened in 1937 by the mayor, as the Northern Echo wrote on its front page in the same week."
    looked = ("call", "find", {"word": "bridge"}, told)
    assert [] == found(asked[0], looked, answer, tools=TOOLS)


def test_what_a_program_computed_is_supported_and_what_it_only_contains_is_not(found: Found) -> None:
    answer = ("call", "final_answer", {"answer": "b, e"}, "b, e")
    code = "for x in table:\n    check(x)\nprint(', '.join(odd))  # expected: b, e"
    computing = ("call", "python_interpreter", {"code": code}, "Execution logs:\nb, e\nLast output: None")
    assert [] == found(computing, answer, tools=TOOLS)
    echoing = ("call", "python_interpreter", {"code": "print('the two that differ are b, e')"}, "b, e")
    assert [("unsupported_answer", 1)] == found(echoing, answer, tools=TOOLS)
    plan = ("agent", "1. Retrieve the table from the web page of its author. 2. Compare its rows.")
    assert ("unsupported_answer", 2) in found(plan, computing, answer, tools=TOOLS)


def _conversation(results: int) -> Evidence:
    steps = [
        Step(index=0, source="user", message="Where is the dojo?"),
        Step(index=1, source="agent", agent="Orchestrator", thought="Plan: search for the dojo, where it is."),
    ]
    for n in range(results):
        sent = len(steps)
        steps.append(Step(index=sent, source="agent", agent="Orchestrator", message="Please search"))
        steps.append(Step(index=sent + 1, source="agent", agent="Surfer", parent=sent, message=f"page {n}"))
    verdict = Verdict(check="reward", verifier="reward", version="1", passed=False, reason="wrong")
    trajectory = Trajectory(trace_id="t", agent="a", steps=tuple(steps))
    trial = Trial(case_id="c", attempt=1, outcome="finished", trajectory=trajectory)
    return Evidence(case=Case(id="c", task="Where is the dojo?"), trial=trial, tools=(), verdicts=(verdict,))


def test_a_workers_result_that_was_taken_for_enough_is_named() -> None:
    [few] = findings(_conversation(2))[1]
    [many] = findings(_conversation(7))[1]
    assert ("worker_result_carried", 5, 5) == (few.kind, few.origin_step, many.origin_step)
    assert ("cascading_error", "cascading_error") == (few.failure, many.failure)


def test_the_ranked_answer_names_step_agent_and_counts_and_a_success_has_none() -> None:
    evidence = _conversation(2)
    found = findings(evidence)[1]
    [one] = suspects(found, evidence.trial.trajectory, success=False)
    assert (5, "Surfer", "worker_result_carried") == (one.step, one.agent, one.kind)
    assert fitted().steps["worker_result_carried"] == one.counted
    assert () == suspects(found, evidence.trial.trajectory, success=True)


def test_several_suspects_stand_by_how_often_their_kind_was_right_the_uncounted_by_the_order_of_causes() -> None:
    evidence = _conversation(2)
    [first] = findings(evidence)[1]
    kinds: tuple[Kind, ...] = (
        "first_answer_carried",
        "assumed_data",
        "unsourced_figures_carried",
        "plan_for_another_task",
    )
    many = [first.model_copy(update={"kind": kind, "origin_step": step}) for step, kind in enumerate(kinds)]
    right = zip(kinds, (2, 4, 6, 8), strict=True)
    numbers = Fitted(steps={kind: Counted(right=count, cases=10) for kind, count in right})
    ranked = suspects(many, evidence.trial.trajectory, success=False, numbers=numbers)
    assert [3, 2, 1, 0] == [one.step for one in ranked]
    unlikely = first.model_copy(update={"kind": "missing_write", "origin_step": 1})
    uncounted = [many[3], first.model_copy(update={"kind": "wrong_target", "origin_step": 0}), many[1]]
    ranked = suspects(uncounted, evidence.trial.trajectory, success=False, numbers=numbers)
    assert [(3, True), (0, False), (1, True)] == [(one.step, one.counted is not None) for one in ranked]
    doubtful = Fitted(certain=0.4)
    assert () == suspects([unlikely], evidence.trial.trajectory, success=False, numbers=doubtful)


def test_what_cannot_be_measured_is_said_with_the_reason() -> None:
    evidence = _conversation(2)
    silent = {"loop_trap", "tool_hallucination", "wrong_outcome", "premature_commitment", "cascading_error"}
    assert silent == set(not_measured(evidence))
    assert "hint" in not_measured(evidence)["cascading_error"]


def test_a_query_with_the_words_of_an_earlier_one_is_a_repeat_and_a_refined_one_is_none(found: Found) -> None:
    def search(query: str, answer: str = "a page", **more: str) -> tuple[object, ...]:
        return ("call", "web_search", {"query": query, **more}, answer)

    first, look = search("pie menus or linear menus 2015"), ("call", "get_order", {"order_id": "W1000001"}, "open")
    again, refined = search('2015 "Pie Menus or linear menus"', "much the same"), search("pie menus 2015 author list")
    tools = ()
    assert [("repeated_call", 2)] == found(first, look, again, tools=tools)
    assert [] == found(first, look, refined, tools=tools)
    assert [] == found(first, ("user", "please look again"), again, tools=tools)
    assert [] == found(search("oslo rome", to="a b c d"), search("rome oslo", to="a b c d"), tools=tools)
