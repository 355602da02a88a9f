"""A tool as the agent sees it, and where its answers come from."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, JsonValue, field_validator, model_validator

from harness.suite.expressions import check_expression, cut
from harness.values import Frozen, JsonObject, with_texts

Effect = Literal["read", "write"]
ToolKind = Literal["http", "mcp", "python", "sandbox", "browser"]
IMPORTED_SERVER = "imported"
"""The server of tools that an import found: their list may be incomplete."""
POINTER = r"^(/[^/]*)+$"
"""A JSON pointer; `*` matches every item of a list and every member of an object."""
_POINTER_OR_ALL = r"^(/[^/]*)*$"


class HttpRoute(Frozen):
    """A call described over HTTP. Placeholders `{name}` in `path` and `query` are filled from the arguments."""

    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    """HTTP method. The result of HEAD is the status and the headers of the answer."""
    path: str
    """Path below the server's address; `{name}` takes the argument of that name."""
    query: dict[str, str] = {}
    """Query parameter -> argument name. An argument that the call leaves out is left out of the query. A list is sent
    as `a=1&a=2`; `"{a:,}"` joins its items by what stands behind the colon (`a=1,2`).
    """
    body: Literal["arguments", "body", "none"] = "none"
    """`arguments`: the arguments that are in neither path nor query, as one JSON object. `body`: the argument of that
    name, unchanged.
    """

    def queried(self) -> Iterator[tuple[str, str, str]]:
        """Each query parameter, its argument, and what joins the items of a list; empty: each is sent alone."""
        for parameter, source in self.query.items():
            name, _, separator = source.removeprefix("{").removesuffix("}").partition(":")
            yield parameter, name, separator


Rate = Annotated[str, Field(pattern=r"^[1-9][0-9]*/([0-9]*[1-9][0-9]*|[0-9]*\.[0-9]*[1-9])?s$")]
"""`20/s`, `100/60s`: so many calls may begin within the period."""


class RateLimit(NamedTuple):
    """At most `calls` in every `per_s` seconds, over all trials together; live calls only."""

    calls: int
    per_s: float

    @classmethod
    def of(cls, rate: Rate) -> "RateLimit":
        calls, _, period = rate.removesuffix("s").partition("/")
        return cls(int(calls), float(period or 1))


class VolatilePart(Frozen):
    """What changes with every run inside texts that otherwise matter: a time, a UUID, a temporary path."""

    at: str = Field(default="", pattern=_POINTER_OR_ALL)
    """JSON pointer to the value, all of whose texts are searched; `*` matches every item of a list and every member of
    an object. Without one, every text is searched."""
    regex: str
    """Regular expression; what it finds is left out of the key."""

    @field_validator("regex")
    @classmethod
    def _compiles(cls, value: str) -> str:
        check_expression(value)
        return value


