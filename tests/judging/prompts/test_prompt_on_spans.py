"""Spans that name the prompt of a model call: the trajectory knows it, the scorecard too, and compare names it."""

from harness.reports.compare import compare
from harness.scoring.evidence import Evidence
from harness.scoring.scorecard import Scorecard
from harness.scoring.tool_use import prompt
from harness.suite.cases import Case
from harness.traces import names
from harness.traces.projection import trajectory_from
from harness.traces.spans import Span
from harness.traces.trial import Trial
from tests.reports.html.runs import manifest

PLAN = [("c", 1)]


def spans(version: str | None):
    named = {} if version is None else {"gen_ai.prompt.name": "greeter", "gen_ai.prompt.version": version}
    root = {names.OPERATION: names.INVOKE_AGENT, names.AGENT_NAME: "a"}
    reply = {names.STEP_KIND: names.REPLY, names.MESSAGE: "hello", names.STARTED_MONOTONIC: 1}
    own = {names.ORIGIN: "agent", **named}
    return (
        Span(trace_id="t", span_id="1", name="invoke_agent", start_ns=0, end_ns=9, attributes=root),
        Span(trace_id="t", span_id="2", parent_id="1", name="reply", start_ns=1, end_ns=2, attributes=reply),
        Span(trace_id="t", span_id="3", parent_id="1", name="chat", start_ns=1, end_ns=2, attributes=own),
        Span(trace_id="t", span_id="4", parent_id="1", name="chat", start_ns=3, end_ns=4, attributes=own),
    )


def seen(version: str | None) -> str | None:
    trial = Trial(case_id="c", attempt=1, outcome="finished", trajectory=trajectory_from(spans(version)))
    return prompt(Evidence(case=Case(id="c", task="x"), trial=trial, tools=()))


def card(version: str, success: bool) -> Scorecard:
    return Scorecard(
        case_id="c",
        attempt=1,
        category="c",
        outcome="finished",
        success=success,
        prompt=seen(version),
        digest="",
    )


def test_the_prompt_that_spans_name_is_the_trials_prompt():
    assert ("greeter@3",) == trajectory_from(spans("3")).prompts
    assert "greeter@3" == seen("3")
    assert seen(None) is None


def test_the_name_of_a_prompt_does_not_change_what_was_done():
    assert trajectory_from(spans("3")).digest == trajectory_from(spans("4")).digest


def test_a_comparison_shows_which_version_of_the_prompt_it_was():
    found = compare(manifest(PLAN, "old"), [card("3", False)], manifest(PLAN, "new"), [card("4", True)])
    assert [("prompt", "greeter@3", "greeter@4")] == [
        (one.part, one.before, one.after) for one in found.attribution.changed
    ]
