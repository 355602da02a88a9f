"""`/mcp`: MCP over streamable HTTP, for one trial. Every call is handled like a request to `/tools/<name>`.

Answers are JSON and never streams: the server sends no messages of its own, so GET is rejected as the protocol allows.
It keeps no sessions: a client names its version with each request. The listing of tools is one page.
"""

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from aiohttp import web
from pydantic import JsonValue

from harness import __version__
from harness.gateway.bodies import read_json
from harness.gateway.exchange import CallFailure
from harness.gateway.tool_calls import ToolCallHandler, ToolReply
from harness.gateway.upstream.transport import Refusal
from harness.suite.tools import ToolSpec
from harness.values import JsonObject, NotJson, parse_json

# MCP's messages: JSON-RPC 2.0 parsed and written, and the two eras of the protocol.

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022

_STATUS = {METHOD_NOT_FOUND: 404}
_SHOWN = 200

MessageId = str | int | None


class RpcError(Exception):
    """Ends one message with a JSON-RPC error."""

    def __init__(self, code: int, message: str, *, data: JsonValue = None, status: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data
        self.status = status or _STATUS.get(code, 400)

    @property
    def error(self) -> JsonObject:
        """The `error` member."""
        error: JsonObject = {"code": self.code, "message": str(self)}
        return error if self.data is None else error | {"data": self.data}


@dataclass(frozen=True, kw_only=True)
class RpcRequest:
    """One request of the client."""

    method: str
    params: JsonObject
    id: MessageId


def parse_body(raw: bytes) -> JsonValue:
    """The JSON of a posted body. Raises RpcError."""
    try:
        return parse_json(raw)
    except NotJson as error:
        raise RpcError(PARSE_ERROR, f"the body is not JSON: {error}" if raw.strip() else "the body is empty") from None


def message_of(value: JsonValue) -> RpcRequest | None:
    """One JSON-RPC request; None for a notification, and for a response, because this server sends no requests. Raises
    RpcError that describes the problem.
    """
    if not isinstance(value, dict):
        raise RpcError(INVALID_REQUEST, "a message is a JSON object")
    if value.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, 'a message has "jsonrpc": "2.0"')
    if "method" not in value and ("result" in value or "error" in value):
        return None
    method, params = value.get("method"), value.get("params", {})
    if not isinstance(method, str):
        raise RpcError(INVALID_REQUEST, "a request's `method` is a string")
    if not isinstance(params, dict):
        raise RpcError(INVALID_PARAMS, "`params` is a JSON object")
    if "id" not in value:
        return None
    return RpcRequest(method=method, params=params, id=_valid_id(value["id"]))


def id_of(value: JsonValue) -> MessageId:
    """The id of a message that may be malformed; None if it has no readable one."""
    try:
        return _valid_id(value.get("id")) if isinstance(value, dict) else None
    except RpcError:
        return None


def result_text(message_id: MessageId, result: bytes) -> bytes:
    """A response whose result is JSON text already."""
    return b'{"jsonrpc":"2.0","id":' + json.dumps(message_id).encode() + b',"result":' + result + b"}"


def error_reply(error: RpcError, message_id: MessageId = None) -> ToolReply:
    """An error with the HTTP status that belongs to it."""
    body = json.dumps({"jsonrpc": "2.0", "id": message_id, "error": error.error}).encode()
    return ToolReply(status=error.status, body=body, headers={"Allow": "POST"} if error.status == 405 else {})


