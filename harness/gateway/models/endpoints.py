"""The paths of the model endpoints."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal
from urllib.parse import parse_qs, quote

from harness.gateway.models.anthropic import AnthropicMessages
from harness.gateway.models.formats import WireFormat
from harness.gateway.models.gemini import GeminiContent
from harness.gateway.models.openai import OpenAIChat, OpenAIResponses
from harness.suite.models import ModelSpec, Provider
from harness.traces import names
from harness.values import JsonObject

# The gateway's own errors in each provider's format, so that the agent's client shows the message.

_GOOGLE: Final = {
    400: "INVALID_ARGUMENT",
    403: "PERMISSION_DENIED",
    424: "FAILED_PRECONDITION",
    504: "DEADLINE_EXCEEDED",
}


def error_in_format(provider: Provider, status: int, kind: str, message: str) -> bytes:
    """`kind` is the harness's own error code; formats with a closed list of codes contain it in the message."""
    body: JsonObject
    match provider:
        case "anthropic":
            body = {"type": "error", "error": {"type": kind, "message": message}}
        case "gemini":
            detail: JsonObject = {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": kind,
                "domain": "harness",
            }
            word = _GOOGLE.get(status, "UNKNOWN")
            body = {"error": {"code": status, "message": message, "status": word, "details": [detail]}}
        case "openai" | "azure":
            body = {"error": {"message": message, "type": kind, "param": None, "code": kind}}
    return json.dumps(body).encode()


PREFIXES: Final = ("/v1/", "/v1beta/", "/v1alpha/", "/openai/")
CHAT, RESPONSES, EMBEDDINGS = "/v1/chat/completions", "/v1/responses", "/v1/embeddings"
_MODELS: Final = "/v1/models"
_GEMINI_MODELS: Final = "/v1beta/models"
_MODEL: Final = "{model}"
_SSE: Final = "?alt=sse"
EMBEDDING: Final = "embeddings"
_NAMES_OF_CONVENTIONS: Final[dict[Provider, str]] = {
    "gemini": "gcp.gemini",
    "azure": "azure.ai.openai",
}


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One path of one provider; if `wire` is None, it returns no model reply, and is not a step."""

    provider: Provider
    path: str
    """The path, with `{model}` in place of the model's name."""
    operation: str
    wire: WireFormat | None = None
    method: Literal["GET", "POST"] = "POST"
    rules: str = ""
    """The path whose known fields and parameters apply here, too; empty: its own path."""
    checked_as: WireFormat | None = None
    """The format in which its body is checked for what the provider would fetch or run, if `wire` is None."""
    streams_array: bool = False
    """Whether its answer is a JSON array whose items are streamed."""
    model: str | None = None
    """The model's name if the path of the request contains it; else it is in the body."""

    @property
    def server(self) -> str:
        """The server's name on the cassette; no tool server can have this name."""
        return f"model:{self.provider}"

    @property
    def name(self) -> str:
        return self.path.replace(f"/{_MODEL}", "").lstrip("/")

    @property
    def is_charged(self) -> bool:
        """Whether the provider charges for its answers: replies and embeddings, not counts and listings."""
        return self.wire is not None or self.operation == EMBEDDING

    @property
    def known_as(self) -> str:
        """The path under which its fields and parameters are declared."""
        return self.rules or self.path

    @property
    def provider_name(self) -> str:
        """The provider in OpenTelemetry's conventions."""
        return _NAMES_OF_CONVENTIONS.get(self.provider, self.provider)

    def hosted(self, body: JsonObject) -> Iterator[str]:
        """Descriptions of actions that the provider would take by itself, outside of the sandbox."""
        wire = self.wire or self.checked_as
        return iter(()) if wire is None else wire.hosted(body)

    @property
    def plain_request(self) -> JsonObject:
        """The body of a short request that the provider can answer, without the model's name."""
        asked = "Answer with one word."
        if self.provider == "gemini":
            return {"contents": [{"role": "user", "parts": [{"text": asked}]}]}
        if self.known_as == EMBEDDINGS:
            return {"input": asked}
        if self.known_as == RESPONSES:
            return {"input": asked, "max_output_tokens": 16}
        limit = {"max_tokens": 16} if self.provider == "anthropic" else {}
        return {"messages": [{"role": "user", "content": asked}], **limit}

    def path_for(self, model: str | None) -> str:
        """The path of a request for this model."""
        return self.path.replace(_MODEL, quote(model or "", safe=""))

    def error(self, status: int, kind: str, message: str) -> bytes:
        """An error in the provider's format."""
        return error_in_format(self.provider, status, kind, message)


