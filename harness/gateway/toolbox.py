"""The suite's tools, prepared once: schemas compiled, listings built, malformed declarations rejected."""

import json
import re
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from urllib.parse import unquote

from pydantic import JsonValue

from harness.errors import UsageError
from harness.jsondiff import path_text
from harness.suite.cases import Case
from harness.suite.expressions import check_expression
from harness.suite.schemas import Schema, SchemaProblem, members, simple_check
from harness.suite.suites import Suite
from harness.suite.tools import ToolSpec, VolatilePart
from harness.text import alternatives, shortened
from harness.values import JsonObject, canonical_json

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_SHOWN = 300


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool with its compiled schema."""

    spec: ToolSpec
    schema: Schema
    in_path: bool
    """Whether arguments stand in the path of the tool's route."""
    may_take_long: bool
    """Whether regular expressions must be evaluated: by `problem_with`, or for parts that are left out of the cassette
    key.
    """

    def problem_with(self, arguments: JsonObject, complete: JsonObject | None = None) -> str | None:
        """The problem with the arguments: the path, and what the schema expects there. `complete`: the arguments with
        the defaults, whose place in the path of the tool's route is checked too.

        Raises OutOfTime, which names the expressions, if the schema's take too long.
        """
        found = self.schema.problem(arguments)
        if found is not None:
            return _problem_text(found)
        return unroutable(self.spec, complete) if self.in_path and complete is not None else None


def unroutable(tool: ToolSpec, arguments: JsonObject) -> str | None:
    """Why the arguments would make a path outside of the tool's route; None: they do not."""
    if tool.http is None:
        return None
    for name in _PLACEHOLDER.findall(tool.http.path):
        value = arguments.get(name)
        items = value if isinstance(value, list) else [value]
        text = ",".join(map(parameter_text, items))
        if any(isinstance(item, dict | list | None) for item in items) or not text or climbs(text):
            return f"$.{name}: {canonical_json(value)} cannot stand in the path {tool.http.path!r}"
    return None


def parameter_text(value: JsonValue) -> str:
    """The value as it stands in a path or a query."""
    return value if isinstance(value, str) else canonical_json(value)


def climbs(text: str) -> bool:
    """Whether a server that decodes the path or its part up to twice more may leave its root; also for a NUL byte."""
    decoded = unquote(unquote(text)).replace("\\", "/")
    return "\0" in decoded or any(part.partition(";")[0] in {".", ".."} for part in decoded.split("/"))


class Toolbox:
    """All tools of a suite. Names are case-sensitive."""

    def __init__(self, suite: Suite) -> None:
        self.tools: dict[str, Tool] = {}
        self._hosts = {host.tool for host in suite.hosts}
        for spec in suite.tools:
            check_schema(spec)
            if spec.server not in suite.servers:
                raise UsageError(
                    f"tool {spec.name!r}: there is no server {spec.server!r}",
                    remedy=alternatives(spec.server, suite.servers) or "declare it in the field 'servers'",
                )
            if spec.name in self.tools:
                raise UsageError(f"tool {spec.name!r} is declared twice")
            schema = Schema(spec.parameters, field=f"tool {spec.name!r}: parameters")
            asks_parts = any(isinstance(rule, VolatilePart) for rule in spec.ignore)
            self.tools[spec.name] = Tool(
                spec=spec,
                schema=schema,
                in_path=spec.http is not None and _PLACEHOLDER.search(spec.http.path) is not None,
                may_take_long=schema.asks_expressions or asks_parts,
            )
        _check_probes(suite, self.tools)

    def described(self, descriptions: Mapping[str, str]) -> "Toolbox":
        """The same tools, some with another description."""
        if not descriptions:
            return self
        changed = copy(self)
        changed.tools = {
            name: replace(tool, spec=tool.spec.model_copy(update={"description": descriptions[name]}))
            if name in descriptions
            else tool
            for name, tool in self.tools.items()
        }
        return changed

    def offered(self, case: Case) -> frozenset[str]:
        """The tools that a trial of the case may call. A forbidden tool can be called, because the call is scored."""
        allowed = self.tools if case.tools is None else case.tools
        unknown = {*allowed, *case.forbidden_tools} - set(self.tools) - self._hosts
        if unknown:
            raise UsageError(
                f"case {case.id!r} names tools that the suite does not have: {', '.join(sorted(unknown))}",
                remedy=f"the suite has: {', '.join(self.tools) or 'none'}",
            )
        return frozenset({*allowed, *case.forbidden_tools} - self._hosts)

    def listing(self, offered: frozenset[str]) -> bytes:
        """The answer to `GET /tools`, in the suite's order."""
        specs = [tool.spec for name, tool in self.tools.items() if name in offered]
        shown = [{"name": s.name, "description": s.description, "parameters": s.parameters} for s in specs]
        return json.dumps({"tools": shown}).encode()


