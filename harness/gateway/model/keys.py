"""When two requests to a model are the same request.

What says nothing about the answer is left out. Ids that a reply minted and that come back in the next request are
renamed by the order in which they appear; JSON that stands as text is told by its value, since frameworks write it
anew; and the id of a reply that a request goes on from is replaced by that reply's own key: so a request that goes on
from a replayed reply is the one that went on from the recorded reply.
"""

from harness.cassette import CallKey, Redactor, key_digest
from harness.gateway.model.endpoints import Endpoint
from harness.strict_json import NotJson, parse_json
from harness.values import JsonObject, JsonValue, canonical_json

_IDLE = frozenset(
    {
        "user",
        "metadata",
        "prompt_cache_key",
        "prompt_cache_retention",
        "safety_identifier",
        "seed",
        "service_tier",
        "store",
        "stream_options",
    }
)
_IDS = frozenset(
    {"id", "call_id", "tool_call_id", "tool_use_id", "signature", "thought_signature", "encrypted_content"}
)
"""Minted by the provider: identities, and what only it can read."""
_THE_AGENTS_OWN = frozenset({"input", "arguments", "action", "operation"})
"""Inside these stands what a tool is called with, where an `id` is no id of the protocol."""
_HISTORY = ("messages", "input")


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
        """Remembers which request a reply has answered."""
        if reply_id is not None:
            self._replies[reply_id] = f"reply to {key} ({occurrence})"

    def clean(self, value: JsonValue) -> JsonValue:
        """Without known secrets, also inside longer texts. Fields are not judged by their names, which are a model's
        own vocabulary (`token`, `logprobs`)."""
        match value:
            case str():
                return self._redactor.everywhere(value)
            case list():
                return [self.clean(item) for item in value]
            case dict():
                return {self._redactor.everywhere(name): self.clean(item) for name, item in value.items()}
            case _:
                return value

    def _canonical(self, body: JsonObject) -> JsonObject:
        kept = {name: value for name, value in body.items() if name not in self._left_out}
        seen: dict[str, str] = {}
        for name in _HISTORY:
            if isinstance(kept.get(name), list):
                kept[name] = _renamed(kept[name], seen)
        previous = kept.get("previous_response_id")
        if isinstance(previous, str):
            kept["previous_response_id"] = self._replies.get(previous, previous)
        return kept


def _renamed(value: JsonValue, seen: dict[str, str]) -> JsonValue:
    match value:
        case str():
            return _as_value(value)
        case list():
            return [_renamed(item, seen) for item in value]
        case dict():
            return {name: _member(name, item, seen) for name, item in value.items()}
        case _:
            return value


def _member(name: str, value: JsonValue, seen: dict[str, str]) -> JsonValue:
    if name in _IDS and isinstance(value, str):
        return seen.setdefault(value, f"id-{len(seen) + 1}")
    if name in _THE_AGENTS_OWN:
        return _as_value(value) if isinstance(value, str) else value
    return _renamed(value, seen)


def _as_value(text: str) -> str:
    if text[:1] not in ("{", "["):
        return text
    try:
        return canonical_json(parse_json(text.encode()))
    except (NotJson, UnicodeEncodeError):
        return text
