"""The real provider: where it is, the key that is added in the gateway, and its answer piece by piece."""

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from harness.cassettes.redaction import SECRET_HEADERS
from harness.errors import UsageError
from harness.gateway.budgets import RateLimiter
from harness.gateway.models.allowed import plain_headers
from harness.gateway.models.endpoints import Endpoint
from harness.gateway.upstream.transport import RetriedCall, begun, header_text, sent_body
from harness.suite.models import ModelMode, ModelServer, ModelSpec, Provider

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


_KEY_HEADERS: dict[Provider, str] = {"anthropic": "x-api-key", "gemini": "x-goog-api-key", "azure": "api-key"}
"""The header in which a provider expects its key; the others expect a bearer token."""
_VERSIONED = ("openai", "anthropic")


class ProviderUpstream:
    """One provider, for the live calls of a trial."""

    def __init__(
        self, provider: Provider, server: ModelServer, secrets: Mapping[str, str], client: aiohttp.ClientSession
    ) -> None:
        """`secrets` maps variable names to values; the variables that the server names are used."""
        self._provider = provider
        self._server = server
        self._key = secrets.get(server.api_key or "")
        self._client = client

    @asynccontextmanager
    async def ask(
        self,
        endpoint: Endpoint,
        query: str,
        headers: Mapping[str, str],
        body: bytes,
        tries: RetriedCall | None = None,
        *,
        model: str | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Sends a request that was made plain before; `model` is for endpoints whose paths name it.

        It is sent again if the connection failed before an answer began and `tries` allows.

        Raises aiohttp.ClientError or ConnectionError.
        """
        passed = plain_headers(headers)

        path = self.address(endpoint, model)
        url = URL(f"{path}{('&' if '?' in path else '?') if query else ''}{query}", encoded=True)

        async def send() -> aiohttp.ClientResponse:
            credentials = self._credentials()
            return await begun(
                self._client.request(
                    endpoint.method,
                    url,
                    data=sent_body(body),
                    headers={**passed, "Accept-Encoding": "identity", **self._server.headers, **credentials},
                    allow_redirects=False,
                )
            )

        async with await (tries or RetriedCall(0, 0.0))(send) as response:
            yield response

    def address(self, endpoint: Endpoint, model: str | None) -> str:
        """Where a request goes."""
        path = endpoint.path_for(model)
        base = (self._server.base_url or "").rstrip("/")
        versioned = bool(urlsplit(base).path) if self._provider == "openai" else base.endswith("/v1")
        # The base address of OpenAI's clients contains the version, that of Anthropic's does not.
        return base + (path.removeprefix("/v1") if versioned and self._provider in _VERSIONED else path)

    def _credentials(self) -> dict[str, str]:
        if self._key is None:
            return {}
        header = _KEY_HEADERS.get(self._provider)
        return {"Authorization": f"Bearer {self._key}"} if header is None else {header: self._key}


def headers_back(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of a provider's answer that are passed to the agent."""
    return {str(name): header_text(value) for name, value in headers.items() if name.lower() not in _NOT_PASSED_BACK}


def check_keys(
    spec: ModelSpec,
    mode: ModelMode,
    secrets: Mapping[str, str],
    *,
    model: str = "the model",
    otherwise: str | None = "--live none",
) -> None:
    """Raises UsageError for a key that is not in the environment; `otherwise` are options that need no key."""
    for provider, server in spec.servers.items():
        if server.api_key is not None and not secrets.get(server.api_key):
            raise UsageError(
                f"{model} is called in mode {mode}, but the key of the provider {provider!r} is missing: "
                f"the environment variable {server.api_key} is not set",
                remedy="set it" if otherwise is None else f"set it, or run with {otherwise}",
            )


# Shares a busy provider's back-off with all trials of a run.

_BUSY: Final = frozenset({429, 529})
"""Too many requests, and Anthropic's status for overload."""
_UNTOLD_S: Final = 0.5


def hold_where_busy(limiter: RateLimiter, server: str, status: int, headers: Mapping[str, str]) -> None:
    """Delays the calls of all trials to a provider whose answer to one of them requests it, for the requested time."""
    if status in _BUSY:
        limiter.hold(server, requested_wait_s(headers) or _UNTOLD_S)


def requested_wait_s(headers: Mapping[str, str]) -> float:
    """The value of `Retry-After` in seconds, from seconds or a date; 0 if it cannot be read."""
    retry_after = next((value for name, value in headers.items() if name.lower() == "retry-after"), "")
    try:
        return max(float(retry_after), 0.0)
    except ValueError:
        pass
    try:
        return max(parsedate_to_datetime(retry_after).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return 0.0
