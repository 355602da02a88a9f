"""The shapes of the files of a project: JSON Schemas for editors, and the reference of their fields."""


from collections.abc import Callable, Iterator
from harness.judging.rubrics import Rubric
from harness.judging.settings import JudgeSettings
from harness.sandbox.environment import EnvironmentFile
from harness.suite.cases import Case
from harness.suite.documents import all_models, field_docs, name_in_file, schema_of, written_fields
from harness.suite.fixtures import Fixture
from harness.suite.suite_file import SuiteFile
from harness.suite.tool_groups import KINDS
from harness.suite.tools import ToolSpec
from harness.values import JsonObject
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from typing import Any, Final, Literal, get_args, get_origin


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


# Generates the reference of all fields of hand-written files as Markdown, from their models.

SHAPES: Final[dict[str, tuple[type[BaseModel], ...]]] = {
    "suite.yaml": (SuiteFile, ToolSpec, *KINDS.values()),
    "cases.yaml": (Case,),
    "environment.yaml": (EnvironmentFile,),
    "rubrics/<name>.yaml": (Rubric,),
    "fixtures/<pack>.yaml": (Fixture,),
    "judge.yaml": (JudgeSettings,),
}
_HEAD = """\
# Reference: every field of every file

Written by `make reference` from the shapes that read the files; do not edit it by hand. `harness init FOLDER --schemas`
writes the same as JSON Schemas, which editors complete and check by.
"""


def reference_page() -> str:
    """The complete page."""
    seen: set[type[BaseModel]] = set()
    sections = [_HEAD]
    for file, shapes in SHAPES.items():
        sections.append(f"\n## {file}\n")
        for model in all_models([*shapes]):
            if model not in seen:
                seen.add(model)
                sections.append("".join(_section(model)))
    return "".join(sections)


def _section(model: type[BaseModel]) -> Iterator[str]:
    text = "\n\n".join(" ".join(part.split()) for part in (model.__doc__ or "").split("\n\n"))
    yield f"\n### {model.__name__}\n\n{text}\n\n| field | type | default | meaning |\n|---|---|---|---|\n"
    docs = field_docs(model)
    for name, info in written_fields(model).items():
        cells = (f"`{name_in_file(name, info)}`", _type(info.annotation), _default(info), docs.get(name, ""))
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    value = info.default
    if value is PydanticUndefined or value is None or isinstance(value, BaseModel) or value in ((), {}, []):
        return ""
    return f"`{value if isinstance(value, int | float | str) and value != '' else repr(value)}`"


def _type(annotation: Any) -> str:
    """A field's type in a reader's words: `list of text`, `map of text to Price`, `a, b or c`."""
    arguments = get_args(annotation)
    origin = get_origin(annotation)
    if origin is None and not arguments:
        return _type_words(annotation)
    if hasattr(annotation, "__metadata__"):
        return _type(arguments[0])
    if origin is tuple or origin is list:
        return f"list of {_type(arguments[0])}"
    if origin is dict:
        return f"map of {_type(arguments[0])} to {_type(arguments[1])}"
    if all(isinstance(one, str) for one in arguments):
        return ", ".join(f"`{one}`" for one in arguments)
    return " or ".join(dict.fromkeys(_type(one) for one in arguments if one is not type(None)))


def _type_words(annotation: Any) -> str:
    words = {str: "text", int: "whole number", float: "number", bool: "yes or no"}
    if annotation in words:
        return words[annotation]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    return "any JSON"