class ToolSpec(Frozen):
    """One tool. `server` names an entry of the suite's `servers`: calls of one server share their write state."""

    name: str = Field(pattern=r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$", max_length=64)
    """Name as the agent calls it; some providers of models take no dots in it."""
    description: str = ""
    """What the agent reads about the tool."""
    parameters: JsonObject = {"type": "object", "properties": {}, "additionalProperties": False}
    """JSON Schema (2020-12) of the arguments object."""
    effect: Effect = "write"
    """What is not declared counts as a write."""
    server: str
    """Name of an entry of the suite's `servers`, which answers the tool."""
    source: ToolKind = "http"
    """Who answers it."""
    http: HttpRoute | None = None
    """The HTTP request that the tool performs; set for all tools of an HTTP service, and for no others."""
    source_name: str | None = None
    """The name in its source, if the suite has given it another name."""
    listed: JsonObject = {}
    """Further fields of its source's listing (title, annotations, output schema): passed on unchanged."""
    output: JsonObject | None = Field(default=None, exclude=True)
    """The JSON Schema of a successful answer of an HTTP tool, if one is declared; `harness drift` reads it. It does
    not affect the agent's task, so it is not part of the suite's digest.
    """
    rate_limit: Rate | None = None
    """How often the live tool may be called, as `CALLS/s` or `CALLS/SECONDSs` (`100/60s`), over all trials together.
    None: without limit."""
    timeout_s: float = Field(default=30.0, gt=0)
    """Seconds within which the tool must have answered."""
    ignore: tuple[str | VolatilePart, ...] = ()
    """What is left out of the cassette key, volatile by rule (request ids, timestamps): names of top-level arguments,
    JSON pointers (`/filter/requested_at`, `/items/*/trace`), and parts of texts (`{at: /query, regex: ...}`)."""
    generated_ids: tuple[str, ...] = ()
    """JSON pointers to texts in the answer that are new in every run (ids, cursors): they are bound to the call that
    gave them, so that a recording made again is the same, and are recognised when the agent sends them back. A number
    is not bound, because it may occur elsewhere by chance: it is translated as a `volatile` one is.
    """
    volatile: tuple[str, ...] = ()
    """JSON pointers to values in the answer that vary by themselves, such as the time of a clock: a recorded answer may
    be returned again if only these differ, and recording again translates them, numbers included.
    """

    @field_validator("generated_ids", "volatile")
    @classmethod
    def _pointers(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for pointer in value:
            if not pointer.startswith("/"):
                raise ValueError(f"expected a JSON pointer, which begins with /, found {pointer!r}")
        return value

    @model_validator(mode="after")
    def _http_has_a_route(self) -> "ToolSpec":
        if (self.source == "http") != (self.http is not None):
            raise ValueError("needs `http`: the call that stands for it")
        return self

    @field_validator("parameters")
    @classmethod
    def _object_schema(cls, value: JsonObject) -> JsonObject:
        if value.get("type") != "object":
            raise ValueError("the schema of a tool's arguments has type: object")
        return value


class OmittedValue:
    """What a change gives for a value that is to be left out."""


Change = Callable[[JsonValue], JsonValue | OmittedValue]


Rule = str | VolatilePart
"""What is left out of a key: the name of a top-level member, a JSON pointer, or a part of texts."""


def without_ignored(
    rules: Iterable[Rule], value: JsonObject, where: str, used: dict[str, int] | None = None
) -> JsonObject:
    """The parts of a request that matter; `value` itself stays as it is. `where` names the rules' place.

    Counts in `used` for each rule whether it found something. Raises OutOfTime for a pattern that takes too long.
    """
    kept: JsonValue = value
    for rule in rules:
        before = kept
        match rule:
            case VolatilePart():
                kept = changed_at(kept, rule.at, partial(_without_pattern, where, rule))
            case str() if rule.startswith("/"):
                kept = changed_at(kept, rule, _leave_out)
            case str() if isinstance(kept, dict):
                kept = {name: item for name, item in kept.items() if name != rule}
            case _:
                pass
        if used is not None:
            name = rule_name(where, rule)
            used[name] = used.get(name, 0) + (kept != before)
    assert isinstance(kept, dict)  # no rule names the whole
    return kept


def rule_name(where: str, rule: Rule) -> str:
    """A rule as people are told of it."""
    return f"{where}: ignore: " + (rule if isinstance(rule, str) else f"the regex at {rule.at or 'any text'}")


def without_volatile(tool: ToolSpec, arguments: JsonObject, used: dict[str, int] | None = None) -> JsonObject:
    """The arguments that matter; see `without_ignored`."""
    return without_ignored(tool.ignore, arguments, f"tool {tool.name!r}", used)


def changed_at(value: JsonValue, pointer: str, change: Change) -> JsonValue:
    """`value` with `change` applied to the values at the pointer; `*`: every item and member."""
    changed = _with_change_at(value, pointer_parts(pointer), change)
    assert not isinstance(changed, OmittedValue)  # nothing leaves out the whole
    return changed


def without(value: JsonValue, pointer: str) -> JsonValue:
    """`value` without the values at the pointer."""
    return changed_at(value, pointer, _leave_out)


def values_at(value: JsonValue, pointer: str) -> tuple[JsonValue, ...]:
    """The values at the pointer: none, one, or with a star as many as there are."""
    return tuple(_values_at(value, pointer_parts(pointer)))


def unmatched(pointers: Iterable[str], values: Sequence[JsonValue]) -> list[str]:
    """The pointers that match nothing in any of the values."""
    return [pointer for pointer in pointers if not any(values_at(value, pointer) for value in values)]


_OPEN = frozenset({"$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties"})


def may_lead(schema: JsonValue, pointer: str) -> bool:
    """Whether a value of the schema may have something at the pointer; yes if the schema leaves it open."""
    return _may_lead(schema, pointer_parts(pointer))


def _may_lead(schema: JsonValue, parts: Sequence[str]) -> bool:
    if not parts or not isinstance(schema, dict) or _OPEN & schema.keys():
        return True
    first, rest = parts[0], parts[1:]
    properties = schema.get("properties")
    members = properties if isinstance(properties, dict) else {}
    more = [schema["items"]] if "items" in schema and (first == "*" or first.isdigit()) else []
    if not members and "items" not in schema:  # it says nothing of its members: only a plain value has none
        kind = schema.get("type", "object")
        return schema.get("additionalProperties") is not False and bool({"object", "array"} & {*_texts(kind)})
    inner = [item for name, item in members.items() if first in {"*", name}] + more
    return any(_may_lead(item, rest) for item in inner) or schema.get("additionalProperties", False) is not False


def _texts(value: JsonValue) -> list[str]:
    return [str(one) for one in (value if isinstance(value, list) else [value])]


def pointer_parts(pointer: str) -> list[str]:
    """The keys of a JSON pointer."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _with_change_at(value: JsonValue, parts: Sequence[str], change: Change) -> JsonValue | OmittedValue:
    if not parts:
        return change(value)
    first, rest = parts[0], parts[1:]
    match value:
        case dict():
            members = {
                name: _with_change_at(item, rest, change) if first in {"*", name} else item
                for name, item in value.items()
            }
            return {name: item for name, item in members.items() if not isinstance(item, OmittedValue)}
        case list():
            items = [
                _with_change_at(item, rest, change) if first in {"*", str(index)} else item
                for index, item in enumerate(value)
            ]
            return [item for item in items if not isinstance(item, OmittedValue)]
        case _:
            return value


def _values_at(value: JsonValue, parts: Sequence[str]) -> Iterator[JsonValue]:
    if not parts:
        yield value
        return
    match value:
        case dict():
            for name, item in value.items():
                if parts[0] in {"*", name}:
                    yield from _values_at(item, parts[1:])
        case list():
            for index, item in enumerate(value):
                if parts[0] in {"*", str(index)}:
                    yield from _values_at(item, parts[1:])
        case _:
            pass


def _leave_out(value: JsonValue) -> OmittedValue:
    del value
    return OmittedValue()


def _without_pattern(where: str, rule: VolatilePart, value: JsonValue) -> JsonValue:
    return with_texts(value, lambda text: cut(rule.regex, text, field=rule_name(where, rule)))


def signature(tool: ToolSpec) -> str:
    """`add(item: string, quantity: integer = 1)`; an argument with `?` may be left out."""
    properties = tool.parameters.get("properties")
    required = tool.parameters.get("required")
    needed = required if isinstance(required, list) else []
    declared = properties if isinstance(properties, dict) else {}
    shown = [_argument(name, schema, name in needed) for name, schema in declared.items()]
    return f"{tool.name}({', '.join(shown)})"


def _argument(name: str, schema: JsonValue, needed: bool) -> str:
    kind = _type_name(schema)
    if isinstance(schema, dict) and "default" in schema:
        return f"{name}: {kind} = {json.dumps(schema['default'], ensure_ascii=False)}"
    return f"{name}: {kind}" if needed else f"{name}?: {kind}"


def _type_name(schema: JsonValue) -> str:
    if not isinstance(schema, dict):
        return "any"
    for union in ("anyOf", "oneOf"):
        choices = schema.get(union)
        if isinstance(choices, list):
            return " | ".join(_type_name(choice) for choice in choices)
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return reference.rpartition("/")[2]
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return " | ".join(str(one) for one in kind)
    return f"{_type_name(schema['items'])}[]" if kind == "array" and "items" in schema else str(kind)
