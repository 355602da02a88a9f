"""Reads foreign JSON with limits: every error names file, line or record, and field."""

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

from pydantic import JsonValue, ValidationError

from harness.errors import InvalidDocument
from harness.suite.documents import is_deeper
from harness.suite.problems import first_words
from harness.values import Frozen, JsonObject, with_texts

# Reads foreign JSON with limits; every error names file, line or record, and field.
#
# Whatever is returned can be stored and digested: non-finite numbers and lone surrogates, which JSON text can carry and
# a canonical form cannot, are made plain text here, once.

T = TypeVar("T", bound=Frozen)

MAX_DEPTH = 128
MAX_BYTES = 256 * 1024 * 1024
MAX_LINE_BYTES = 64 * 1024 * 1024
LINES = (".jsonl", ".ndjson")
"""Endings of files with one JSON value per line."""
MAX_VALUES = 4_000_000
"""Of one document or line, by its commas and opening brackets; so many take about half a gigabyte."""

_SURROGATE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F]"
)
"""Half of a pair that stands without its other half; text with whole pairs needs no closer look."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """One object of a foreign file, and its position. Names given together are spellings of one field."""

    path: Path
    data: JsonObject
    at: str = ""
    line: int | None = None

    def value(self, *names: str) -> JsonValue:
        """The value of the field; None if it is missing."""
        for name in names:
            found = self.data.get(name)
            if found is not None:
                return found
        return None

    def text(self, *names: str) -> str | None:
        found = self.value(*names)
        if found is None or isinstance(found, str):
            return found
        raise self.refusal(names[0], f"is {kind_of(found)}, not text")

    def tool(self, name: str = "name") -> str:
        """The tool that a call names, as every call does."""
        found = self.text(name)
        if found is None:
            raise self.refusal(name, "is missing: every call names a tool")
        return found

    def identifier(self, *names: str) -> str | None:
        """Text, or a whole number as text: many formats write ids either way."""
        found = self.value(*names)
        if isinstance(found, int) and not isinstance(found, bool):
            return str(found)
        return self.text(*names)

    def number(self, *names: str) -> float | None:
        """The number; None also for a number that is not finite."""
        found = self.value(*names)
        if found is None or found in ("NaN", "Infinity", "-Infinity"):
            return None
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise self.refusal(names[0], f"is {kind_of(found)}, not a number")
        return _finite_number(found)

    def count(self, *names: str) -> int | None:
        """A whole number that is not negative."""
        found = self.number(*names)
        if found is None:
            return None
        if found < 0 or not float(found).is_integer():
            raise self.refusal(names[0], f"is {found!r}, not a count")
        return int(found)

    def flag(self, *names: str) -> bool | None:
        found = self.value(*names)
        if found is None or isinstance(found, bool):
            return found
        raise self.refusal(names[0], f"is {kind_of(found)}, not true or false")

    def record(self, *names: str) -> "Record | None":
        found = self.value(*names)
        return None if found is None else self.within(names[0], found)

    def fields(self, *names: str) -> JsonObject:
        """The members of an object; none if it is missing."""
        found = self.record(*names)
        return {} if found is None else found.data

    def records(self, *names: str) -> "list[Record]":
        """The objects of a list; empty if there is none."""
        name = self._present(names)
        return [self.within(f"{name}.{index}", item) for index, item in enumerate(self.items(*names))]

    def items(self, *names: str) -> list[JsonValue]:
        found = self.value(*names)
        if found is None:
            return []
        if not isinstance(found, list):
            raise self.refusal(names[0], f"is {kind_of(found)}, not a list")
        return found

    def within(self, name: str, found: JsonValue) -> "Record":
        """`found` as a record that is at `name`."""
        if not isinstance(found, dict):
            raise self.refusal(name, f"is {kind_of(found)}, not an object")
        return Record(path=self.path, data=found, at=self._place_of(name), line=self.line)

    def refusal(self, name: str, problem: str, remedy: str | None = None) -> InvalidDocument:
        """The error to raise for the field `name` of this record."""
        return InvalidDocument(self.path, problem, line=self.line, field=self._place_of(name) or None, remedy=remedy)

    def shaped(self, shape: type[T]) -> T:
        """The record as a stored value; raises InvalidDocument for the first field that does not fit."""
        try:
            return shape.model_validate(self.data)
        except ValidationError as error:
            raise self.refusal(*first_words(error)) from None

    def _place_of(self, name: str) -> str:
        return f"{self.at}.{name}" if self.at and name else self.at or name

    def _present(self, names: Iterable[str]) -> str:
        return next((name for name in names if self.data.get(name) is not None), "")


def read_json(path: Path) -> JsonValue:
    """The document at `path`. Raises InvalidDocument with the line if it is not JSON."""
    return parse_json(path, read_text(path))


def read_text(path: Path) -> str:
    """The whole file as text; raises InvalidDocument if it is too large, no UTF-8 or not there."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InvalidDocument(path, f"is larger than {MAX_BYTES} bytes", remedy="split it, or give JSON lines")
        return decoded(path, path.read_bytes())
    except OSError as error:
        raise InvalidDocument(path, f"cannot be read: {error.strerror}") from None


