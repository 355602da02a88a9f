"""Every built-in verifier and metric says what it reads of a trajectory, so that a new one is decided about."""

from typing import Any, ClassVar, get_args

import pytest

from harness.scoring.evidence import Evidence
from harness.scoring.findings.facts import FACTS, diagnose
from harness.scoring.registry import METRICS, VERIFIERS
from harness.scoring.scorecard import Kind
from harness.scoring.scorer import content_read, unknown_because
from harness.suite.cases import Case
from harness.suite.tools import HttpRoute, ToolSpec
from harness.traces.trajectory import Content, Observation, Step, ToolCall, ToolFailure, Trajectory
from harness.traces.trial import Trial


def test_every_built_in_verifier_and_metric_but_no_failure_says_what_it_reads() -> None:
    silent = {one.__name__ for one in (*VERIFIERS.values(), *METRICS.values()) if not hasattr(one, "reads")}
    assert silent == {"NoFailure"}


def test_every_kind_of_finding_says_what_it_reads() -> None:
    assert {*get_args(Kind)} - {"judged", "unexplained"} == FACTS.keys()


def _looping(uncaptured: tuple[Content, ...]) -> Evidence:
    seen = Observation(call_id="1", content="nothing found")
    call = ToolCall(id="1", name="search", arguments={"query": "Rome"})
    steps = tuple(Step(index=n, source="agent", calls=(call,), observations=(seen,)) for n in range(6))
    trajectory = Trajectory(trace_id="t", agent="a", steps=steps, uncaptured=uncaptured)
    trial = Trial(case_id="c", attempt=1, outcome="finished", trajectory=trajectory)
    tool = ToolSpec(
        name="search",
        description="",
        parameters={"type": "object"},
        effect="read",
        server="s",
        http=HttpRoute(path="/"),
    )
    return Evidence(case=Case(id="c", task="Find Rome."), trial=trial, tools=(tool,))


@pytest.mark.parametrize(
    ("uncaptured", "found"),
    [((), True), (("answer",), True), (("messages", "answer"), True), (("results",), False), (("arguments",), False)],
)
def test_a_mode_is_searched_for_where_what_it_reads_was_captured(uncaptured: tuple[Content, ...], found: bool) -> None:
    evidence = _looping(uncaptured)
    assert found is ("loop_trap" in {one.failure for one in diagnose(evidence)})


def test_an_invented_tool_is_found_by_its_name_alone() -> None:
    evidence = _looping(("arguments", "results", "messages", "answer"))
    [step, *_] = evidence.trial.trajectory.steps
    refused = Observation(
        call_id="1", content=None, error=ToolFailure(type="unknown_tool", message="no tool is called so")
    )
    other = step.model_copy(
        update={"calls": (step.calls[0].model_copy(update={"name": "teleport"}),), "observations": (refused,)}
    )
    trajectory = evidence.trial.trajectory.model_copy(update={"steps": (other,)})
    trial = evidence.trial.model_copy(update={"trajectory": trajectory})
    found = diagnose(evidence.model_copy(update={"trial": trial}))
    assert ["invented_tool"] == [one.kind for one in found]


@pytest.mark.parametrize(
    ("verifier", "parameters", "reads"),
    [
        ("final_answer", {}, {"answer"}),
        ("json_schema", {"schema": {}}, {"answer"}),
        ("json_schema", {"schema": {}, "of": "file", "file": "a"}, set()),
        ("trajectory", {"mode": "strict"}, {"arguments"}),
        ("trajectory", {"mode": "strict", "arguments": "ignore"}, set()),
        ("required_tools", {}, set()),
        ("no_failure", {"failure": "loop_trap"}, {*get_args(Content)}),
    ],
)
def test_a_check_cannot_tell_where_what_it_reads_was_not_captured(
    verifier: str, parameters: dict[str, Any], reads: set[str]
) -> None:
    check = VERIFIERS[verifier].model_validate(parameters)
    assert reads == content_read(check)
    for content in get_args(Content):
        assert (content in reads) == (unknown_because(check, _looping((content,))) is not None)
    assert unknown_because(check, _looping(())) is None


def test_a_check_of_a_suites_own_reads_everything_unless_it_says_what() -> None:
    class Own:
        reads: ClassVar[object] = frozenset({"answer", "no such content"})

    assert {"answer"} == content_read(Own())
    Own.reads = ("answer",)
    assert {*get_args(Content)} == content_read(Own())
    why = unknown_because(Own(), _looping(("answer", "messages", "results")))
    assert why is not None
    assert why.endswith("the final answer, what was said and the results of calls")
