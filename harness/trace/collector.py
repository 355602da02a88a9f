"""The OTLP/HTTP collector that spans are sent to: its address, its headers, and its client."""

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.util.re import parse_env_headers
from typing_extensions import override

from harness.distribution import extra_remedy
from harness.errors import UsageError

if TYPE_CHECKING:
    import requests

FROM_ENVIRONMENT = "env"
"""The value of an endpoint that selects the one in OpenTelemetry's environment variables."""
_ENDPOINT, _TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
_HEADERS, _TRACES_HEADERS = "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"
_PATH = "v1/traces"
_TIMEOUT_S = 5.0
_SILENT = (
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.sdk._shared_internal",
    "opentelemetry.util.re",
)
"""These loggers write the endpoint's messages and unreadable headers, which may contain keys, and a line for each lost
span; the run reports lost spans itself.
"""


def otlp_endpoint(endpoint: str) -> str:
    """The URL that spans are posted to; `/v1/traces` is added where an endpoint has no path.

    `env` stands for OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, which is used unchanged, or for OTEL_EXPORTER_OTLP_ENDPOINT, to
    which `/v1/traces` is always appended. Raises UsageError where the value is not an HTTP URL, or the environment sets
    none.
    """
    if endpoint != FROM_ENVIRONMENT:
        return _with_path(endpoint, f"the OTLP endpoint {endpoint!r}")
    if whole := os.environ.get(_TRACES_ENDPOINT):
        _check(whole, f"{_TRACES_ENDPOINT}={whole!r}")
        return whole
    if base := os.environ.get(_ENDPOINT):
        _check(base, f"{_ENDPOINT}={base!r}")
        return _below(base)
    raise UsageError(
        f"the OTLP endpoint is to be the environment's, and neither {_TRACES_ENDPOINT} nor {_ENDPOINT} is set",
        remedy=f"set {_ENDPOINT}, or name the endpoint: --otlp http://127.0.0.1:4318",
    )


def otlp_headers() -> dict[str, str]:
    """The headers in OTEL_EXPORTER_OTLP_HEADERS, for every request; they may contain keys.

    Raises UsageError, without the text itself, for an entry that is not `name=value`.
    """
    variable = _TRACES_HEADERS if os.environ.get(_TRACES_HEADERS) else _HEADERS
    headers: dict[str, str] = {}
    for number, item in enumerate(os.environ.get(variable, "").split(","), start=1):
        found = parse_env_headers(item, liberal=True)
        if item.strip() and not found:
            raise UsageError(
                f"{variable}: item {number} is not a header",
                remedy=f"for example {variable}='x-api-key=KEY,x-team=evals'",
            )
        headers.update(found)
    return headers


def shown(endpoint: str) -> str:
    """An endpoint for messages: without user, password and query, which may be keys."""
    parts = urlsplit(endpoint)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


class Collector:
    """The client of one endpoint."""

    def __init__(self, endpoint: str, headers: Mapping[str, str] | None = None, timeout_s: float = _TIMEOUT_S) -> None:
        """`endpoint`: the whole URL. `headers` override those of the environment.

        Raises UsageError for headers that cannot be read, and where the extra `otlp` is not installed.
        """
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        except ImportError:
            raise UsageError(
                "sending traces to an OTLP endpoint needs the extra `otlp`", remedy=extra_remedy("otlp")
            ) from None
        for name in _SILENT:
            logging.getLogger(name).disabled = True
        self._answer = _Answer()
        self._closed = False
        self._exporter: SpanExporter = OTLPSpanExporter(
            endpoint=endpoint,
            headers=otlp_headers() if headers is None else dict(headers),
            timeout=timeout_s,
            session=_session(self._answer),
        )

    def send(self, spans: Sequence[ReadableSpan]) -> str | None:
        """Sends one request, retried for some seconds where the endpoint requests it. Returns None, or the reason of a
        failure.
        """
        self._answer.words = ""
        if self._exporter.export(spans) is SpanExportResult.SUCCESS:
            return None
        return self._answer.words or "the spans could not be encoded, or are too large"

    @property
    def failure(self) -> str:
        """The last answer, also of a request in progress, where that was a failure; else ""."""
        return self._answer.words if self._answer.is_failure else ""

    def close(self) -> None:
        """Ends the pause before another attempt; a second call has no effect."""
        if not self._closed:
            self._closed = True
            self._exporter.shutdown()


@dataclass(kw_only=True)
class _Answer:
    """The endpoint's last answer: `HTTP 503`, or a kind of failure."""

    words: str = ""
    is_failure: bool = False


def _session(answer: _Answer) -> "requests.Session":
    """A session that follows no redirect, because the headers are for the endpoint only, and that stores its
    answers.
    """
    import requests

    class Noting(requests.Session):
        @override
        def get_redirect_target(self, resp: requests.Response) -> None:
            return None

        @override
        def request(self, *args: Any, **more: Any) -> requests.Response:
            try:
                response = super().request(*args, **more)
            except requests.RequestException as error:
                answer.words = "no answer in time" if isinstance(error, requests.Timeout) else "no connection"
                answer.is_failure = True
                raise
            answer.words, answer.is_failure = f"HTTP {response.status_code}", response.status_code // 100 != 2
            if response.status_code // 100 == 3:  # the exporter would treat it as a success
                raise requests.TooManyRedirects("redirects are not followed")
            return response

    return Noting()


def _with_path(endpoint: str, what: str) -> str:
    _check(endpoint, what)
    return endpoint if urlsplit(endpoint).path.strip("/") else _below(endpoint)


def _below(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(path=f"{parts.path.rstrip('/')}/{_PATH}").geturl()


def _check(endpoint: str, what: str) -> None:
    try:
        parts = urlsplit(endpoint)
        port = parts.port
    except ValueError:
        parts, port = None, None
    if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        raise UsageError(f"{what} is not an http(s) URL", remedy="for example http://127.0.0.1:4318")
