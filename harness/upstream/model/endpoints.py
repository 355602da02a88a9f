"""The paths of the model endpoints, and how their errors are worded."""

import json
from dataclasses import dataclass
from typing import Literal

from harness.case import Provider
from harness.trace import names
from harness.upstream.model.wire.anthropic import AnthropicMessages
from harness.upstream.model.wire.format import WireFormat
from harness.upstream.model.wire.openai_chat import OpenAIChat
from harness.upstream.model.wire.openai_responses import OpenAIResponses

PREFIX = "/v1/"
OWN_TRACES = "/v1/traces"
_MODELS = "/v1/models"


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One path of one provider; where `wire` is None, it returns no model reply, and is not a step."""

    provider: Provider
    path: str
    operation: str
    wire: WireFormat | None = None
    method: Literal["GET", "POST"] = "POST"

    @property
    def server(self) -> str:
        """What the cassette calls it; no tool server can have this name's state."""
        return f"model:{self.provider}"

    @property
    def name(self) -> str:
        return self.path.lstrip("/")

    def error(self, kind: str, message: str) -> bytes:
        """An error as the provider words it, so that the agent's client shows the message."""
        if self.provider == "anthropic":
            return json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()
        told = {"message": message, "type": kind, "param": None, "code": kind}
        return json.dumps({"error": told}).encode()


_POSTED = {
    endpoint.path: endpoint
    for endpoint in (
        Endpoint(provider="openai", path="/v1/chat/completions", operation=names.CHAT, wire=OpenAIChat()),
        Endpoint(provider="openai", path="/v1/responses", operation=names.CHAT, wire=OpenAIResponses()),
        Endpoint(provider="openai", path="/v1/embeddings", operation="embeddings"),
        Endpoint(provider="anthropic", path="/v1/messages", operation=names.CHAT, wire=AnthropicMessages()),
        Endpoint(provider="anthropic", path="/v1/messages/count_tokens", operation="count_tokens"),
    )
}


def endpoint_of(method: str, path: str, *, anthropic: bool) -> Endpoint | None:
    """The endpoint of a request; `anthropic` states that the request names Anthropic, which only `/v1/models` needs."""
    if method == "POST":
        return _POSTED.get(path)
    if method == "GET" and (path == _MODELS or path.startswith(f"{_MODELS}/")):
        return Endpoint(provider="anthropic" if anthropic else "openai", path=path, operation="models", method="GET")
    return None