def shown(text: str) -> str:
    """What the client sent, short enough for a message."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _valid_id(value: JsonValue) -> MessageId:
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise RpcError(INVALID_REQUEST, "a request's `id` is a string or a whole number")


HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = ("2026-07-28",)
VERSION_HEADER = "MCP-Protocol-Version"
VERSION_META = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_META = "io.modelcontextprotocol/clientCapabilities"
SERVER_META = "io.modelcontextprotocol/serverInfo"
SERVER_INFO: JsonObject = {"name": "harness", "version": __version__}
_WRAPPED = re.compile(r"^=\?base64\?(.*)\?=$")

Era = Literal["handshake", "modern"]
Headers = Mapping[str, str]


def handshake(params: JsonObject) -> JsonObject:
    """Answers `initialize`. Raises RpcError."""
    wanted = params.get("protocolVersion")
    if not isinstance(wanted, str):
        raise RpcError(INVALID_PARAMS, "`protocolVersion` is a string")
    version = wanted if wanted in HANDSHAKE else HANDSHAKE[-1]
    return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": SERVER_INFO}


def era_of(headers: Headers, body: JsonValue) -> Era:
    """The protocol era of the client. Raises RpcError for an unknown version."""
    version = headers.get(VERSION_HEADER)
    if version in MODERN or _is_modern(body):
        return "modern"
    if version is None or version in HANDSHAKE:
        return "handshake"
    raise unsupported(version)


def unsupported(version: str) -> RpcError:
    supported: list[JsonValue] = [*MODERN, *HANDSHAKE]
    return RpcError(
        UNSUPPORTED_VERSION,
        f"the protocol version {shown(version)!r} is not supported",
        data={"supported": supported, "requested": shown(version)},
    )


def check_envelope(message: RpcRequest, headers: Headers) -> None:
    """Checks that a modern request states version and capabilities in its body, and that its headers agree. Raises
    RpcError.
    """
    meta = message.params.get("_meta")
    missing = [key for key in (VERSION_META, CAPABILITIES_META) if not isinstance(meta, dict) or key not in meta]
    if missing:
        raise RpcError(INVALID_PARAMS, f"params._meta lacks {', '.join(missing)}")
    assert isinstance(meta, dict)  # nothing is missing in it
    version = meta[VERSION_META]
    if not isinstance(version, str):
        raise RpcError(INVALID_PARAMS, f"{VERSION_META} is a string")
    if headers.get(VERSION_HEADER) != version:
        raise _mismatch(VERSION_HEADER, VERSION_META)
    if headers.get("Mcp-Method") != message.method:
        raise _mismatch("Mcp-Method", "method")
    name = message.params.get("name")
    if message.method == "tools/call" and name is not None and _unwrapped(headers.get("Mcp-Name")) != name:
        raise _mismatch("Mcp-Name", "params.name")
    if version not in MODERN:
        raise unsupported(version)


def discovery() -> JsonObject:
    """Answers `server/discover`."""
    return {
        "supportedVersions": [*MODERN, *HANDSHAKE],
        "capabilities": {"tools": {}},
        "serverInfo": SERVER_INFO,
        "_meta": {SERVER_META: SERVER_INFO},
        **LIST_MARKS,
    }


LIST_MARKS: JsonObject = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
"""The fields of a modern listing besides its content: clients must not cache it."""


def _is_modern(body: JsonValue) -> bool:
    if not isinstance(body, dict):
        return False
    params = body.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return body.get("method") == "server/discover" or (isinstance(meta, dict) and VERSION_META in meta)


def _mismatch(header: str, field: str) -> RpcError:
    return RpcError(HEADER_MISMATCH, f"the header {header} is missing or differs from the body's {field}")


def _unwrapped(value: str | None) -> str | None:
    """A header's value, decoded if the client encoded it because it is not plain ASCII; None if the encoding is
    invalid.
    """
    found = None if value is None else _WRAPPED.fullmatch(value)
    if found is None:
        return value
    try:
        return base64.b64decode(found[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


_NO_TOOL = frozenset({"unknown_tool", "not_allowed", "unparsable_arguments"})
"""What the protocol counts as an invalid request; all other failures should reach the model, so they are results."""


def listed_tool(spec: ToolSpec) -> JsonObject:
    """One entry of tools/list: the source's description of the tool, under the tool's name in the suite."""
    entry: JsonObject = dict(spec.listed)
    entry.setdefault("annotations", {"readOnlyHint": spec.effect == "read"})
    return entry | {"name": spec.name, "description": spec.description, "inputSchema": spec.parameters}


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


_MAX_NAME = 200
_ACCEPTED = ToolReply(status=202, body=b"")
_NO_RETRY = {"x-should-retry": "false"}


class McpHandler:
    """The MCP server of one trial, at `/mcp`; it may serve many connections at once."""

    def __init__(self, calls: ToolCallHandler) -> None:
        self._calls = calls
        self._tools: list[JsonObject] = [listed_tool(spec) for spec in calls.offered_specs()]

    def opens(self, path: str) -> bool:
        return path == "/mcp"

    async def handle(self, request: web.BaseRequest, *, is_open: bool) -> web.StreamResponse:
        """One HTTP request; every request after the end of the trial is rejected."""
        if not is_open:
            raise Refusal(403, "limit_reached", "the trial has ended")
        try:
            reply = await self._answered(request)
        except Refusal as refusal:
            reply = error_reply(RpcError(INVALID_REQUEST, refusal.message, status=refusal.status))
        except RpcError as error:
            reply = error_reply(error)
        kind = "application/json" if reply.body else None
        return web.Response(status=reply.status, body=reply.body or None, headers=reply.headers, content_type=kind)

    async def _answered(self, request: web.BaseRequest) -> ToolReply:
        if request.method != "POST":
            raise RpcError(INVALID_REQUEST, f"{request.method[:20]} is not served here: send a POST", status=405)
        _check_headers(request.headers)
        raw = await read_json(request, self._calls.exchange.large)
        return await self._post(parse_body(raw), request.headers)

    async def _post(self, body: JsonValue, headers: Headers) -> ToolReply:
        era = era_of(headers, body)
        try:
            message = message_of(body)
            if message is None:
                return _ACCEPTED
            if era == "modern":
                check_envelope(message, headers)
            result, more = await self._result(message, era)
            return ToolReply(status=200, body=result_text(message.id, result), headers=more)
        except RpcError as error:
            reply = error_reply(error, id_of(body))
            known = era == "handshake" and error.code in {METHOD_NOT_FOUND, INVALID_PARAMS}
            return ToolReply(status=200 if known else reply.status, body=reply.body)

    async def _result(self, message: RpcRequest, era: Era) -> tuple[bytes, dict[str, str]]:
        match message.method:
            case "tools/call":
                return await self._call(message.params, era)
            case "tools/list":
                page: JsonObject = {"tools": list(self._tools)}
                return json.dumps(page | LIST_MARKS if era == "modern" else page).encode(), {}
            case "initialize" if era == "handshake":
                return json.dumps(handshake(message.params)).encode(), {}
            case "server/discover" if era == "modern":
                return json.dumps(discovery()).encode(), {}
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
