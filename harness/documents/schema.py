"""JSON Schemas of the documents that people write, taken from the shapes that read them.

A field's description is the text below it in the source, so that code, schema and reference cannot disagree.
"""

import ast
import inspect
from functools import cache
from textwrap import dedent
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic.json_schema import models_json_schema

from harness.values import JsonObject

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def field_docs(model: type[BaseModel]) -> dict[str, str]:
    """Maps each field to the text below it in its class or in the nearest base; fields without a text are left out."""
    found: dict[str, str] = {}
    for cls in reversed(model.__mro__):
        if issubclass(cls, BaseModel) and cls is not BaseModel:
            found |= docs_of(cls)
    return {name: found[name] for name in model.model_fields if name in found}


def schema_of(model: type[BaseModel], *others: type[BaseModel]) -> JsonObject:
    """The JSON Schema (2020-12) of a document, and in its `$defs` those of `others` by their class names."""
    models = [*dict.fromkeys((model, *others))]
    references, definitions = models_json_schema([(one, "validation") for one in models], by_alias=True)
    names = {key[0]: str(reference["$ref"]).rpartition("/")[2] for key, reference in references.items()}
    schemas: dict[str, Any] = definitions["$defs"]
    for one in all_models(models):
        name = names.get(one, one.__name__)
        if name in schemas:
            _describe(schemas[name], one)
    return {"$schema": DIALECT, "$ref": f"#/$defs/{names[model]}", "$defs": schemas}


def name_in_file(name: str, info: FieldInfo) -> str:
    """The name of a field in a document."""
    return info.alias or name


def _describe(schema: dict[str, Any], model: type[BaseModel]) -> None:
    for name, text in field_docs(model).items():
        schema["properties"][name_in_file(name, model.model_fields[name])]["description"] = text


def all_models(models: list[type[BaseModel]]) -> list[type[BaseModel]]:
    """The models and every model that is the type of one of their fields, at any depth."""
    found = list(models)
    for model in found:  # the loop appends to it
        model.model_rebuild()  # resolves forward references
        for info in model.model_fields.values():
            found += [inner for inner in models_in(info.annotation) if inner not in found]
    return found


def models_in(annotation: Any) -> list[type[BaseModel]]:
    """The models in a field's type."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in getattr(annotation, "__args__", ()) for model in models_in(part)]


@cache
def docs_of(cls: type) -> dict[str, str]:
    """Maps each field that the class itself declares to the text below it."""
    tree = ast.parse(dedent(inspect.getsource(cls)))
    body = tree.body[0]
    assert isinstance(body, ast.ClassDef)
    docs: dict[str, str] = {}
    for statement, following in zip(body.body, body.body[1:], strict=False):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            match following:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    docs[statement.target.id] = " ".join(text.split())
                case _:
                    pass
    return docs
