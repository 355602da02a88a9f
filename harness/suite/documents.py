"""Documents that people write (YAML, JSON, TOML): read into frozen values, with errors that name file, line and
field.
"""

import ast
import inspect
import json
import math
import re
import stat
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any, NoReturn, TypeVar, cast

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic.json_schema import SkipJsonSchema, models_json_schema

from harness.errors import InvalidDocument
from harness.suite.problems import Location, first_problem
from harness.values import JsonObject

# Limits the depth and size of YAML, checked before PyYAML builds any value.
#
# PyYAML's C parser recurses, and crashes the process at some 25,000 levels; ten lines of aliases to aliases expand to
# more values than fit into memory. Neither can be caught.

MAX_DEPTH = 1000
_UNFOLDED = 100_000
"""The number of values that aliases may add."""
_DEEP_LINE = re.compile(rf"^[ \t?:-]{{{MAX_DEPTH}}}", re.MULTILINE)
_EventLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def refuse_boundless_yaml(path: Path, text: str) -> None:
    """Raises InvalidDocument for YAML that is nested too deeply, or whose aliases expand to too many values."""
    if text.count("[") + text.count("{") < MAX_DEPTH and not _may_have_aliases(text) and not _DEEP_LINE.search(text):
        return
    measure = _Measure(path, len(text) + _UNFOLDED)
    try:
        for event in yaml.parse(text, Loader=_EventLoader):
            measure.take(event)
    except (yaml.YAMLError, ValueError):
        return  # the loader reports the error


def _may_have_aliases(text: str) -> bool:
    return "*" in text and "&" in text


class _Measure:
    """Counts values; an alias counts as many as its anchor."""

    def __init__(self, path: Path, most: int) -> None:
        self._path = path
        self._most = most
        self._sizes = [0]
        self._open: list[str | None] = []
        self._anchors: dict[str | None, int] = {}

    def take(self, event: yaml.Event) -> None:
        match event:
            case yaml.CollectionStartEvent():
                self._sizes.append(1)
                self._open.append(event.anchor)
            case yaml.CollectionEndEvent():
                size = self._sizes.pop()
                self._sizes[-1] += size
                self._anchors[self._open.pop()] = size
            case yaml.AliasEvent():
                if event.anchor in self._open:
                    self._refuse(event, f"the alias *{event.anchor} stands inside itself")
                self._sizes[-1] += self._anchors.get(event.anchor, 1)
            case _:
                self._sizes[-1] += 1
        if len(self._sizes) > MAX_DEPTH:
            self._refuse(event, f"is nested deeper than {MAX_DEPTH} levels")
        if self._sizes[-1] > self._most:
            self._refuse(event, "its aliases unfold to too many values")

    def _refuse(self, event: yaml.Event, problem: str) -> None:
        mark = event.start_mark
        raise InvalidDocument(self._path, problem, line=None if mark is None else mark.line + 1)


# The single reader of the project: every malformed file is rejected with the same messages.

T = TypeVar("T")

_MAX_BYTES = 64 * 1024 * 1024
_MAX_DEPTH = 100
"""Code that walks a document may recurse to ten times this depth."""
_SafeLoader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_SafeLoader):  # type: ignore[misc]  # the C or the Python loader, chosen at run time
    """PyYAML's loader, without numbers that no digest can represent."""


def _finite_number(loader: Any, node: yaml.Node) -> float:
    number = float(loader.construct_yaml_float(node))
    if not math.isfinite(number):
        raise yaml.constructor.ConstructorError(
            None, None, f"{node.value[:40]} is not a finite number", node.start_mark
        )
    return number


_Loader.add_constructor("tag:yaml.org,2002:float", _finite_number)


def read_document(path: Path, shape: type[T]) -> T:
    """The document at `path` as `shape`, the format taken from the file's ending.

    Raises InvalidDocument with file, line and field for a file that is missing, unreadable or of another shape.
    """
    data, lines = read_plain(path)
    return shaped(path, data, shape, lines)


def read_plain(path: Path) -> tuple[Any, dict[Location, int]]:
    """The document as plain values, and the line (from 1) on which each location starts, if the format's parser
    reports it.
    """
    text = file_text(path)
    match path.suffix:
        case ".json":
            data, lines = _json(path, text), dict[Location, int]()
        case ".toml":
            data, lines = _toml(path, text), {}
        case _:
            return yaml_values(path, text)
    _refuse_deep(path, data)
    return data, lines


def shaped(path: Path, data: object, shape: type[T], lines: dict[Location, int], at: Location = ()) -> T:
    """Validates plain values as `shape`; `at` is their location in the document, for the error's line and field."""
    try:
        return cast(T, _adapter(cast(Hashable, shape)).validate_python(data))
    except ValidationError as error:
        within, problem = first_problem(shape, error)
        location = at + within
        field = ".".join(str(part) for part in location) or None
        raise InvalidDocument(path, problem, line=_line_of(lines, location), field=field) from None


@cache
def _adapter(shape: Hashable) -> TypeAdapter[Any]:
    """Built once: building one takes many times longer than validating a case."""
    return TypeAdapter(cast(Any, shape))


