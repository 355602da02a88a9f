"""MCP's messages: JSON-RPC 2.0 parsed and written, and the two eras of the protocol."""

import base64
import binascii
import json
import re
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from harness import __version__
from harness.gateway.tool_calls import ToolReply
from harness.values import JsonObject, NotJson, parse_json

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
    """The id of a message that may be malformed; None if it has no readable one."""
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


HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = ("2026-07-28",)
BATCHING = ("2024-11-05", "2025-03-26")
VERSION_HEADER = "MCP-Protocol-Version"
SESSION_HEADER = "Mcp-Session-Id"
VERSION_META = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_META = "io.modelcontextprotocol/clientCapabilities"
SERVER_META = "io.modelcontextprotocol/serverInfo"
SERVER_INFO: JsonObject = {"name": "harness", "version": __version__}
_UNSAID = "2025-03-26"
"""The version assumed for a request that states none, as the protocol specifies."""
_MAX_SESSIONS = 1000
_WRAPPED = re.compile(r"^=\?base64\?(.*)\?=$")

Era = Literal["handshake", "modern"]
Headers = Mapping[str, str]


class Handshakes:
    """The MCP sessions of one trial, and the version that each agreed on; beyond a limit, the oldest ones are
    forgotten.
    """

    def __init__(self) -> None:
        self._versions: OrderedDict[str, str] = OrderedDict()

    def begin(self, params: JsonObject) -> tuple[str, JsonObject]:
        """Answers `initialize`: the new session's id and the result."""
        wanted = params.get("protocolVersion")
        if not isinstance(wanted, str):
            raise RpcError(INVALID_PARAMS, "`protocolVersion` is a string")
        version = wanted if wanted in HANDSHAKE else HANDSHAKE[-1]
        session = secrets.token_hex(16)
        self._versions[session] = version
        while len(self._versions) > _MAX_SESSIONS:
            self._versions.popitem(last=False)
        return session, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": SERVER_INFO}

    def version(self, headers: Headers) -> str:
        """The version that a request of the handshake era is made in. Raises RpcError for an unknown session."""
        session = headers.get(SESSION_HEADER)
        if session is None:
            return headers.get(VERSION_HEADER, _UNSAID)
        if session not in self._versions:
            raise RpcError(INVALID_REQUEST, f"there is no session {shown(session)!r}: initialize anew", status=404)
        return self._versions[session]

    def end(self, headers: Headers) -> bool:
        """Ends the named session; returns whether it existed."""
        return self._versions.pop(headers.get(SESSION_HEADER, ""), None) is not None


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


def check_envelope(message: RpcMessage, headers: Headers) -> None:
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
