"""Malformed tools, probes and cases are refused before any trial, by name and path."""

from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.gateway.gateway import Gateway
from harness.gateway.toolbox import check_schema
from harness.suite.cases import Case, StateProbe
from harness.suite.suites import Suite
from harness.suite.tools import HttpRoute, ToolSpec


def http_tool(parameters: dict, **route) -> ToolSpec:
    return ToolSpec(
        name="t", server="shop", http=HttpRoute(**({"path": "/"} | route)), parameters={"type": "object"} | parameters
    )


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        (http_tool({"properties": {"a": {"type": "strnig"}}}), "tool 't': parameters.properties.a.type: 'strnig'"),
        (http_tool({"required": "a"}), "tool 't': parameters.required: 'a' is not of type 'array'"),
        (
            http_tool({"properties": {"a": {"$ref": "#/$defs/b"}}}),
            "parameters.properties.a.$ref: there is no '#/$defs/b'",
        ),
        (http_tool({"properties": {"a": {"$ref": "http://x.example/y"}}}), "other documents are not fetched"),
        (http_tool({"properties": {"a": {"pattern": "("}}}), "tool 't': parameters.properties.a.pattern"),
        (http_tool({"properties": {"a": {}}}, path="/{a}"), "'a' is not required and has no default"),
        (http_tool({}, query={"q": "b"}), "http.query.q: there is no argument 'b'"),
    ],
)
def test_a_malformed_tool_is_refused_by_name_and_path(tool: ToolSpec, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_schema(tool)
    assert said in str(caught.value)


def test_a_tool_may_have_an_argument_called_pattern_and_a_schema_of_its_own_definitions() -> None:
    check_schema(
        http_tool(
            {"properties": {"pattern": {"$ref": "#/$defs/p"}}, "$defs": {"p": {"type": "string", "pattern": "^a"}}}
        )
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"probes": (StateProbe(name="p", tool="nope"),)}, "probe 'p': there is no tool 'nope'"),
        ({"probes": (StateProbe(name="p", tool="add", arguments={"item": "x"}),)}, "tool 'add' writes"),
        ({"probes": (StateProbe(name="p", tool="look"),)}, "probe 'p': arguments: $: 'q' is a required property"),
        ({"servers": {}}, "there is no server 'shop'"),
    ],
)
def test_a_suite_whose_parts_do_not_fit_is_refused(suite: Suite, tmp_path: Path, change: dict, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        Gateway(suite.model_copy(update=change), "replay", cassettes=tmp_path)
    assert said in str(caught.value)


def test_a_case_that_names_an_unknown_tool_is_refused(run, case: Case) -> None:
    with pytest.raises(UsageError, match=r"'c1'.*bake"):
        run("replay", lambda agent: None, case=case.model_copy(update={"tools": ("look", "bake")}))