def file_text(path: Path) -> str:
    """The text of a hand-written file. Raises InvalidDocument for one that cannot be read."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise InvalidDocument(path, "cannot be read: it is not a regular file")
        if found.st_size > _MAX_BYTES:
            raise InvalidDocument(path, f"is larger than {_MAX_BYTES} bytes")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidDocument(path, f"is not UTF-8 ({error.reason} at byte {error.start})") from None
    except OSError as error:
        raise InvalidDocument(path, f"cannot be read: {error.strerror}") from None
    except ValueError as error:  # a file name cannot contain a null byte
        raise InvalidDocument(path, f"cannot be read: {error}") from None


def _json(path: Path, text: str) -> Any:
    try:
        value = json.loads(text, parse_constant=_no_number, parse_float=_finite_float)
        if "\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidDocument(path, "is not JSON: a text contains half of a surrogate pair") from None
    except json.JSONDecodeError as error:
        raise InvalidDocument(path, f"is not JSON: {error.msg}", line=error.lineno) from None
    except ValueError as error:  # also a whole number of more digits than Python reads
        raise InvalidDocument(path, f"is not JSON: {error}") from None
    except RecursionError:
        raise InvalidDocument(path, "is nested too deeply") from None
    return value


def _finite_float(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text[:40]} is not a finite number")


def _toml(path: Path, text: str) -> Any:
    import tomllib  # only task folders are written in it

    try:
        return tomllib.loads(text)
    except ValueError as error:  # TOMLDecodeError, and a whole number of more digits than Python reads
        raise InvalidDocument(path, f"is not TOML: {error}") from None
    except RecursionError:
        raise InvalidDocument(path, "is nested too deeply") from None


def yaml_values(path: Path, text: str) -> tuple[Any, dict[Location, int]]:
    """The same for YAML text that was read from `path`."""
    refuse_boundless_yaml(path, text)
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        lines = dict(_node_lines(path, node, ())) if node is not None else {}
        data = loader.construct_document(node) if node is not None else None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise InvalidDocument(path, f"is not YAML: {error.problem or error.context}", line=line) from None
    except (yaml.YAMLError, ValueError) as error:
        raise InvalidDocument(path, f"is not YAML: {error}") from None
    except (LookupError, AttributeError, TypeError):  # raised by PyYAML if a value does not match its tag
        raise InvalidDocument(path, "is not YAML: a value is not what its tag says") from None
    except RecursionError:
        raise InvalidDocument(path, "is nested too deeply") from None
    finally:
        loader.dispose()
    _refuse_deep(path, data)
    return data, lines


def _refuse_deep(path: Path, data: object) -> None:
    if is_deeper(data, _MAX_DEPTH):
        raise InvalidDocument(path, f"is nested deeper than {_MAX_DEPTH} levels")


def is_deeper(data: object, levels: int) -> bool:
    """Whether lists and objects are nested deeper in `data`; checked level by level, so that no depth overflows the
    stack.
    """
    level = [data]
    for _ in range(levels):
        level = [item for outer in level for item in _children(outer) if isinstance(item, dict | list)]
        if not level:
            return False
    return True


def _children(value: object) -> Iterable[object]:
    match value:
        case dict():
            return value.values()
        case list():
            return value
        case _:
            return ()


def _node_lines(path: Path, node: yaml.Node, at: Location) -> Iterator[tuple[Location, int]]:
    yield at, node.start_mark.line + 1
    match node:
        case yaml.MappingNode():
            seen: set[str] = set()
            for key, value in node.value:
                name = str(key.value)
                if name in seen:
                    raise InvalidDocument(path, f"key {name!r} is given twice", line=key.start_mark.line + 1)
                seen.add(name)
                yield from _node_lines(path, value, (*at, name))
                yield (*at, name), key.start_mark.line + 1
        case yaml.SequenceNode():
            for index, value in enumerate(node.value):
                yield from _node_lines(path, value, (*at, index))
        case _:
            pass


def _line_of(lines: dict[Location, int], location: Location) -> int | None:
    for length in range(len(location), -1, -1):
        if location[:length] in lines:
            return lines[location[:length]]
    return None


# One file that a person wrote, with the data that error messages need to locate a problem.


@dataclass(frozen=True, kw_only=True)
class Document:
    """A read file: its plain data and the line of each location."""

    path: Path
    data: Any
    lines: dict[Location, int]

    def shaped(self, shape: type[T], data: Any = None, *at: int | str) -> T:
        """Validates the whole document, or `data` at a location of it, as `shape`."""
        return shaped(self.path, self.data if data is None else data, shape, self.lines, at)

    def refuse(self, *at: int | str, problem: str, remedy: str | None = None) -> NoReturn:
        """Raises InvalidDocument for the value at a location."""
        field = ".".join(str(part) for part in at) or None
        raise InvalidDocument(self.path, problem, line=self.line(*at), field=field, remedy=remedy)

    def line(self, *at: int | str) -> int | None:
        """The line of a location, or of the nearest one around it; None if the format keeps no lines."""
        return next((self.lines[at[:n]] for n in range(len(at), -1, -1) if at[:n] in self.lines), None)


def open_document(path: Path) -> Document:
    """Reads a file; raises InvalidDocument if it is missing or malformed."""
    data, lines = read_plain(path)
    return Document(path=path, data=data, lines=lines)


# A field's description is the text below it in the source, so that code, schema and reference cannot disagree.

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def field_docs(model: type[BaseModel]) -> dict[str, str]:
    """Maps each field to the text below it in its class or in the nearest base; fields without a text are left out."""
    found: dict[str, str] = {}
    for cls in reversed(model.__mro__):
        if issubclass(cls, BaseModel) and cls is not BaseModel:
            found |= docs_of(cls)
    return {name: found[name] for name in written_fields(model) if name in found}


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


def written_fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields that people write; the others are set by the readers of other formats."""
    return {
        name: info
        for name, info in model.model_fields.items()
        if not any(type(one) is SkipJsonSchema for one in info.metadata)
    }


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
        for info in written_fields(model).values():
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
