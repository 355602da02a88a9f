"""What of its tools, its state, its rules and its faults a suite touches."""

import json
from pathlib import Path

import pytest

from harness.case import FaultSpec, Suite, ToolSpec, load_suite
from harness.counterfactual import coverage_of
from harness.counterfactual.coverage_rows import rows_of_states
from harness.results import RunFolder
from harness.trace import Trial
from tests.counterfactual.conftest import LOCAL
from tests.walks.conftest import Walk

CASE = "planned-meeting"


def test_what_no_reference_and_no_trial_touches_is_named(basics: Walk) -> None:
    suite = load_suite(basics.folder, "basics")
    report = coverage_of(suite, RunFolder.open(basics.folder / "runs" / "naive"))
    assert "read_whole_file" in report.dimensions["tools"].untouched
    assert "book_room" in report.dimensions["tools"].touched


def test_rules_that_a_prompt_of_the_agent_names_are_touched_by_a_check_of_that_name(tmp_path: Path) -> None:
    folder = tmp_path / "suites" / "s"
    (folder / "agent").mkdir(parents=True)
    (folder / "agent" / "rules.md").write_text("Never refund, by rule:no-refunds. rule:be-short Be short.")
    (folder / "suite.yaml").write_text(
        "agents: {v1: {command: [python3, main.py], files: agent, prompts: [rules.md]}}\n"
        "checks: [{name: 'rule:be-short', verifier: final_answer, with: {regex: '^.{1,80}$'}}]\n"
    )
    (folder / "cases.yaml").write_text("- {id: a, task: hello, tags: ['rule:no-refunds']}\n")
    found = coverage_of(load_suite(tmp_path, "s"), None).dimensions["rules"]
    assert (("no-refunds", "be-short"), ()) == (found.touched, found.untouched)


LINE = {"type": "object", "properties": {"size": {"enum": ["s", "l"]}, "gift": {"type": "boolean"}}}
ORDER = {
    "type": "object",
    "properties": {
        "lines": {"type": "array", "items": LINE},
        "speed": {"anyOf": [{"type": "string", "enum": ["slow", "fast"]}, {"type": "null"}], "default": "slow"},
        "pay": {"$ref": "#/$defs/pay"},
    },
    "$defs": {"pay": {"type": "object", "properties": {"by": {"const": "card"}}}},
}


@pytest.fixture
def shop(project: Path) -> Suite:
    """A suite with one tool, whose values stand below lists, alternatives and references of its schema."""
    suite = load_suite(project, "basics")
    case = next(one for one in suite.cases if one.id == CASE)
    call = {"id": "a", "tool": "order", "arguments": {"lines": [{"size": "l"}]}}
    fault = FaultSpec(tool="*", kind="http_status", status=503, call=1)
    changed = case.model_validate({**case.model_dump(by_alias=True), "reference": [call], "faults": [fault]})
    tool = ToolSpec(name="order", server="shop", source="mcp", parameters=ORDER)
    return suite.model_copy(update={"tools": (tool,), "cases": (changed,)})


def test_parameters_and_values_are_found_below_lists_alternatives_and_references(shop: Suite) -> None:
    found = coverage_of(shop, None).dimensions
    assert {"order.lines", "order.lines[].size"} == set(found["parameters"].touched)
    assert {"order.lines[].gift", "order.speed", "order.pay", "order.pay.by"} == set(found["parameters"].untouched)
    assert {'order.lines[].size="l"', 'order.speed="slow"'} == set(found["values"].touched)
    assert {
        'order.lines[].size="s"',
        "order.lines[].gift=true",
        "order.lines[].gift=false",
        'order.speed="fast"',
        'order.pay.by="card"',
    } == set(found["values"].untouched)


def test_an_error_that_a_fault_of_a_case_answers_with_is_touched(shop: Suite) -> None:
    found = coverage_of(shop, None).dimensions
    assert ("order: tool_unavailable",) == found["errors"].touched
    assert ("http_status",) == found["failure modes"].touched
    assert "slow_stream" in found["failure modes"].untouched


def test_faults_that_struck_trials_of_the_run_are_failure_modes_that_were_provoked(basics: Walk) -> None:
    words = ("--faults", "all", "--case", "first-line", *LOCAL, "--json")
    campaign = json.loads(basics("run", "basics", *words).stdout)["run"]
    report = coverage_of(load_suite(basics.folder, "basics"), RunFolder.open(basics.folder / "runs" / campaign))
    assert {"timeout", "reset", "http_status", "malformed"} <= set(report.dimensions["failure modes"].touched)
    assert "read_lines: tool_unavailable" in report.dimensions["errors"].touched


def test_rows_are_named_by_their_ids_and_touched_where_trials_left_them_differently(basics: Walk) -> None:
    trial = RunFolder.open(basics.folder / "runs" / "good").trial(CASE, 1)
    assert trial is not None

    def left(loans: list[dict], users: dict) -> Trial:
        state = {"library": {"book": [{"book_id": 1, "title": "Solaris"}], "loan": loans}, "desk": {"users": users}}
        return trial.model_copy(update={"states": state})

    ada, ben = {"name": "Ada"}, {"name": "Ben"}
    ends = [left([], {"u1": ada, "u2": ben}), left([{"id": 7, "book": 1}], {"u1": ada, "u2": {"name": "Bob"}})]
    every, changed = rows_of_states(ends)
    assert ["desk.users[u1]", "desk.users[u2]", "library.book[1]", "library.loan", "library.loan[7]"] == every
    assert {"desk.users[u2]", "library.loan", "library.loan[7]"} == set(changed)
