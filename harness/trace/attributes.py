"""Reads the attributes of a trial's spans; raises ResultsError for attributes that this harness would not write."""

import json
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from harness.documents import first_words
from harness.errors import ResultsError
from harness.trace import names
from harness.trace.span import Span
from harness.values import JsonValue

T = TypeVar("T")


def began(span: Span) -> tuple[int, int]:
    began = number(span, names.STARTED_MONOTONIC)
    return (span.start_ns, 0) if began is None else (began, span.start_ns)


def text_in(span: Span, name: str) -> str | None:
    value = span.attributes.get(name)
    return None if value is None else str(value)


def number(span: Span, name: str) -> int | None:
    value = span.attributes.get(name)
    return value if isinstance(value, int) else None


def decoded_as(span: Span, name: str, shape: TypeAdapter[T]) -> T:
    text = text_in(span, name)
    return shaped(span, name, None if text is None else json_in(span, name, text), shape)


def checked(span: Span, name: str, shape: TypeAdapter[T]) -> T:
    return shaped(span, name, span.attributes.get(name), shape)


def shaped(span: Span, name: str, value: object, shape: TypeAdapter[T]) -> T:
    try:
        return shape.validate_python(value)
    except ValidationError as error:
        raise ResultsError(f"span {span.span_id}: attribute {name!r}: {first_words(error)[1]}") from None


def json_in(span: Span, name: str, text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except ValueError as error:
        raise ResultsError(f"span {span.span_id}: attribute {name!r} is not JSON: {error}") from None
    return value
