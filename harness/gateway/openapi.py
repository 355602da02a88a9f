"""The agent-facing routes described as an OpenAPI document, with the trial's tools in it."""

import json

from aiohttp import web
from pydantic import JsonValue

from harness.gateway.exchange import TOOL_STATUSES
from harness.gateway.toolbox import Toolbox
from harness.gateway.upstream.transport import Refusal
from harness.values import JsonObject

PATH = "/openapi.json"


def _object(optional: JsonObject | None = None, /, **required: JsonValue) -> JsonObject:
    """The schema of an object with these members."""
    return {"type": "object", "required": list(required), "properties": required | (optional or {})}


_TEXT: JsonObject = {"type": "string"}
_ERROR = _object(error=_object({"body": {}}, type=_TEXT, message=_TEXT))
_TURN = _object(message=_TEXT, system={"type": ["string", "null"]}, profile={"type": ["object", "null"]})
_TOOL = _object(name=_TEXT, description=_TEXT, parameters={"type": "object"})
_LISTING = _object(tools={"type": "array", "items": _TOOL})
_SAYING = _object(message=_TEXT)
_THOUGHT = _object({"plan": {"type": ["array", "null"], "items": _TEXT}}, text=_TEXT)
_REFUSED: JsonObject = {
    "400": "what was sent cannot be read",
    "403": "a limit is reached, or the trial has ended",
    "408": "the body did not arrive",
    "413": "the body is too large",
    "422": "a field is missing or wrong",
}


def openapi_document(toolbox: Toolbox, offered: frozenset[str]) -> JsonObject:
    """An OpenAPI 3.1 document, whose schemas are the tools' JSON Schemas."""
    tools: JsonObject = {
        f"/tools/{name}": {"post": _call_operation(name, tool.spec.description, tool.spec.parameters)}
        for name, tool in toolbox.tools.items()
        if name in offered
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "harness gateway", "version": "1"},
        "paths": {
            "/turn": {
                "get": _operation(
                    "turn", "The user's next message.", {"200": _TURN, "204": None}, {"403": _REFUSED["403"]}
                )
            },
            "/tools": {"get": _operation("tools", "The allowed tools.", {"200": _LISTING}, {"403": _REFUSED["403"]})},
            "/thought": {
                "post": _taking(_operation("thought", "What the agent thinks.", {"204": None}, _REFUSED), _THOUGHT)
            },
            "/reply": {
                "post": _taking(
                    _operation("reply", "The agent's answer to the user.", {"204": None}, _REFUSED), _SAYING
                )
            },
            **tools,
        },
    }


class OpenApiHandler:
    """Serves the document."""

    def __init__(self, toolbox: Toolbox, offered: frozenset[str]) -> None:
        self._toolbox = toolbox
        self._offered = offered

    def opens(self, path: str) -> bool:
        return path == PATH

    async def handle(self, request: web.BaseRequest, *, is_open: bool) -> web.StreamResponse:
        if not is_open:
            raise Refusal(403, "limit_reached", "the trial has ended")
        if request.method != "GET":
            raise Refusal(404, "no_such_route", f"there is no route {request.method[:20]} {PATH}")
        document = json.dumps(openapi_document(self._toolbox, self._offered)).encode()
        return web.Response(body=document, content_type="application/json")


def _call_operation(name: str, description: str, parameters: JsonObject) -> JsonObject:
    failures: JsonObject = {
        **{str(status): ", ".join(kinds) for status, kinds in TOOL_STATUSES.items()},
        "4XX": "the tool itself refused the call (tool_error)",
        "408": _REFUSED["408"],
        "413": _REFUSED["413"],
    }
    # A reference inside the schema is relative to the schema, not to this document.
    identifier: JsonObject = {"$id": f"/schemas/{name}"} if "$ref" in json.dumps(parameters) else {}
    return _taking(_operation(f"tool_{name}", description, {"200": {}}, failures), identifier | parameters)


def _operation(name: str, description: str, responses: dict[str, JsonObject | None], refused: JsonObject) -> JsonObject:
    good: JsonObject = {
        status: {"description": description or name} | ({} if schema is None else {"content": _json(schema)})
        for status, schema in responses.items()
    }
    bad: JsonObject = {status: {"description": why, "content": _json(_ERROR)} for status, why in refused.items()}
    return {"operationId": name, "description": description, "responses": good | bad}


def _taking(operation: JsonObject, schema: JsonObject) -> JsonObject:
    return operation | {"requestBody": {"required": True, "content": _json(schema)}}


def _json(schema: JsonValue) -> JsonObject:
    return {"application/json": {"schema": schema}}