def check_schema(tool: ToolSpec) -> None:
    """Raises UsageError, with the tool and the path in its declaration, for a malformed tool."""
    _check_parameters(tool)
    _check_route(tool)


def _check_parameters(tool: ToolSpec) -> None:
    if simple_check(tool.parameters) is not None:
        return
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(tool.parameters)
    except SchemaError as error:
        raise UsageError(
            f"tool {tool.name!r}: parameters{path_text(error.absolute_path)}: {error.message[:_SHOWN]}",
            remedy="parameters is a JSON Schema, draft 2020-12",
        ) from None
    _check_references(tool)
    _check_patterns(tool)


def _check_references(tool: ToolSpec) -> None:
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    resource = DRAFT202012.create_resource(tool.parameters)
    resolver = Registry().with_resource("", resource).resolver()
    for path, name, value in members(tool.parameters, "parameters"):
        if name in {"$ref", "$dynamicRef"} and isinstance(value, str):
            try:
                resolver.lookup(value)
            except Unresolvable:
                raise UsageError(
                    f"tool {tool.name!r}: {path}: there is no {value!r} in the schema",
                    remedy="put the definition into the schema's own $defs: other documents are not fetched",
                ) from None


def _check_patterns(tool: ToolSpec) -> None:
    for path, name, value in members(tool.parameters, "parameters"):
        if name == "pattern" and isinstance(value, str):
            try:
                check_expression(value)
            except ValueError as error:
                raise UsageError(f"tool {tool.name!r}: {path}: {error}") from None


def _check_route(tool: ToolSpec) -> None:
    if tool.http is None:
        return
    properties = tool.parameters.get("properties")
    known = properties if isinstance(properties, dict) else {}
    required = tool.parameters.get("required")
    for name in _PLACEHOLDER.findall(tool.http.path):
        schema = known.get(name)
        sure = (isinstance(required, list) and name in required) or (isinstance(schema, dict) and "default" in schema)
        if not sure:
            raise UsageError(
                f"tool {tool.name!r}: http.path: the argument {name!r} is not required and has no default",
                remedy="list it in parameters.required: a path cannot omit an argument",
            )
    for parameter, name, _ in tool.http.queried():
        if name not in known:
            raise UsageError(f"tool {tool.name!r}: http.query.{parameter}: there is no argument {name!r}")


def _check_probes(suite: Suite, tools: dict[str, Tool]) -> None:
    for probe in (*suite.probes, *(probe for case in suite.cases for probe in case.probes)):
        if probe.tool is None:
            continue
        tool = tools.get(probe.tool)
        if tool is None:
            raise UsageError(f"probe {probe.name!r}: there is no tool {probe.tool!r}")
        if tool.spec.effect != "read":
            raise UsageError(f"probe {probe.name!r}: tool {probe.tool!r} writes; a probe only reads")
        problem = tool.problem_with(probe.arguments)
        if problem is not None:
            raise UsageError(f"probe {probe.name!r}: arguments: {problem}")


def _problem_text(problem: SchemaProblem) -> str:
    return f"${path_text(problem.path)}: {shortened(problem.message, _SHOWN)}"
