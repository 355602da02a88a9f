"""The form of tools in MCP listings, and of answers in MCP results."""

import base64
import json

from harness.case import ToolSpec
from harness.gateway.failures import CallFailure
from harness.gateway.mcp.wire import INVALID_PARAMS, RpcError
from harness.gateway.tool_calls import ToolReply
from harness.values import JsonObject, JsonValue

PAGE = 100
_NO_TOOL = frozenset({"unknown_tool", "not_allowed", "unparsable_arguments"})
"""What the protocol counts as an invalid request; all other failures should reach the model, so they are results."""
_PREFIX = b"page:"


def listed_tool(spec: ToolSpec) -> JsonObject:
    """One entry of tools/list: the source's description of the tool, under the tool's name in the suite."""
    entry: JsonObject = dict(spec.listed)
    entry.setdefault("annotations", {"readOnlyHint": spec.effect == "read"})
    return entry | {"name": spec.name, "description": spec.description, "inputSchema": spec.parameters}


def page_of(tools: list[JsonObject], cursor: JsonValue) -> JsonObject:
    """One page of the listing. Raises RpcError for a cursor that the server never issued."""
    start = _start(cursor)
    if start and start >= len(tools):
        raise _no_cursor()
    page: JsonObject = {"tools": list(tools[start : start + PAGE])}
    if start + PAGE < len(tools):
        page["nextCursor"] = base64.urlsafe_b64encode(_PREFIX + str(start + PAGE).encode()).decode()
    return page


def call_result(spec: ToolSpec | None, reply: ToolReply) -> bytes:
    """The JSON text of a CallToolResult. Raises RpcError for an answer that the protocol reports as an error.

    The answer of an MCP server is passed on unchanged.
    """
    if reply.failure is not None:
        return _failed(spec, reply.failure)
    if spec is not None and spec.source == "mcp":
        return reply.body
    text = json.dumps(reply.body.decode()).encode()
    structured = b',"structuredContent":' + reply.body if reply.body.lstrip()[:1] == b"{" else b""
    return b'{"content":[{"type":"text","text":' + text + b"}]" + structured + b',"isError":false}'


def completed(result: bytes) -> bytes:
    """The result in the form for modern clients: it is marked as complete, unless it has a marker already."""
    value = json.loads(result)
    if "resultType" in value:
        return result
    return b'{"resultType":"complete",' + result.lstrip()[1:] if value else b'{"resultType":"complete"}'


def _failed(spec: ToolSpec | None, failure: CallFailure) -> bytes:
    body = failure.body
    if failure.type == "tool_error" and spec is not None and spec.source == "mcp" and isinstance(body, dict):
        if "isError" in body:
            return json.dumps(body).encode()
        code = body.get("code")
        if isinstance(code, int):
            raise RpcError(code, str(body.get("message", "")), data=body.get("data"), status=200)
    if failure.type in _NO_TOOL:
        raise RpcError(INVALID_PARAMS, failure.message, data={"type": failure.type})
    about: JsonObject = {"type": failure.type, "retryable": False} if failure.type == "replay_miss" else {}
    result: JsonObject = {
        "content": [{"type": "text", "text": json.dumps(failure.content)}],
        "isError": True,
        "_meta": {"harness/error": {"type": failure.type, **about}},
    }
    return json.dumps(result).encode()


def _start(cursor: JsonValue) -> int:
    if cursor is None:
        return 0
    try:
        decoded = base64.urlsafe_b64decode(cursor) if isinstance(cursor, str) else b""
        if decoded.startswith(_PREFIX):
            return int(decoded[len(_PREFIX) :])
    except ValueError:
        raise _no_cursor() from None
    raise _no_cursor()


def _no_cursor() -> RpcError:
    return RpcError(INVALID_PARAMS, "the cursor is none of this listing")
