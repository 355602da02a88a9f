"""The real provider: where it is, the key that is added in the gateway, and its answer piece by piece."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from harness.case import ModelMode, ModelServer, ModelSpec, Provider
from harness.cassette import SECRET_HEADERS
from harness.errors import UsageError
from harness.upstream.client import header_text
from harness.upstream.model.allowed import plain_headers
from harness.upstream.model.endpoints import Endpoint
from harness.upstream.retrying import Tries, begun

_NOT_PASSED_BACK = SECRET_HEADERS | {
    "accept-encoding",
    "alt-svc",
    "baggage",
    "connection",
    "content-encoding",
    "content-length",
    "date",
    "expect",
    "host",
    "keep-alive",
    "proxy-connection",
    "server",
    "strict-transport-security",
    "te",
    "traceparent",
    "tracestate",
    "trailer",
    "transfer-encoding",
    "upgrade",
}


class ProviderUpstream:
    """One provider as a live call reaches it."""

    def __init__(self, provider: Provider, server: ModelServer, key: str | None, client: aiohttp.ClientSession) -> None:
        self._provider = provider
        self._server = server
        self._key = key
        self._client = client

    @asynccontextmanager
    async def ask(
        self, endpoint: Endpoint, query: str, headers: Mapping[str, str], body: bytes, tries: Tries | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Sends a request that was made plain before.

        It is sent again where the connection failed before an answer began and `tries` allows.

        Raises aiohttp.ClientError or ConnectionError.
        """
        passed = plain_headers(headers)

        async def send() -> aiohttp.ClientResponse:
            return await begun(
                self._client.request(
                    endpoint.method,
                    URL(f"{self._url(endpoint.path)}{'?' if query else ''}{query}", encoded=True),
                    data=body or None,
                    headers={**passed, "Accept-Encoding": "identity", **self._server.headers, **self._credentials()},
                    allow_redirects=False,
                )
            )

        async with await (tries or Tries(0, 0.0))(send) as response:
            yield response

    def _url(self, path: str) -> str:
        base = (self._server.base_url or "").rstrip("/")
        versioned = bool(urlsplit(base).path) if self._provider == "openai" else base.endswith("/v1")
        # The base address of OpenAI's clients contains the version, that of Anthropic's does not.
        return base + (path.removeprefix("/v1") if versioned else path)

    def _credentials(self) -> dict[str, str]:
        if self._key is None:
            return {}
        return {"x-api-key": self._key} if self._provider == "anthropic" else {"Authorization": f"Bearer {self._key}"}


def headers_back(headers: Mapping[str, str]) -> dict[str, str]:
    """Those of a provider's answer that the agent's client may read."""
    return {str(name): header_text(value) for name, value in headers.items() if name.lower() not in _NOT_PASSED_BACK}


def check_keys(spec: ModelSpec, mode: ModelMode, secrets: Mapping[str, str]) -> None:
    """Raises UsageError for a key that is not in the environment."""
    for provider, server in spec.servers.items():
        if server.api_key is not None and not secrets.get(server.api_key):
            raise UsageError(
                f"the model is to answer ({mode}), but the key of the provider {provider!r} is not there: "
                f"the environment variable {server.api_key} is not set",
                remedy="set it, or run with --model replay",
            )
