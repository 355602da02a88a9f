"""One connection to an MCP server: the handshake, requests and answers, over any transport."""

from typing import Protocol

from harness import __version__
from harness.errors import ServiceError
from harness.values import JsonObject, JsonValue

VERSION = "2025-11-25"
MODERN = "2026-07-28"
_KNOWN = ("2024-11-05", "2025-03-26", "2025-06-18", VERSION)
_CLIENT: JsonObject = {"name": "trial-harness", "version": __version__}
_MAX_PAGES = 1000


class Lost(Exception):
    """The server has ended, or closed the connection before its answer."""


class Oversized(Exception):
    """The answer of the server exceeds the size limit."""


class Garbled(Exception):
    """The server's answer violates the protocol."""


class ServerError(Exception):
    """The server answered with a JSON-RPC error: `error` is that member, unchanged."""

    def __init__(self, error: JsonObject) -> None:
        super().__init__(str(error.get("message", "")))
        self.error = error


class McpTransport(Protocol):
    """Transports messages to one server."""

    async def open(self) -> None:
        """Opens the transport; raises ServiceError where no server answers."""
        ...

    async def request(self, method: str, params: JsonObject, version: str | None) -> JsonObject:
        """Returns the `result`. Raises ServerError, Lost, Oversized or Garbled; on cancellation, it notifies the
        server.
        """
        ...

    async def notify(self, method: str, version: str | None) -> None: ...

    async def close(self) -> None: ...

    def said(self) -> str:
        """The end of the server's log output; empty where it wrote none."""
        ...


class McpConnection:
    """Communicates with one server after the handshake; a server without a handshake is supported too."""

    def __init__(self, name: str, channel: McpTransport) -> None:
        self._name = name
        self._channel = channel
        self._version: str | None = None

    async def open(self) -> None:
        """Negotiates a version. Raises ServiceError with the server's output."""
        await self._channel.open()
        try:
            try:
                await self._shake_hands()
            except ServerError:
                await self._discover()
        except (ServerError, Lost, Oversized, Garbled) as error:
            written = self._channel.said()
            raise ServiceError(
                f"the MCP server {self._name!r} did not start: {error}" + (f"\n{written}" if written else ""),
                remedy="start it by hand with the command in the suite's `tools:`",
            ) from None

    async def tools(self) -> list[JsonObject]:
        """All pages of its listing, unchanged."""
        tools: list[JsonObject] = []
        cursor: JsonValue = None
        for _ in range(_MAX_PAGES):
            page = await self._ask("tools/list", {} if cursor is None else {"cursor": cursor})
            listed = page.get("tools")
            tools += [tool for tool in listed if isinstance(tool, dict)] if isinstance(listed, list) else []
            cursor = page.get("nextCursor")
            if cursor is None:
                return tools
        raise ServiceError(f"the MCP server {self._name!r} lists more than {_MAX_PAGES} pages of tools")

    async def call(self, tool: str, arguments: JsonObject) -> JsonObject:
        """The CallToolResult, unchanged. Raises ServerError, Lost, Oversized or Garbled."""
        return await self._ask("tools/call", {"name": tool, "arguments": arguments})

    async def close(self) -> None:
        await self._channel.close()

    async def _shake_hands(self) -> None:
        params: JsonObject = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": _CLIENT}
        result = await self._channel.request("initialize", params, None)
        version = result.get("protocolVersion")
        if version not in _KNOWN:
            raise Garbled(f"it speaks version {version!r} of the protocol")
        self._version = str(version)
        await self._channel.notify("notifications/initialized", self._version)

    async def _discover(self) -> None:
        self._version = MODERN
        result = await self._ask("server/discover", {})
        versions = result.get("supportedVersions")
        if not isinstance(versions, list) or MODERN not in versions:
            raise Garbled(f"it speaks the versions {versions!r} of the protocol")

    async def _ask(self, method: str, params: JsonObject) -> JsonObject:
        if self._version == MODERN:
            params = params | {"_meta": _modern_meta()}
        return await self._channel.request(method, params, self._version)


def _modern_meta() -> JsonObject:
    return {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": _CLIENT,
    }
