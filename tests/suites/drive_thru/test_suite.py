"""The suite as it is declared: its cases, its tools, and that no agent has seen them."""

import json
import re
import sqlite3

import pytest
import yaml

from harness.sandbox.environment import load_environment
from harness.values import canonical_json
from tests.suites.drive_thru.conftest import MENU, PROJECT, SEED


@pytest.fixture(scope="module")
def described() -> dict:
    return json.loads((MENU / "menu_service" / "openapi.json").read_text(encoding="utf-8"))


def test_who_asks_for_nothing_that_can_be_sold_gets_an_empty_order(suite):
    empty = {case.category for case in suite.cases if case.expected == {"items": []}}
    full = {case.category for case in suite.cases if case.expected != {"items": []}}
    assert empty == {"not_on_menu", "greeting_or_question", "ambiguous"}
    assert empty & full == set()


def test_the_reference_of_every_case_passes_every_check(suite, play_reference, checks):
    failed = []
    for case in suite.cases:
        served = play_reference(f"oracle-{case.id}", case.reference)
        served.replies.append(case.expected_output)
        seen = served.evidence(case, suite.tools)
        verdicts = [checks.OrderMatches().verify(seen), checks.GuestAnswered().verify(seen)]
        scores = [checks.OrderCorrectness(), checks.ToolCallAccuracy(), checks.NoHallucinatedItems()]
        if not all(passed for passed, *_ in verdicts) or {metric.measure(seen)[0] for metric in scores} != {1.0}:
            failed.append((case.id, verdicts))
        assert len(case.reference) == len(served.calls)
    assert failed == []


def test_doing_nothing_passes_no_case(suite, play_reference, checks):
    for case in suite.cases:
        seen = play_reference(f"nop-{case.id}", ()).evidence(case, suite.tools)
        assert checks.GuestAnswered().verify(seen)[0] is False
        assert case.nop_passes is False


def test_every_tool_is_an_operation_of_the_service_with_the_same_parameters(suite, described):
    operations = {
        operation["operationId"]: (method.upper(), path, operation)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    }
    for tool in suite.tools:
        method, path, operation = operations[tool.name]
        assert (tool.http.method, tool.http.path) == (method, path)
        assert tool.effect == ("read" if method == "GET" else "write")
        assert canonical_json(tool.parameters) == canonical_json(parameters(operation, described))


def parameters(operation: dict, described: dict) -> dict:
    """The JSON Schema of an operation's arguments, as its description gives it."""
    if "requestBody" in operation:
        return described["components"]["schemas"]["NewLine"]
    named = [given for given in operation.get("parameters", []) if given["in"] == "query"]
    properties = {given["name"]: {**given["schema"], "description": given["description"]} for given in named}
    required = [given["name"] for given in named if given["required"]]
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


def test_the_environment_declares_the_service_that_the_suite_asks(suite):
    environment = load_environment(PROJECT, suite.environment)
    assert suite.snapshot in environment.states
    assert environment.image_of(suite.servers["menu"].service) == "drive_thru/menu"
    assert (environment.folder / environment.states[suite.snapshot].services["menu"]) == SEED


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_no_agent_holds_an_utterance_a_case_or_anything_of_the_menu(suite, version):
    source = "\n".join(path.read_text("utf-8") for path in sorted((suite.folder / "agents" / version).rglob("*.py")))
    plain = words(source)
    with sqlite3.connect(":memory:") as db:
        db.executescript(SEED.read_text(encoding="utf-8"))
        menu = {
            row[0]
            for row in db.execute("SELECT id FROM items UNION SELECT name FROM items UNION SELECT name FROM aliases")
        }
        menu |= {row[0] for row in db.execute("SELECT name FROM modifiers")}
    db.close()
    heldout = yaml.safe_load((PROJECT / "tests" / "suites" / "drive_thru" / "heldout.yaml").read_text(encoding="utf-8"))
    secrets = menu | {case.id for case in suite.cases} | {case.task for case in suite.cases}
    secrets |= {guest["message"] for guest in heldout}
    assert [secret for secret in sorted(secrets) if f" {words(secret)} " in f" {plain} "] == []


def words(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_no_agent_imports_the_harness(suite, version):
    sources = [path.read_text("utf-8") for path in (suite.folder / "agents" / version).rglob("*.py")]
    assert sources
    assert not any(re.search(r"^\s*(from|import)\s+harness", source, re.MULTILINE) for source in sources)
