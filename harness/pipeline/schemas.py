"""The published JSON Schemas, by which editors complete and check the files of a project."""

from collections.abc import Callable
from typing import Any, Literal, get_args

from harness.case import Case, SuiteFile, ToolSpec
from harness.case.sourcing.declared import KINDS
from harness.documents import schema_of
from harness.judge import Rubric
from harness.sandbox import EnvironmentFile
from harness.values import JsonObject

DocumentKind = Literal["suite", "case", "environment", "rubric"]
KINDS_OF_DOCUMENT: tuple[DocumentKind, ...] = get_args(DocumentKind)
_FILES = {
    "suite": "suites/<suite>/suite.yaml",
    "case": "suites/<suite>/cases.yaml: a list of cases",
    "environment": "images/<environment>/environment.yaml",
    "rubric": "suites/<suite>/rubrics/<name>.yaml",
}


def published_schema(kind: DocumentKind) -> JsonObject:
    """The JSON Schema (2020-12) of the files of one kind; `case` describes a file of cases.

    The schema accepts documents that the readers reject for reasons that a schema cannot express (such as a name that
    is declared elsewhere).
    """
    makers: dict[DocumentKind, Callable[[], JsonObject]] = {
        "suite": _suite,
        "case": _cases,
        "environment": lambda: schema_of(EnvironmentFile),
        "rubric": lambda: schema_of(Rubric),
    }
    return {"title": _FILES[kind], **makers[kind]()}


def _suite() -> JsonObject:
    schema: dict[str, Any] = schema_of(SuiteFile, ToolSpec, *KINDS.values())
    definitions = schema["$defs"]
    definitions["CompositePart"] = {"anyOf": [{"type": "number"}, definitions["CompositePart"]]}
    definitions["ToolSpec"] = _without_source(definitions["ToolSpec"])
    items = [{"$ref": f"#/$defs/{shape.__name__}"} for shape in (ToolSpec, *KINDS.values())]
    tools = definitions["SuiteFile"]["properties"]["tools"]
    listed = {"type": "array", "items": {"anyOf": [*items, {"type": "string"}]}}
    definitions["SuiteFile"]["properties"]["tools"] = {
        "description": tools["description"],
        "anyOf": [listed, {"type": "string"}],
    }
    return schema


def _without_source(tool: dict[str, Any]) -> dict[str, Any]:
    """What a person declares: a call over HTTP. The other sources of tools are groups."""
    own = {"source", "source_name", "listed"}
    properties = {name: value for name, value in tool["properties"].items() if name not in own}
    return {**tool, "properties": properties, "required": [*tool["required"], "http"]}


def _cases() -> JsonObject:
    schema: dict[str, Any] = schema_of(Case)
    case = schema["$defs"]["Case"]
    # The opening of a conversation replaces the task.
    case["required"] = [name for name in case["required"] if name != "task"]
    opening = {"properties": {"conversation": {"required": ["opening"]}}, "required": ["conversation"]}
    case["anyOf"] = [{"required": ["task"]}, opening]
    scenario = {"anyOf": [{"required": ["conversationScenario"]}, {"required": ["conversation_scenario"]}]}
    schema["$defs"]["Scenario"] = {"type": "object", "description": "A conversation scenario of ADK.", **scenario}
    del schema["$ref"]
    items = {"anyOf": [{"$ref": "#/$defs/Case"}, {"$ref": "#/$defs/Scenario"}]}
    evaluation_set = {"type": "object", "anyOf": [{"required": ["evalCases"]}, {"required": ["eval_cases"]}]}
    return {**schema, "anyOf": [{"type": "array", "items": items}, {"$ref": "#/$defs/Scenario"}, evaluation_set]}
