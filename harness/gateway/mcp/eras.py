"""The two eras of MCP: a handshake with sessions (to 2025-11-25), and since 2026-07-28 self-contained requests."""

import base64
import binascii
import re
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from typing import Literal

from harness import __version__
from harness.gateway.mcp.wire import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    UNSUPPORTED_VERSION,
    RpcError,
    RpcMessage,
    shown,
)
from harness.values import JsonObject, JsonValue

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
    """A header's value, decoded where the client encoded it because it is not plain ASCII; None where the encoding is
    invalid.
    """
    found = None if value is None else _WRAPPED.fullmatch(value)
    if found is None:
        return value
    try:
        return base64.b64decode(found[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
