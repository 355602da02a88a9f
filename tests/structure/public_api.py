"""The public surface as text: `python -m tests.structure.public_api` writes it into `public_api.txt`.

One line for each name of `harness.api`, and below it its fields and public methods with their types. The text is
compared by a test, so that a change of what others import is seen, is meant, and stands in the changelog.
"""

import enum
import inspect
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

import harness.api

COMMITTED = Path(__file__).with_name("public_api.txt")


def names() -> list[str]:
    """The public names."""
    return sorted(harness.api.PUBLIC)


def surface() -> str:
    return "".join(f"{line}\n" for name in names() for line in _lines(name, getattr(harness.api, name)))


def _lines(name: str, value: Any) -> Iterator[str]:
    match value:
        case enum.EnumMeta():
            yield f"enum {name}: " + ", ".join(f"{one.name}={one.value!r}" for one in value)
        case type():
            bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
            yield f"class {name}({bases})"
            yield from _fields(value)
            yield from _methods(value)
        case types.FunctionType():
            yield f"def {name}{signature_of(value)}"
        case _:
            yield f"{name} = {sorted(value) if isinstance(value, frozenset) else type_text(value)}"


def _fields(kind: type) -> Iterator[str]:
    if issubclass(kind, BaseModel):
        for name, info in kind.model_fields.items():
            least = "" if info.is_required() else " = ..."
            yield f"    {info.alias or name}: {type_text(info.annotation)}{least}"
        return
    for name, annotation in inspect.get_annotations(kind).items():
        if not name.startswith("_"):
            yield f"    {name}: {type_text(annotation)}"


def _methods(kind: type) -> Iterator[str]:
    for name, member in sorted(vars(kind).items()):
        if name.startswith("_") or name in ("model_config", "model_fields", "model_post_init"):
            continue
        match member:
            case types.FunctionType():
                kept = "async def" if inspect.iscoroutinefunction(member) else "def"
                yield f"    {kept} {name}{signature_of(member)}"
            case property():
                assert member.fget is not None
                yield f"    property {name} -> {type_text(inspect.signature(member.fget).return_annotation)}"
            case classmethod() | staticmethod():
                yield f"    {type(member).__name__} {name}{signature_of(member.__func__)}"


def signature_of(function: Any) -> str:
    signature = inspect.signature(function)
    parts = []
    for name, parameter in signature.parameters.items():
        typed = "" if parameter.annotation is parameter.empty else f": {type_text(parameter.annotation)}"
        default = "" if parameter.default is parameter.empty else " = ..."
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts and not any(p.startswith("*") for p in parts):
            parts.append("*")
        parts.append(f"{star}{name}{typed}{default}")
    return f"({', '.join(parts)}) -> {type_text(signature.return_annotation)}"


def type_text(annotation: Any) -> str:
    """Types by their short names, so that a file that moves inside a room changes nothing."""
    if isinstance(annotation, str):
        return annotation
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return annotation.__name__
    words = str(annotation).replace("typing.", "").replace("collections.abc.", "").replace("NoneType", "None")
    return " ".join(word for word in _without_modules(words).split())


def _without_modules(text: str) -> str:
    import re

    return re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])", "", text)


if __name__ == "__main__":
    COMMITTED.write_text(surface(), encoding="utf-8")
