"""Look-ups that a plan announced and nobody made, and premises that an agent brought itself."""

from collections.abc import Callable
from typing import Any

from harness.scoring.evidence import Evidence, Verdict
from harness.scoring.failures.diagnose import findings, not_measured
from harness.scoring.failures.ranking import Fitted, Seen
from harness.scoring.scorecard import Kind
from harness.suite.tools import ToolSpec

Found = Callable[..., list[tuple[str, int | None]]]


def _tool(name: str) -> ToolSpec:
    return ToolSpec.model_validate(
        {"name": name, "effect": "read", "server": "s", "http": {"path": "/"}, "parameters": {"type": "object"}}
    )


TOOLS = [_tool("web_search"), _tool("final_answer")]
TASK = "In which year was the bridge over the northern river opened?"
PLAN = (
    "agent",
    "1. Search the web for articles about the bridge. 2. Look the year up in the database of the archive. "
    "3. Verify it against the records and reports of the town's website.",
)
SAYS = ("agent", "It is well known that the bridge is from 1937.")
ANSWER = ("call", "final_answer", {"answer": "1937"}, "1937")
PAGE = "The bridge was opened in 1937 by the mayor, as the Northern Echo wrote on its front page in the same week."


def test_an_answer_in_place_of_the_look_ups_of_the_plan_rests_on_nothing_and_hints_at_drift(
    found: Found, hinted: Found
) -> None:
    kinds = [("unchecked_answer", 1), ("unsupported_answer", 1)]
    assert kinds == found(PLAN, SAYS, ANSWER, task=TASK, tools=TOOLS)
    assert kinds == found(PLAN, SAYS, ANSWER, task=TASK, tools=TOOLS, failed=True)
    assert [("plan_not_carried_out", 1)] == hinted(PLAN, SAYS, ANSWER, task=TASK, tools=TOOLS)


def test_a_look_up_that_was_made_and_a_plan_that_needs_none_are_no_drift(found: Found, hinted: Found) -> None:
    looked = ("call", "web_search", {"query": "bridge"}, PAGE)
    riddle = ("agent", "1. Read the letters from left to right. 2. Verify that they make a sentence.")
    for turns in ((PLAN, looked, ANSWER), (riddle, SAYS, ANSWER)):
        assert [] == found(*turns, task=TASK, tools=TOOLS)
        assert [] == hinted(*turns, task=TASK, tools=TOOLS)


def test_a_success_and_a_run_that_handed_nothing_in_are_not_accused(told: Callable[..., Evidence]) -> None:
    evidence = told(PLAN, SAYS, ANSWER, task=TASK, tools=TOOLS)
    passed = Verdict(check="reward", verifier="reward", version="1", passed=True, reason="right")
    assert ((), ()) == findings(evidence.model_copy(update={"verdicts": (passed,)}))
    assert ((), ()) == findings(told(PLAN, SAYS, ("call", "web_search", {"query": "x"}, "x"), task=TASK, tools=TOOLS))


def _fitted(*kinds: Kind, right: int, sources: int = 2, without: str | None = None) -> Fitted:
    """Each kind stands in ten of a hundred runs of each source, `right` of them rightly; half of all have its mode."""
    seen = Seen(right=right, cases=10, labelled=50, runs=100)
    return Fitted(findings={kind: {f"s{n}": seen for n in range(sources)} for kind in kinds}, without=without)


def test_a_kind_by_definition_is_a_finding_until_a_labelled_source_refutes_it(told: Callable[..., Evidence]) -> None:
    evidence = told(PLAN, SAYS, ANSWER, task=TASK, tools=TOOLS)
    assert ((), 3) == (findings(evidence, Fitted())[1], len(findings(evidence, Fitted())[0]))
    facts, hints = findings(evidence, _fitted("plan_not_carried_out", "unchecked_answer", right=1, sources=1))
    assert ["unsupported_answer"] == [one.kind for one in facts]
    assert {"plan_not_carried_out", "unchecked_answer"} == {one.kind for one in hints}


def test_an_inferred_kind_is_a_finding_where_two_sources_confirm_it_whichever_is_left_out() -> None:
    assert not Fitted().is_finding("goal_left_out")
    assert not _fitted("goal_left_out", right=9, sources=1).is_finding("goal_left_out")
    assert _fitted("goal_left_out", right=9, sources=2).is_finding("goal_left_out")
    assert _fitted("goal_left_out", right=9, sources=1, without="s9").is_finding("goal_left_out")
    assert not _fitted("goal_left_out", right=6, sources=2).is_finding("goal_left_out")


def test_a_premise_of_the_agents_own_that_later_queries_rest_on_is_a_cascade(found: Found) -> None:
    def ask(words: str) -> tuple[Any, ...]:
        return ("call", "web_search", {"query": words}, "nothing about that was found")

    turns = [
        ask("bridge opening year"),
        ask("Millbrook bridge"),
        ask("mayor of Millbrook"),
        ask("Millbrook 2001 paper"),
    ]

    def premises(*asked: tuple[Any, ...], **options: Any) -> list[tuple[str, int | None]]:
        return [one for one in found(*asked, tools=TOOLS, **options) if one[0] == "carried_premise"]

    assert [("carried_premise", 1)] == premises(*turns, task=TASK, failed=True)
    given = f"{TASK} It stands in Millbrook."
    assert [] == premises(*turns[:3], task=given, failed=True)
    assert [] == premises(*turns, task=TASK)
    told = ("call", "web_search", {"query": "Millbrook bridge"}, "Millbrook is a town in the north")
    assert [] == premises(turns[0], told, *turns[2:], task=TASK, failed=True)
    code = [ask(f"{words} JFK") for words in ("flights", "gates", "fares")]
    assert [] == premises(*code, task=TASK, failed=True)


