"""Documents that people write (YAML, JSON, TOML) read into frozen values, with errors that name file, line and field.

The one reader of the house: every malformed file, whatever it describes, is refused in the same words.
"""

import json
import os
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from harness.errors import InvalidDocument

T = TypeVar("T")
Location = tuple[int | str, ...]

_MAX_BYTES = 64 * 1024 * 1024
_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_document(path: Path, shape: type[T]) -> T:
    """The document at `path` as `shape`, the format taken from the file's ending.

    Raises InvalidDocument with file, line and field for a file that is missing, unreadable or of another shape.
    """
    data, lines = read_plain(path)
    return shaped(path, data, shape, lines)


def read_plain(path: Path) -> tuple[Any, dict[Location, int]]:
    """The document as plain values, and the line (from 1) on which each location starts, where the format tells."""
    text = _text(path)
    match path.suffix:
        case ".json":
            return _json(path, text), {}
        case ".toml":
            return _toml(path, text), {}
        case _:
            return _yaml(path, text)


def shaped(path: Path, data: object, shape: type[T], lines: dict[Location, int], at: Location = ()) -> T:
    """Plain values as `shape`; `at` is where in the document they stand, for the error's line and field."""
    try:
        return TypeAdapter(shape).validate_python(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        location = at + tuple(first["loc"])
        more = error.error_count() - 1
        problem = first["msg"] + (f" (and {more} more)" if more else "")
        field = ".".join(str(part) for part in location) or None
        raise InvalidDocument(path, problem, line=_line(lines, location), field=field) from None


def write_atomically(path: Path, content: bytes) -> None:
    """Writes beside `path`, flushes to disk, then renames over it: readers see the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InvalidDocument(path, f"is larger than {_MAX_BYTES} bytes")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidDocument(path, f"is not UTF-8 ({error.reason} at byte {error.start})") from None
    except OSError as error:
        raise InvalidDocument(path, f"cannot be read: {error.strerror}") from None


def _json(path: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidDocument(path, f"is not JSON: {error.msg}", line=error.lineno) from None
    except RecursionError:
        raise InvalidDocument(path, "is nested too deeply") from None


def _toml(path: Path, text: str) -> Any:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidDocument(path, f"is not TOML: {error}") from None


def _yaml(path: Path, text: str) -> tuple[Any, dict[Location, int]]:
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        lines = dict(_node_lines(path, node, ())) if node is not None else {}
        return (loader.construct_document(node) if node is not None else None), lines
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise InvalidDocument(path, f"is not YAML: {error.problem or error.context}", line=line) from None
    except (yaml.YAMLError, ValueError) as error:
        raise InvalidDocument(path, f"is not YAML: {error}") from None
    except RecursionError:
        raise InvalidDocument(path, "is nested too deeply") from None
    finally:
        loader.dispose()


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
