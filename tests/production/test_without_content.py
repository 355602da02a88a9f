"""Spans without content, which is the default of most instrumentations: what they leave out is not known, not wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.production.days import DayFacts
from harness.production.scores import SessionScore
from harness.production.scoring import ScoringRequest, score_sessions
from harness.production.settings import OnlineSettings
from harness.production.store import SessionStore
from harness.production.themes import themes_of_store
from harness.runs.foreign_runs import import_file
from harness.scoring.evidence import Evidence
from harness.scoring.scorer import score_trial
from harness.suite.agents import AgentVersion
from harness.suite.cases import Case, CheckSpec
from harness.suite.suites import Suite
from harness.suite.tools import ToolSpec
from harness.traces.formats.found import ImportOptions
from tests.production.receiving import Served, request, serving, span

NOW = OnlineSettings(pause_s=0)
CONVERSATION = "gen_ai.conversation.id"


def suite(folder: Path, *, also: tuple[dict[str, Any], ...] = ()) -> Suite:
    checks = [
        {"name": "answered", "verifier": "final_answer", "with": {"contains": "sent"}},
        {"name": "looked", "verifier": "required_tools", "with": {"tools": ["find_order"]}},
        {"name": "safe", "verifier": "forbidden_tools", "with": {"tools": ["refund"]}},
        *also,
    ]
    parameters = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    return Suite(
        name="shop",
        folder=folder,
        agents={"a": AgentVersion(command=("true",), files=".")},
        digest="d",
        cases=(Case(id="x", task="x"),),
        tools=tuple(
            ToolSpec.model_validate(
                {
                    "name": name,
                    "description": "",
                    "parameters": parameters,
                    "effect": "read",
                    "server": "shop",
                    "http": {"method": "GET", "path": "/order"},
                }
            )
            for name in ("find_order", "refund")
        ),
        checks=tuple(CheckSpec.model_validate(one) for one in checks),
    )


def bare_session(trace: int, tool: str = "find_order", *, fails: bool = False) -> list[dict[str, Any]]:
    """As OpenTelemetry's instrumentations send it unless they are told to capture content."""

    def one(number: int, operation: str, **facts: Any) -> dict[str, Any]:
        parent = {} if number == 1 else {"parentSpanId": f"{trace * 1000 + 1:016x}"}
        return span(trace, number, attributes={"gen_ai.operation.name": operation, **facts}, **parent)

    call = one(3, "execute_tool", **{"gen_ai.tool.name": tool, "gen_ai.tool.call.id": "t1"})
    if fails:
        call["status"] = {"code": 2, "message": "out of order"}
    return [
        one(1, "invoke_agent", **{CONVERSATION: f"c{trace}"}),
        one(2, "chat", **{"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9}),
        call,
        one(4, "chat", **{"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 12}),
    ]


def scored(served: Served, folder: Path) -> list[SessionScore]:
    score_sessions(served.store(), ScoringRequest(suite=suite(folder), settings=NOW))
    return served.store().scores()


def test_a_session_without_content_is_not_failed(served: Served, tmp_path: Path) -> None:
    served.post("/v1/traces", request(*bare_session(1)))
    (score,) = scored(served, tmp_path)
    assert score.card is not None
    assert {"answered": None, "looked": True, "safe": True} == {one.check: one.passed for one in score.card.verdicts}
    assert ("the spans do not carry the final answer", None) == (score.card.verdicts[0].reason, score.card.success)
    values = {one.metric: one.value for one in score.card.scores}
    assert (21.0, 1.0) == (values["tokens"], values["steps"])
    unknown = {"completion", "termination", "parameter_validity", "redundancy", "turns"}
    assert {None} == {values[name] for name in unknown}
    assert ((), {}) == (score.card.diagnoses, score.card.tool_use[0].invalid)


def test_what_names_alone_show_is_still_decided(served: Served, tmp_path: Path) -> None:
    served.post("/v1/traces", request(*bare_session(1, "refund"), *bare_session(2, fails=True)))
    by_session = {score.session: score for score in scored(served, tmp_path)}
    refunded = by_session["default:c1"].card
    assert refunded is not None
    assert {"answered": None, "looked": False, "safe": False} == {one.check: one.passed for one in refunded.verdicts}
    assert refunded.success is False
    assert (1, 0) == (
        by_session["default:c2"].tools["find_order"].errors,
        by_session["default:c1"].tools["refund"].errors,
    )


def test_the_share_of_sessions_that_break_a_learned_rule_is_a_signal(served: Served, tmp_path: Path) -> None:
    served.post("/v1/traces", request(*bare_session(1, "refund"), *bare_session(2)))
    (tmp_path / "rules.yaml").write_text("suite: [{rule: only find_order}, {rule: 'find_order(id) in [1]'}]\n")
    states = [{one.state for one in score.card.rules} for score in scored(served, tmp_path) if score.card is not None]
    facts = DayFacts(served.store().score_store, "shop")
    (day,) = facts.days()
    assert 1 == sum("broken" in one for one in states)  # arguments are not known: no value breaks a rule
    assert [(0.5, 2)] == [(one.share, one.sessions) for one in facts.estimates(day, day) if one.signal == "broken_rule"]
    assert "broken_rule" in NOW.watch.signals


def test_rates_leave_them_out_and_a_signal_of_their_own_counts_them(served: Served, tmp_path: Path) -> None:
    for number in range(1, 4):
        served.post("/v1/traces", request(*bare_session(number, fails=number == 1)))
    said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "It was sent."}]}])
    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Where is it?"}]}])
    whole = {"gen_ai.operation.name": "chat", CONVERSATION: "c9", "gen_ai.input.messages": asked,
             "gen_ai.output.messages": said}  # fmt: skip
    served.post("/v1/traces", request(span(9, 1, attributes=whole)))
    scored(served, tmp_path)
    facts = DayFacts(served.store().score_store, "shop")
    (day,) = facts.days()
    found = {one.signal: (one.share, one.sessions) for one in facts.estimates(day, day)}
    assert (0.75, 4) == found["without_content"]
    assert (0.0, 1) == found["check:answered"]
    assert 1 == found["any_failure_mode"][1]
    assert pytest.approx(1 / 3) == found["tool:find_order"][0]
    assert 4 == facts.scored(day)[0]


