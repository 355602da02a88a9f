"""Generates the reference of all fields of hand-written files as Markdown, from their models."""

from collections.abc import Iterator
from typing import Any, Final, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from harness.case import Case, Fixture, SuiteFile, ToolSpec
from harness.case.sourcing.declared import KINDS
from harness.documents import all_models, field_docs, name_in_file
from harness.judge import JudgeSettings, Rubric
from harness.sandbox import EnvironmentFile

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

Written by `make reference` from the shapes that read the files; do not edit it by hand. `harness schema suite` (or
`case`, `environment`, `rubric`) prints the same as a JSON Schema, which editors complete and check by.
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
    for name, info in model.model_fields.items():
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
        return _plain(annotation)
    if hasattr(annotation, "__metadata__"):
        return _type(arguments[0])
    if origin is tuple or origin is list:
        return f"list of {_type(arguments[0])}"
    if origin is dict:
        return f"map of {_type(arguments[0])} to {_type(arguments[1])}"
    if all(isinstance(one, str) for one in arguments):
        return ", ".join(f"`{one}`" for one in arguments)
    return " or ".join(dict.fromkeys(_type(one) for one in arguments if one is not type(None)))


def _plain(annotation: Any) -> str:
    words = {str: "text", int: "whole number", float: "number", bool: "yes or no"}
    if annotation in words:
        return words[annotation]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    return "any JSON"
