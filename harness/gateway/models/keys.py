"""Cassette keys of model requests: two requests with the same key are the same request.

Parts that do not affect the answer are left out. Ids that a reply generated and that the next request contains are
renamed by the order in which they appear. JSON inside texts is compared by value, because frameworks serialise it
again. The id of the reply that a request continues is replaced by that reply's own key: a request that continues a
replayed reply has the same key as one that continued the recorded reply.
"""

from pydantic import JsonValue

from harness.cassettes.keys import CallKey, key_digest
from harness.cassettes.redaction import Redactor
from harness.gateway.models.endpoints import Endpoint
from harness.values import JsonObject, NotJson, canonical_json, parse_json

_IDLE = frozenset(
    {
        "user",
        "labels",
        "metadata",
        "prompt_cache_key",
        "prompt_cache_retention",
        "requestMetadata",
        "safety_identifier",
        "seed",
        "service_tier",
        "store",
        "stream_options",
    }
)
_IDS = frozenset(
    {"id", "call_id", "tool_call_id", "tool_use_id", "toolUseId", "signature", "thought_signature"}
    | {"thoughtSignature", "encrypted_content", "redactedContent"}
)
"""Values that the provider generates: identities, and opaque data."""
_THE_AGENTS_OWN = frozenset({"input", "arguments", "action", "operation", "args", "response", "json"})
"""These fields contain the arguments and results of tools, where an `id` is not an id of the protocol."""
_HISTORY = ("messages", "input", "contents")


class RequestKeys:
    """The keys of one trial's requests."""

    def __init__(self, redactor: Redactor, ignore: tuple[str, ...]) -> None:
        self._redactor = redactor
        self._left_out = _IDLE | frozenset(ignore)
        self._replies: dict[str, str] = {}

    def key(self, endpoint: Endpoint, body: JsonObject) -> CallKey:
        text = canonical_json(self.clean(self._canonical(body)))
        return CallKey(
            server=endpoint.server,
            tool=endpoint.name,
            effect="read",
            arguments=text,
            key=key_digest(endpoint.name, text, "model"),
        )

    def bind(self, reply_id: str | None, key: str, occurrence: int) -> None:
        """Stores which request a reply has answered."""
        if reply_id is not None:
            self._replies[reply_id] = f"reply to {key} ({occurrence})"

    def clean(self, value: JsonValue) -> JsonValue:
        """The value without known secrets, also inside longer texts. Field names are ignored, because they are a
        model's own vocabulary (`token`, `logprobs`)."""
        unchanged = self._redactor.knows_nothing or self._redactor.leaves_all(_texts_of(value))
        return value if unchanged else self._redacted_value(value)

    def _redacted_value(self, value: JsonValue) -> JsonValue:
        match value:
            case str():
                return self._redactor.everywhere(value)
            case list():
                return [self._redacted_value(item) for item in value]
            case dict():
                return {self._redactor.everywhere(name): self._redacted_value(item) for name, item in value.items()}
            case _:
                return value

    def _canonical(self, body: JsonObject) -> JsonObject:
        kept = {name: value for name, value in body.items() if name not in self._left_out}
        seen: dict[str, str] = {}
        for name in _HISTORY:
            if isinstance(kept.get(name), list):
                kept[name] = _with_stable_ids(kept[name], seen)
        previous = kept.get("previous_response_id")
        if isinstance(previous, str):
            kept["previous_response_id"] = self._replies.get(previous, previous)
        return kept


def _texts_of(value: JsonValue) -> list[str]:
    """All texts of a value, and the names of its members."""
    found, waiting = list[str](), [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                found.append(text)
            case list() as items:
                waiting += items
            case dict() as members:
                found += members
                waiting += members.values()
            case _:
                pass
    return found


def _with_stable_ids(value: JsonValue, seen: dict[str, str]) -> JsonValue:
    match value:
        case str():
            return _as_value(value)
        case list():
            return [_with_stable_ids(item, seen) for item in value]
        case dict():
            return {name: _member_with_stable_ids(name, item, seen) for name, item in value.items()}
        case _:
            return value


def _member_with_stable_ids(name: str, value: JsonValue, seen: dict[str, str]) -> JsonValue:
    if name in _IDS and isinstance(value, str):
        return seen.setdefault(value, f"id-{len(seen) + 1}")
    if name in _THE_AGENTS_OWN:
        return _texts_as_values(value)
    return _with_stable_ids(value, seen)


def _texts_as_values(value: JsonValue) -> JsonValue:
    """A tool's value, whose direct members may be JSON texts: Gemini's results are objects with such a text."""
    if isinstance(value, dict):
        return {name: _as_value(item) if isinstance(item, str) else item for name, item in value.items()}
    return _as_value(value) if isinstance(value, str) else value


def _as_value(text: str) -> str:
    if text[:1] not in ("{", "["):
        return text
    try:
        return canonical_json(parse_json(text.encode()))
    except (NotJson, UnicodeEncodeError):
        return text
