"""Google ADK's scenario files as case files of a suite."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InvalidDocument
from harness.runs.foreign_runs import import_file
from harness.suite.cases import Case
from harness.suite.loading import load_suite

SUITE = """\
agents: {v1: {command: [run], files: agent}}
servers: {desk: {base_url: "http://localhost:1"}}
tools: [{name: get_reorder_items, server: desk, effect: read, http: {path: /reorder}}]
cases: "*.scenarios.json"
"""

SCENARIO = {
    "evalId": "reorder latte",
    "conversationScenario": {
        "startingPrompt": "The usual, please.",
        "conversationPlan": "Take the latte. Refuse the muffin.",
    },
    "sessionInput": {"state": {"max_turns": 6, "__tool_fixture_pack_names": ["reorder-history"], "name": "Ann"}},
}
SNAKE = {
    "eval_id": "second",
    "conversation_scenario": {"starting_prompt": "Hello.", "conversation_plan": "Be brief.", "user_persona": "NOVICE"},
    "session_input": {"app_name": "window", "user_id": "u", "state": {}},
    "creation_timestamp": 1.0,
}


def loaded(project: Path, document: Any) -> tuple[Case, ...]:
    folder = project / "suites" / "s"
    (folder / "agent").mkdir(parents=True)
    (folder / "fixtures").mkdir()
    (folder / "fixtures" / "reorder-history.yaml").write_text("get_reorder_items: {answer: {items: []}}\n")
    (folder / "suite.yaml").write_text(SUITE)
    (folder / "a.scenarios.json").write_text(json.dumps(document))
    return load_suite(project, "s").cases


@pytest.mark.parametrize("wrap", [list, lambda both: {"evalSetId": "x", "evalCases": both}])
def test_scenarios_load_as_they_are(tmp_path: Path, wrap: Any) -> None:
    first, second = loaded(tmp_path, wrap([SCENARIO, SNAKE]))
    assert first.id.startswith("reorder-latte-")
    assert ("The usual, please.", ("reorder-history",), {"name": "Ann"}) == (
        first.task,
        first.fixtures,
        first.user_profile,
    )
    assert first.conversation is not None
    assert (6, "Take the latte. Refuse the muffin.", ()) == (
        first.conversation.max_turns,
        first.conversation.plan,
        first.conversation.turns,
    )
    assert ("second", ("app:window",), None) == (second.id, second.tags, second.user_profile)


def test_one_scenario_alone_is_a_file_of_cases(tmp_path: Path) -> None:
    assert ["second"] == [case.id for case in loaded(tmp_path, SNAKE)]


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ({**SCENARIO, "evalId": None}, "field '0.id'"),
        ({**SCENARIO, "conversationScenario": {"conversationPlan": "x"}}, "field '0.task'"),
        ({**SCENARIO, "sessionInput": {"state": {"max_turns": 0}}}, "field '0.conversation.max_turns'"),
        ({**SCENARIO, "sessionInput": {"state": {"__tool_fixture_pack_names": ["p"]}}}, "the fixture pack 'p'"),
    ],
)
def test_a_scenario_that_is_wrong_is_refused(tmp_path: Path, scenario: Any, words: str) -> None:
    with pytest.raises(InvalidDocument, match=words):
        loaded(tmp_path, [scenario])


def test_the_importer_reads_the_same_conversation(tmp_path: Path) -> None:
    path = tmp_path / "adk.evalset.json"
    path.write_text(json.dumps({"evalSetId": "x", "evalCases": [SCENARIO]}))
    [imported] = import_file("adk", path).suite.cases
    [own] = loaded(tmp_path, [SCENARIO])
    shared = ("id", "task", "conversation", "fixtures", "user_profile")
    assert [getattr(own, name) for name in shared] == [getattr(imported, name) for name in shared]


def test_fields_of_the_case_stand_beside_the_scenario(tmp_path: Path) -> None:
    own = {
        "category": "reorder",
        "conversation": {"turns": [{"say": "That is all."}]},
        "expected": {"items": []},
        "routes": [{"when": 1, "agents": ["cart"]}],
        "tags": ["safety"],
    }
    (case,) = loaded(tmp_path, [SNAKE | {"harness": own}])
    assert case.conversation is not None
    assert ("reorder", "Hello.", "Be brief.", 1) == (
        case.category,
        case.task,
        case.conversation.plan,
        len(case.conversation.turns),
    )
    assert (("app:window", "safety"), ("cart",)) == (case.tags, case.routes[0].agents)


@pytest.mark.parametrize(
    ("own", "words"), [({"colour": "red"}, "colour"), ("fast", "harness"), ({"routes": [{"agents": []}]}, "routes")]
)
def test_wrong_fields_beside_the_scenario_are_named(tmp_path: Path, own: Any, words: str) -> None:
    with pytest.raises(InvalidDocument, match=words):
        loaded(tmp_path, [SNAKE | {"harness": own}])


@pytest.mark.parametrize(
    "document",
    [
        {
            "evalSetId": "s",
            "evalCases": [SCENARIO, {"evalId": "had", "conversation": [{"userContent": {"parts": [{"text": "Hi"}]}}]}],
        },
        [SCENARIO, {"name": "had", "data": [{"query": "Hi", "expected_tool_use": [], "reference": "Hello"}]}],
    ],
)
def test_a_conversation_that_was_had_is_refused_with_the_verb_that_reads_it(tmp_path: Path, document: Any) -> None:
    with pytest.raises(InvalidDocument, match=r"field '(evalCases\.)?1'.*conversation that was had") as refused:
        loaded(tmp_path, document)
    assert "`harness import adk a.scenarios.json`" in str(refused.value.remedy)
    del (document["evalCases"] if isinstance(document, dict) else document)[0]
    (tmp_path / "had.json").write_text(json.dumps(document))
    assert ["had"] == [case.id for case in import_file("adk", tmp_path / "had.json").suite.cases]