def test_drift_inside_the_same_things_is_said_not_to_be_measured(told: Callable[..., Evidence]) -> None:
    handed_in = told(PLAN, SAYS, ANSWER, task=TASK, tools=TOOLS)
    assert "goal_drift" not in not_measured(handed_in)
    open_end = told(PLAN, ("call", "web_search", {"query": "x"}, "x"), task=TASK, tools=TOOLS)
    assert not_measured(open_end)["goal_drift"]


def _asks(*queries: str) -> list[tuple[Any, ...]]:
    return [("call", "web_search", {"query": query}, "nothing about that was found") for query in queries]


def test_queries_that_leave_the_goal_for_another_are_hinted_at_or_told(told: Callable[..., Evidence]) -> None:
    turns = _asks("year bridge opened", "northern river bridge", "recipe for bread", "sourdough recipe oven time")
    every = _fitted("goal_left_out", "objective_switched", right=10)
    facts, _ = findings(told(*turns, task=TASK, tools=TOOLS, failed=True), every)
    assert {("goal_left_out", 3), ("objective_switched", 3)} == {
        (one.kind, one.origin_step) for one in facts if one.failure == "goal_drift"
    }
    passed = Verdict(check="reward", verifier="reward", version="1", passed=True, reason="right")
    good = told(*turns, task=TASK, tools=TOOLS).model_copy(update={"verdicts": (passed,)})
    assert ((), ()) == findings(good, every)


def test_queries_that_stay_with_the_goal_or_are_few_or_single_words_are_no_drift(told: Callable[..., Evidence]) -> None:
    every = _fitted("goal_left_out", "objective_switched", right=10)
    stays = _asks("bridge river", "mayor and northern paper", "northern river bridge opened")
    few = _asks("year bridge opened", "recipe for bread")
    single = [("call", "web_search", {"query": word}, "x") for word in ("bridge", "river", "bread")]
    for turns in (stays, few, single):
        found = findings(told(*turns, task=TASK, tools=TOOLS, failed=True), every)[0]
        assert "goal_drift" not in {one.failure for one in found}


def test_an_answer_in_words_stands_in_place_of_look_ups_too(found: Found) -> None:
    kinds = [("unchecked_answer", 1), ("unsupported_answer", 1)]
    assert kinds == found(PLAN, SAYS, task=TASK, tools=TOOLS)
    assert [] == found(PLAN, ("user", "No need to."), SAYS, task=TASK, tools=TOOLS)
    assert [] == found(PLAN, SAYS, task=TASK, tools=[])


def test_a_check_that_was_announced_later_and_not_made_is_premature(found: Found) -> None:
    looked = ("call", "web_search", {"query": "bridge"}, PAGE)
    will = ("agent", "The page says so. I will verify this with a second source.")
    assert [("unchecked_answer", 2)] == found(looked, will, ANSWER, task=TASK, tools=TOOLS)
    assert [] == found(will, looked, ANSWER, task=TASK, tools=TOOLS)
    assert [] == found(looked, will, ("user", "No need to."), ANSWER, task=TASK, tools=TOOLS)


def test_a_failed_run_that_asked_no_tool_at_all_answered_from_nowhere(found: Found) -> None:
    assert [("unsupported_answer", 0)] == found(ANSWER, task=TASK, tools=TOOLS, failed=True)
    assert [] == found(ANSWER, task=TASK, tools=TOOLS)
    kinds = found(ANSWER, task=TASK, tools=[_tool("final_answer")], failed=True)
    assert "unsupported_answer" not in [kind for kind, _ in kinds]


UNABLE = ("call", "final_answer", {"answer": "### Outcome: I was unable to locate an article on the bridge."}, "")


def test_an_answer_right_after_the_report_that_none_was_found_rests_on_nothing(found: Found, hinted: Found) -> None:
    searched = (
        "call",
        "web_search",
        {"query": "bridge opened"},
        "Ten towns, nine rivers and their ferries since 1820.",
    )
    turns = (("agent", "I ask the search agent."), searched, UNABLE, ANSWER)
    assert [("unsupported_answer", 3)] == found(*turns, task=TASK, tools=TOOLS)
    assert [("plan_not_carried_out", 3)] == hinted(*turns, task=TASK, tools=TOOLS)


def test_an_answer_that_the_report_told_or_that_was_looked_for_again_or_that_is_none_is_not_accused(
    found: Found, hinted: Found
) -> None:
    asked = ("agent", "I ask the search agent.")
    searched = (
        "call",
        "web_search",
        {"query": "bridge opened"},
        "Ten towns, nine rivers and their ferries since 1820.",
    )
    likely = "I was unable to confirm the year; the likeliest is 1937."
    partly = ("call", "final_answer", {"answer": likely}, "")
    again = ("call", "web_search", {"query": "northern bridge mayor"}, PAGE)
    none = ("call", "final_answer", {"answer": "The year could not be determined."}, "")
    for turns in ((searched, partly, ANSWER), (searched, UNABLE, again, ANSWER), (searched, UNABLE, none)):
        assert [] == found(asked, *turns, task=TASK, tools=TOOLS)
        assert [] == hinted(asked, *turns, task=TASK, tools=TOOLS)
