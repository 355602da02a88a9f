"""Documents that people write (YAML, JSON, TOML) read into frozen values, with errors that name file, line and field.

The single reader of the project: every malformed file is rejected with the same messages.
"""

import json
import math
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from harness.documents.problem import Location, first_problem
from harness.documents.yaml_bounds import refuse_boundless_yaml
from harness.errors import InvalidDocument

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
    """The document as plain values, and the line (from 1) on which each location starts, where the format's parser
    reports it.
    """
    text = _text(path)
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
        return TypeAdapter(shape).validate_python(data)
    except ValidationError as error:
        within, problem = first_problem(shape, error)
        location = at + within
        field = ".".join(str(part) for part in location) or None
        raise InvalidDocument(path, problem, line=_line(lines, location), field=field) from None


def _text(path: Path) -> str:
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
    except (LookupError, AttributeError, TypeError):  # raised by PyYAML where a value does not match its tag
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
        level = [item for outer in level for item in _inside(outer) if isinstance(item, dict | list)]
        if not level:
            return False
    return True


def _inside(value: object) -> Iterable[object]:
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


def _line(lines: dict[Location, int], location: Location) -> int | None:
    for length in range(len(location), -1, -1):
        if location[:length] in lines:
            return lines[location[:length]]
    return None
