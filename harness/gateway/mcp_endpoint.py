"""`/mcp`: MCP over streamable HTTP, for one trial. Every call is handled like a request to `/tools/<name>`.

Answers are JSON and never streams: the server sends no messages of its own, so GET is rejected as the protocol allows.
The messages of a batch are handled in their order.
"""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable

from aiohttp import web
from pydantic import JsonValue

from harness.gateway import mcp_messages
from harness.gateway.bodies import read_json
from harness.gateway.exchange import CallFailure
from harness.gateway.mcp_messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Era,
    Handshakes,
    Headers,
    RpcError,
    RpcMessage,
    error_reply,
    error_text,
    id_of,
    message_of,
    parse_body,
    result_text,
    shown,
)
from harness.gateway.tool_calls import ToolCallHandler, ToolReply
from harness.gateway.upstream.transport import Refusal
from harness.suite.tools import ToolSpec
from harness.values import JsonObject

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
        return _failed_result(spec, reply.failure)
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


def _failed_result(spec: ToolSpec | None, failure: CallFailure) -> bytes:
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


_MAX_BATCH = 100
_MAX_NAME = 200
_ACCEPTED = ToolReply(status=202, body=b"")
_NO_RETRY = {"x-should-retry": "false"}


class McpHandler:
    """`/mcp` among the route handlers of a session."""

    def __init__(self, calls: ToolCallHandler) -> None:
        self._endpoint = McpEndpoint(calls)
        self._large = calls.exchange.large

    def opens(self, path: str) -> bool:
        return path == "/mcp"

    async def handle(self, request: web.BaseRequest, *, is_open: bool) -> web.StreamResponse:
        """One HTTP request; every request after the end of the trial is rejected."""
        if not is_open:
            raise Refusal(403, "limit_reached", "the trial has ended")

        async def read() -> bytes:
            try:
                return await read_json(request, self._large)
            except Refusal as refusal:
                raise RpcError(INVALID_REQUEST, refusal.message, status=refusal.status) from None

        reply = await self._endpoint.handle(request.method, request.headers, read)
        kind = "application/json" if reply.body else None
        return web.Response(status=reply.status, body=reply.body or None, headers=reply.headers, content_type=kind)


class McpEndpoint:
    """The MCP server of one trial; it may serve many connections at once."""

    def __init__(self, calls: ToolCallHandler) -> None:
        self._calls = calls
        self._sessions = Handshakes()
        self._tools: list[JsonObject] = [listed_tool(spec) for spec in calls.offered_specs()]

    async def handle(self, method: str, headers: Headers, read: Callable[[], Awaitable[bytes]]) -> ToolReply:
        """One HTTP request; `read` gives its body and may raise RpcError."""
        try:
            match method:
                case "POST":
                    _check_headers(headers)
                    return await self._post(parse_body(await read()), headers)
                case "DELETE" if self._sessions.end(headers):
                    return ToolReply(status=204, body=b"")
                case _:
                    raise RpcError(INVALID_REQUEST, f"{method[:20]} is not served here: send a POST", status=405)
        except RpcError as error:
            reply = error_reply(error)
            return ToolReply(
                status=reply.status, body=reply.body, headers={"Allow": "POST"} if error.status == 405 else {}
            )

    async def _post(self, body: JsonValue, headers: Headers) -> ToolReply:
        era = mcp_messages.era_of(headers, body)
        if isinstance(body, list):
            return await self._batch(body, era, headers)
        try:
            message = message_of(body)
            if message.method != "initialize" and era == "handshake":
                self._sessions.version(headers)  # rejects an unknown session
            return await self._message(message, era, headers)
        except RpcError as error:
            reply = error_reply(error, id_of(body))
            known = era == "handshake" and error.code in {METHOD_NOT_FOUND, INVALID_PARAMS}
            return ToolReply(status=200 if known else reply.status, body=reply.body)

    async def _message(self, message: RpcMessage, era: Era, headers: Headers) -> ToolReply:
        if message.kind != "request":
            return _ACCEPTED
        if era == "modern":
            mcp_messages.check_envelope(message, headers)
        elif message.method == "initialize":
            session, result = self._sessions.begin(message.params)
            body = result_text(message.id, json.dumps(result).encode())
            return ToolReply(status=200, body=body, headers={mcp_messages.SESSION_HEADER: session})
        result_json, more = await self._result(message, era)
        return ToolReply(status=200, body=result_text(message.id, result_json), headers=more)

    async def _batch(self, body: list[JsonValue], era: Era, headers: Headers) -> ToolReply:
        if era == "modern" or self._sessions.version(headers) not in mcp_messages.BATCHING:
            raise RpcError(INVALID_REQUEST, "this version of the protocol has no batches: send one message")
        if not 0 < len(body) <= _MAX_BATCH:
            raise RpcError(INVALID_REQUEST, f"a batch holds 1 to {_MAX_BATCH} messages")
        replies = [await self._of_batch(item) for item in body]
        answers = [text for text in replies if text is not None]
        return ToolReply(status=200, body=b"[" + b",".join(answers) + b"]") if answers else _ACCEPTED

    async def _of_batch(self, item: JsonValue) -> bytes | None:
        try:
            message = message_of(item)
            if message.kind != "request":
                return None
            if message.method == "initialize":
                raise RpcError(INVALID_REQUEST, "initialize is not part of a batch")
            result, _ = await self._result(message, "handshake")
        except RpcError as error:
            return error_text(id_of(item), error)
        return result_text(message.id, result)

    async def _result(self, message: RpcMessage, era: Era) -> tuple[bytes, dict[str, str]]:
        match message.method:
            case "tools/call":
                return await self._call(message.params, era)
            case "tools/list":
                page = page_of(self._tools, message.params.get("cursor"))
                return json.dumps(page | mcp_messages.LIST_MARKS if era == "modern" else page).encode(), {}
            case "server/discover" if era == "modern":
                return json.dumps(mcp_messages.discovery()).encode(), {}
            case "ping":
                return completed(b"{}") if era == "modern" else b"{}", {}
            case other:
                raise RpcError(METHOD_NOT_FOUND, f"there is no method {shown(other)!r}")

    async def _call(self, params: JsonObject, era: Era) -> tuple[bytes, dict[str, str]]:
        name = params.get("name")
        if not isinstance(name, str):
            raise RpcError(INVALID_PARAMS, "`name` is the tool's name")
        name = name[:_MAX_NAME]
        arguments = params.get("arguments")
        raw = json.dumps({} if arguments is None else arguments).encode()
        reply = await self._calls.call(name, raw)
        if reply.pace_s:  # a result is one message and cannot be split, so all of it is delayed
            await asyncio.sleep(reply.pace_s)
        result = call_result(self._calls.spec(name), reply)
        missed = reply.failure is not None and reply.failure.type == "replay_miss"
        return completed(result) if era == "modern" else result, dict(_NO_RETRY) if missed else {}


def _check_headers(headers: Headers) -> None:
    kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RpcError(
            INVALID_REQUEST, f"the content type is application/json, not {shown(kind) or 'missing'}", status=415
        )
    accepts = headers.get("Accept", "*/*").lower()
    if not any(kind in accepts for kind in ("application/json", "application/*", "*/*")):
        raise RpcError(INVALID_REQUEST, "the answers are application/json, which `Accept` leaves out", status=406)
