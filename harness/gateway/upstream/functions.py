"""Serves the public functions of a file as MCP tools over standard input and output; knows nothing of the harness.

A function is public if its name begins with no underscore and the file itself defines it. Its arguments' types make the
schema, its docstring the description. What it raises is returned as the tool's refusal.
"""

import asyncio
import importlib.util
import inspect
import io
import json
import os
import sys
import typing
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pydantic

Function = Callable[..., Any]


class FunctionTool:
    """One function with the shape of its arguments."""

    def __init__(self, name: str, function: Function) -> None:
        self.name = name
        self._function = function
        hints = typing.get_type_hints(function, include_extras=True)
        fields: dict[str, Any] = {}
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise TypeError(f"{name}: the parameter {parameter} cannot be given by name")
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[parameter.name] = (hints.get(parameter.name, Any), default)
        forbid = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=False)
        self._arguments: type[pydantic.BaseModel] = pydantic.create_model(name, __config__=forbid, **fields)
        self._result = pydantic.TypeAdapter(hints.get("return", Any))

    def listed(self) -> dict[str, Any]:
        schema = self._arguments.model_json_schema()
        schema.pop("title", None)
        schema.setdefault("properties", {})
        for property_schema in schema["properties"].values():
            property_schema.pop("title", None)
        description = inspect.getdoc(self._function) or ""
        return {"name": self.name, "description": description, "inputSchema": schema}

    def call(self, arguments: dict[str, Any]) -> Any:
        checked = self._arguments.model_validate(arguments)
        given = {name: getattr(checked, name) for name in type(checked).model_fields}
        result = self._function(**given)
        if inspect.iscoroutine(result):
            result = asyncio.run(result)
        return self._result.dump_python(result, mode="json")


def load(path: Path) -> dict[str, FunctionTool]:
    """The public functions of the file, in its order."""
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return {name: FunctionTool(name, function) for name, function in _public(module)}


def _public(module: ModuleType) -> list[tuple[str, Function]]:
    return [
        (name, value)
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    ]


def answer(tools: dict[str, FunctionTool], request: dict[str, Any]) -> dict[str, Any]:
    """The result of one request."""
    match request["method"]:
        case "initialize":
            info = {"name": "functions", "version": "1"}
            version = request["params"]["protocolVersion"]
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            return {"tools": [tool.listed() for tool in tools.values()]}
        case "tools/call":
            return _call_result(tools[request["params"]["name"]], request["params"]["arguments"])
        case other:
            raise LookupError(other)


def _call_result(tool: FunctionTool, arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        answer, failed = {"result": tool.call(arguments)}, False
        json.dumps(answer, allow_nan=False)
    except Exception as error:  # noqa: BLE001  # the function's own: what it raises is its answer
        answer, failed = {"error": type(error).__name__, "message": str(error)}, True
    return {"content": [{"type": "text", "text": json.dumps(answer)}], "structuredContent": answer, "isError": failed}


def main() -> None:
    """Answers one request a line until the input ends."""
    wire = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the functions print is not a message
    sys.stdin = io.StringIO()
    tools = load(Path(sys.argv[1]).resolve())
    with open(0, encoding="utf-8") as lines:  # a descriptor, not a path
        for line in lines:
            request = json.loads(line)
            if "id" not in request:
                continue
            try:
                reply: dict[str, Any] = {"result": answer(tools, request)}
            except LookupError as error:
                reply = {"error": {"code": -32601, "message": f"there is no {error}"}}
            wire.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}) + "\n")
            wire.flush()


if __name__ == "__main__":
    main()
