"""What all wire formats of models have in common: requests and replies, their events, and the answer of an
endpoint.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from pydantic import JsonValue

from harness.cassettes.recordings import Outcome
from harness.suite.models import ClientProvider
from harness.traces.usage import Used
from harness.values import JsonObject, object_of, objects_of, some_text

# The common data of all wire formats, in the shape of OpenTelemetry's GenAI conventions.
#
# A message is `{"role", "parts"}`; parts are `text`, `reasoning`, `tool_call` and `tool_call_response`. Other parts of
# a format are named in brackets: the trace shows their presence, the cassette contains their bytes.


@dataclass(frozen=True, kw_only=True)
class RequestContent:
    """The parsed content of a model request."""

    model: str | None
    messages: tuple[JsonObject, ...] = ()
    """The messages without the system prompt."""
    system: str | None = None
    tools: tuple[JsonObject, ...] = ()
    streams: bool = False
    previous: str | None = None
    """The id of the reply that this request continues, if the provider stores the history."""


@dataclass(frozen=True, kw_only=True)
class Replied:
    """The content of a reply. If `message` is None, the model answered with an error, or with an unreadable body."""

    message: JsonObject | None = None
    id: str | None = None
    model: str | None = None
    finish_reasons: tuple[str, ...] = ()
    used: Used = field(default_factory=Used)

    @property
    def parts(self) -> list[JsonObject]:
        """Of the message; empty without one."""
        return objects_of(object_of(self.message).get("parts"))

    @property
    def text(self) -> str:
        """What the message says in words."""
        return "\n".join(str(part.get("content", "")) for part in self.parts if part.get("type") == "text")

    @property
    def cut(self) -> bool:
        """Whether the answer ended at its limit of tokens: what is missing at its end is unknown."""
        return bool({"length", "max_tokens", "MAX_TOKENS"} & {*self.finish_reasons})


def chat_request(
    provider: ClientProvider, model: str | None, system: str, messages: Sequence[JsonObject], **own: JsonValue
) -> JsonObject:
    """The body of a request; `own`: its other fields, as the wire format names them."""
    if provider == "anthropic":
        return {"model": model, "system": system, "messages": [*messages], **own}
    return {"model": model, "messages": [{"role": "system", "content": system}, *messages], **own}


class WireFormat(Protocol):
    """One wire format."""

    def asked(self, body: JsonObject) -> RequestContent: ...

    def replied(self, body: JsonObject) -> Replied: ...

    def streamed(self, events: list[JsonObject]) -> Replied:
        """The reply that a complete stream of events represents."""
        ...

    def hosted(self, body: JsonObject) -> Iterator[str]:
        """Descriptions of actions that the provider would take by itself, outside of the sandbox."""
        ...


def text_part(text: str) -> JsonObject:
    return {"type": "text", "content": text}


def reasoning_part(text: str) -> JsonObject:
    return {"type": "reasoning", "content": text}


def call_part(identity: JsonValue, name: JsonValue, arguments: JsonValue) -> JsonObject:
    return {
        "type": "tool_call",
        "id": some_text(identity),
        "name": some_text(name) or "",
        "arguments": arguments,
    }


def result_part(identity: JsonValue, response: JsonValue, *, failed: bool = False) -> JsonObject:
    part: JsonObject = {"type": "tool_call_response", "id": some_text(identity), "response": response}
    return part | {"is_error": True} if failed else part


def joined(texts: list[str]) -> str | None:
    return "\n".join(text for text in texts if text) or None


def misshapen(name: str, value: JsonValue) -> Iterator[str]:
    """A field in another shape than a list of objects: another parser may accept it."""
    if value is not None and not (isinstance(value, list) and all(isinstance(item, dict) for item in value)):
        yield f"`{name}` that is not a list of objects"


def fetched(part: JsonObject) -> Iterator[str]:
    """The content of a message part that the provider would have to fetch: `image_url`, `file_url` and similar, and a
    `file_id` of its own store."""
    for name, value in part.items():
        url = object_of(value).get("url") if isinstance(value, dict) else value
        if name.endswith("_url") and is_remote(url):
            yield f"the {name} that it fetches"
        elif (name == "file_id" and value) or (name == "file" and object_of(value).get("file_id")):
            yield "the file_id that it reads from its own files"


def is_remote(url: JsonValue) -> bool:
    """Whether the provider would have to fetch the URL: every address except one that contains its data.

    Base64 without an address, which some servers accept, contains no colon.
    """
    text = url.strip().lower() if isinstance(url, str) else ""
    return text.startswith("//") or (":" in text and not text.startswith("data:"))


@dataclass(kw_only=True)
class ModelAnswer:
    """The answer that the agent received."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    first_chunk_ms: float | None = None
    outcome: Outcome = "answer"
    is_array: bool = False
    """Whether the endpoint streams a JSON array, which no header says."""

    @property
    def framing(self) -> Literal["sse", "array"] | None:
        """How the answer is streamed; None: it is not streamed."""
        content_type = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if self.is_array and self.status // 100 == 2:
            return "array"
        return "sse" if content_type == "text/event-stream" else None

    @property
    def streamed(self) -> bool:
        return self.framing is not None
