"""JSON-RPC 2.0 as used by MCP: parses messages, writes replies, and defines errors with their codes."""

import json
from dataclasses import dataclass
from typing import Literal

from harness.gateway.tool_calls import ToolReply
from harness.strict_json import NotJson, parse_json
from harness.values import JsonObject, JsonValue

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
class RpcMessage:
    """One message of the client. A `response` is ignored, because this server never sends requests."""

    kind: Literal["request", "notification", "response"]
    method: str = ""
    params: JsonObject
    id: MessageId = None


def parse_body(raw: bytes) -> JsonValue:
    """The JSON of a posted body. Raises RpcError."""
    try:
        return parse_json(raw)
    except NotJson as error:
        raise RpcError(PARSE_ERROR, f"the body is not JSON: {error}" if raw.strip() else "the body is empty") from None


def message_of(value: JsonValue) -> RpcMessage:
    """One JSON-RPC message. Raises RpcError that describes the problem."""
    if not isinstance(value, dict):
        raise RpcError(INVALID_REQUEST, "a message is a JSON object")
    if value.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, 'a message has "jsonrpc": "2.0"')
    if "method" not in value and ("result" in value or "error" in value):
        return RpcMessage(kind="response", params={})
    method, params = value.get("method"), value.get("params", {})
    if not isinstance(method, str):
        raise RpcError(INVALID_REQUEST, "a request's `method` is a string")
    if not isinstance(params, dict):
        raise RpcError(INVALID_PARAMS, "`params` is a JSON object")
    if "id" not in value:
        return RpcMessage(kind="notification", method=method, params=params)
    return RpcMessage(kind="request", method=method, params=params, id=_valid_id(value["id"]))


def id_of(value: JsonValue) -> MessageId:
    """The id of a message that may be malformed; None where it has no readable one."""
    try:
        return _valid_id(value.get("id")) if isinstance(value, dict) else None
    except RpcError:
        return None


def result_text(message_id: MessageId, result: bytes) -> bytes:
    """A response whose result is JSON text already."""
    return b'{"jsonrpc":"2.0","id":' + json.dumps(message_id).encode() + b',"result":' + result + b"}"


def error_text(message_id: MessageId, error: RpcError) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": message_id, "error": error.error}).encode()


def error_reply(error: RpcError, message_id: MessageId = None) -> ToolReply:
    """An error with the HTTP status that belongs to it."""
    return ToolReply(status=error.status, body=error_text(message_id, error))


def shown(text: str) -> str:
    """What the client sent, short enough for a message."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _valid_id(value: JsonValue) -> MessageId:
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise RpcError(INVALID_REQUEST, "a request's `id` is a string or a whole number")