def test_they_are_a_theme_of_the_harness_and_no_failure_of_the_agent(tmp_path: Path) -> None:
    with serving(tmp_path / "online") as served:
        served.post("/v1/traces", request(*bare_session(1), *bare_session(2)))
        scored(served, tmp_path)
    (theme,) = themes_of_store(tmp_path, SessionStore.open(tmp_path / "online"), suite="shop").themes
    assert ("tracing_gap", 2) == (theme.fault, theme.sessions)
    assert "final answer" in theme.representative[0].excerpt


def test_a_check_of_somebody_else_decides_only_what_it_says_that_it_reads(served: Served, tmp_path: Path) -> None:
    (tmp_path / "checks.py").write_text(
        "from typing import ClassVar\n\nfrom harness.api import Frozen\n\n\n"
        "class Any(Frozen):\n    version: ClassVar[str] = '1'\n\n"
        "    def verify(self, evidence):\n        return False, 'said no', {}\n\n\n"
        "class Counted(Any):\n    reads: ClassVar[frozenset] = frozenset()\n"
    )
    also = ({"name": "any", "verifier": "checks.py:Any"}, {"name": "counted", "verifier": "checks.py:Counted"})
    served.post("/v1/traces", request(*bare_session(1)))
    score_sessions(served.store(), ScoringRequest(suite=suite(tmp_path, also=also), settings=NOW))
    (score,) = served.store().scores()
    assert score.card is not None
    assert [None, False] == [one.passed for one in score.card.verdicts[-2:]]


def test_an_imported_trace_without_content_is_read_in_the_same_way(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(request(*bare_session(1))))
    run = import_file("otel", path, ImportOptions())
    ((trial, _),) = run.trials
    assert ("answer", "messages", "arguments", "results") == trial.trajectory.uncaptured
    own = suite(tmp_path)
    card = score_trial(Evidence(case=own.cases[0], trial=trial, tools=own.tools), own)
    assert [None, True, True] == [one.passed for one in card.verdicts]


def test_an_answer_in_the_agents_own_span_is_enough(served: Served, tmp_path: Path) -> None:
    spans = bare_session(1)
    said = {"key": "gen_ai.output.messages", "value": {"stringValue": json.dumps(
        [{"role": "assistant", "parts": [{"type": "text", "content": "It was sent."}]}])}}  # fmt: skip
    spans[0]["attributes"].append(said)
    served.post("/v1/traces", request(*spans))
    (score,) = scored(served, tmp_path)
    assert score.card is not None
    assert score.card.verdicts[0].passed is True
    assert "answer" not in score.uncaptured
    assert "messages" in score.uncaptured


def test_content_that_is_captured_and_has_no_answer_is_failed(served: Served, tmp_path: Path) -> None:
    """The agent went on to call a tool, and ended: every reply is there, and none is an answer."""
    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Where is it?"}]}])
    called = json.dumps([{"role": "assistant", "parts": [
        {"type": "tool_call", "id": "t1", "name": "find_order", "arguments": {"id": 7}}]}])  # fmt: skip
    chat = {"gen_ai.operation.name": "chat", CONVERSATION: "c1", "gen_ai.input.messages": asked,
            "gen_ai.output.messages": called}  # fmt: skip
    served.post("/v1/traces", request(span(1, 1, attributes=chat)))
    (score,) = scored(served, tmp_path)
    assert score.card is not None
    assert ((), False) == (score.uncaptured, score.card.verdicts[0].passed)