def _gemini(version: str) -> Iterator[Endpoint]:
    def of(method: str, operation: str, wire: WireFormat | None = None, *, array: bool = False) -> Endpoint:
        path = f"/{version}/models/{_MODEL}:{method}"
        rules = f"/v1beta/models/{_MODEL}:{method.partition('?')[0]}"
        found = Endpoint(provider="gemini", path=path, operation=operation, wire=wire, rules=rules, streams_array=array)
        return replace(found, checked_as=GeminiContent())

    streamed = GeminiContent(streams=True)
    yield of("generateContent", names.CHAT, GeminiContent())
    yield of("streamGenerateContent", names.CHAT, streamed, array=True)
    yield of(f"streamGenerateContent{_SSE}", names.CHAT, streamed)
    yield of("countTokens", "count_tokens")
    yield of("embedContent", EMBEDDING)
    yield of("batchEmbedContents", EMBEDDING)


def _azure() -> Iterator[Endpoint]:
    """The older paths name a deployment, which is the model; the newer ones are OpenAI's under `/openai/v1`."""
    of = partial(Endpoint, provider="azure")
    for path, operation, wire in (
        (CHAT, names.CHAT, OpenAIChat()),
        (RESPONSES, names.CHAT, OpenAIResponses()),
        (EMBEDDINGS, EMBEDDING, None),
    ):
        yield of(path=f"/openai{path}", operation=operation, wire=wire, rules=path)
        if path != RESPONSES:
            deployed = f"/openai/deployments/{_MODEL}{path.removeprefix('/v1')}"
            yield of(path=deployed, operation=operation, wire=wire, rules=path)
    yield of(path="/openai/responses", operation=names.CHAT, wire=OpenAIResponses(), rules=RESPONSES)


_POSTED: Final = {
    endpoint.path: endpoint
    for endpoint in (
        Endpoint(provider="openai", path=CHAT, operation=names.CHAT, wire=OpenAIChat()),
        Endpoint(provider="openai", path=RESPONSES, operation=names.CHAT, wire=OpenAIResponses()),
        Endpoint(provider="openai", path=EMBEDDINGS, operation=EMBEDDING),
        Endpoint(provider="anthropic", path="/v1/messages", operation=names.CHAT, wire=AnthropicMessages()),
        Endpoint(
            provider="anthropic",
            path="/v1/messages/count_tokens",
            operation="count_tokens",
            checked_as=AnthropicMessages(),
        ),
        *(endpoint for version in ("v1", "v1beta", "v1alpha") for endpoint in _gemini(version)),
        *_azure(),
    )
}
_WITH_MODEL: Final = (
    re.compile(r"(?P<before>/v1(?:beta|alpha)?/models)/(?P<model>[^/:]+)(?P<after>:\w+)"),
    re.compile(r"(?P<before>/openai/deployments)/(?P<model>[^/]+)(?P<after>/.+)"),
)


def endpoint_of(method: str, path: str, *, anthropic: bool, query: str = "") -> Endpoint | None:
    """The endpoint of a request; `anthropic` states that the request names Anthropic, which only `/v1/models` needs."""
    if method == "POST":
        return _POSTED.get(path) or _with_model(path, query)
    if method == "GET" and (path == _GEMINI_MODELS or path.startswith(f"{_GEMINI_MODELS}/")):
        return Endpoint(provider="gemini", path=path, operation="models", method="GET")
    if method == "GET" and (path == _MODELS or path.startswith(f"{_MODELS}/")):
        return Endpoint(provider="anthropic" if anthropic else "openai", path=path, operation="models", method="GET")
    return None


def _with_model(path: str, query: str) -> Endpoint | None:
    for form in _WITH_MODEL:
        found = form.fullmatch(path)
        if found is None:
            continue
        general = f"{found['before']}/{_MODEL}{found['after']}"
        as_events = _POSTED.get(f"{general}{_SSE}") if parse_qs(query).get("alt") == ["sse"] else None
        endpoint = as_events or _POSTED.get(general)
        return None if endpoint is None else replace(endpoint, model=found["model"])
    return None


_DUMMY_KEY = "harness"
"""Clients refuse to start without a key; the real one is added in the gateway."""


def model_environment(gateway_url: str | None, spec: ModelSpec) -> Mapping[str, str]:
    """The variables for the agent's program; empty if the gateway has no address.

    Those of Gemini and Azure are set for declared providers only.
    """
    if gateway_url is None:
        return {}
    variables = {
        "OPENAI_BASE_URL": f"{gateway_url}/v1",
        "OPENAI_API_BASE": f"{gateway_url}/v1",
        "OPENAI_API_KEY": _DUMMY_KEY,
        "ANTHROPIC_BASE_URL": gateway_url,
        "ANTHROPIC_API_KEY": _DUMMY_KEY,
        "OTEL_EXPORTER_OTLP_ENDPOINT": gateway_url,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
    }
    if "gemini" in spec.providers:
        variables |= {"GOOGLE_GEMINI_BASE_URL": gateway_url, "GEMINI_API_KEY": _DUMMY_KEY}
    if "azure" in spec.providers:
        variables |= {"AZURE_OPENAI_ENDPOINT": gateway_url, "AZURE_OPENAI_API_KEY": _DUMMY_KEY}
    return variables