def decoded(path: Path, content: bytes, *, line: int | None = None) -> str:
    """UTF-8 text, with or without a byte order mark."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidDocument(path, f"is not UTF-8 ({error.reason} at byte {error.start})", line=line) from None


def read_lines(path: Path) -> Iterator[tuple[int, JsonValue]]:
    """JSON lines one by one, numbered from 1; empty lines are passed over."""
    try:
        with path.open("rb") as stream:
            for number, content in enumerate(iter(lambda: stream.readline(MAX_LINE_BYTES + 1), b""), start=1):
                if len(content) > MAX_LINE_BYTES:
                    raise InvalidDocument(path, f"the line is longer than {MAX_LINE_BYTES} bytes", line=number)
                text = decoded(path, content, line=number)
                if text.strip():
                    yield number, parse_json(path, text, line=number)
    except OSError as error:
        raise InvalidDocument(path, f"cannot be read: {error.strerror}") from None


def parse_json(path: Path, text: str, *, line: int | None = None) -> JsonValue:
    """JSON text as plain values that can be stored. Raises InvalidDocument."""
    if _may_hold_too_many(text):
        raise InvalidDocument(path, f"may hold more than {MAX_VALUES} values", line=line, remedy="split it")
    try:
        value: JsonValue = json.loads(text, parse_constant=str, parse_float=_float_or_text)
    except json.JSONDecodeError as error:
        end = " (it ends too early)" if error.pos >= len(text.rstrip()) else ""
        raise InvalidDocument(path, f"is not JSON: {error.msg}{end}", line=line or error.lineno) from None
    except RecursionError:
        raise InvalidDocument(path, "is nested too deeply", line=line) from None
    except ValueError as error:  # a whole number of more digits than Python reads
        raise InvalidDocument(path, f"is not JSON that can be read: {error}", line=line) from None
    if not is_shallow(value):
        raise InvalidDocument(path, f"is nested deeper than {MAX_DEPTH} levels", line=line)
    return without_surrogates(value) if _has_lone_surrogate(text) else value


def embedded_json(text: str) -> JsonValue | None:
    """JSON that is written as text inside a value; None if it is none, or is none that could be stored."""
    if _may_hold_too_many(text):
        return None
    try:
        value: JsonValue = json.loads(text, parse_constant=_no_constant, parse_float=_finite_float)
    except (ValueError, RecursionError):
        return None
    if not is_shallow(value):
        return None
    return without_surrogates(value) if _has_lone_surrogate(text) else value


def _may_hold_too_many(text: str) -> bool:
    return text.count(",") + text.count("[") + text.count("{") > MAX_VALUES


def _has_lone_surrogate(text: str) -> bool:
    """Plain substrings first: they are found many times quicker, and most files have none of them."""
    return ("\\ud" in text or "\\uD" in text) and _SURROGATE.search(text) is not None


def is_shallow(value: JsonValue) -> bool:
    """Whether no more than MAX_DEPTH containers are in each other."""
    return not is_deeper(value, MAX_DEPTH)


def without_surrogates(value: JsonValue) -> JsonValue:
    """The same with lone surrogates replaced by question marks: no file could hold them."""
    return with_texts(value, lambda text: text.encode("utf-8", "replace").decode(), names=True)


def kind_of(value: JsonValue) -> str:
    """What a value is, in words."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case str():
            return "text"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case dict():
            return "an object"


def _finite_number(number: float) -> float | None:
    try:
        return number if math.isfinite(number) else None
    except OverflowError:  # a whole number beyond every float
        return None


def _float_or_text(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text


def _finite_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _no_constant(text: str) -> NoReturn:
    raise ValueError(text)


_TEXTS = ("text", "content", "refusal")


def text_of(content: JsonValue) -> str | None:
    """The text of a message; a part that is not text is named in brackets. None for empty content."""
    match content:
        case None:
            return None
        case str():
            return content
        case list():
            parts = [part for part in (part_text(item) for item in content) if part]
            return "\n".join(parts) if parts else None
        case dict():
            return part_text(content)
        case _:
            return str(content)


def part_text(part: JsonValue) -> str | None:
    """The text of one part, or its type in brackets."""
    if not isinstance(part, dict):
        return text_of(part)
    for name in _TEXTS:
        found = part.get(name)
        if isinstance(found, str):
            return found
    return f"[{part.get('type') or 'part'}]"


def result_of(content: JsonValue) -> JsonValue:
    """The result of a tool: a text if all parts are text, else the unchanged content."""
    if isinstance(content, list) and content and all(_is_text(part) for part in content):
        return text_of(content)
    return content


def has_other_parts(
    content: JsonValue, known: Collection[str] = ("text", "input_text", "output_text", "refusal")
) -> bool:
    """Whether a message contains parts other than text: images, sounds, files."""
    return isinstance(content, list) and any(
        isinstance(part, dict) and str(part.get("type", "text")) not in known for part in content
    )


def _is_text(part: JsonValue) -> bool:
    return isinstance(part, dict) and part.get("type", "text") == "text" and isinstance(part.get("text"), str)
