"""Cassette keys of model requests: two requests with the same key are the same request.

Parts that do not affect the answer are left out. An id that joins parts of one request is a label, and numbered by the
order in which it appears. One that stands for an earlier turn (a reply, an item, a conversation, sealed reasoning)
becomes a digest of that turn: of the request, and of what the gateway gave as its answer. So it is the same in every
trial that had the same conversation, and in no other. An id that the gateway has not given stands for itself. JSON
inside texts is compared by value, because frameworks serialise it again, and definitions of tools in any order. Headers
and query are parts of the key, as `headers` and `query`.
"""

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from harness.cassettes.keys import CallKey, chained_digest, key_digest
from harness.cassettes.redaction import Redactor
from harness.gateway.models.endpoints import EMBEDDING, Endpoint
from harness.gateway.models.formats import Replied
from harness.suite.tools import Rule, without_ignored
from harness.values import JsonObject, NotJson, canonical_json, parse_json, with_texts

_IDLE = frozenset(
    {
        "user",
        "labels",
        "metadata",
        "prompt_cache_key",
        "prompt_cache_retention",
        "requestMetadata",
        "safety_identifier",
        "service_tier",
        "store",
        "stream_options",
    }
)
_OF_CALLS = frozenset({"call_id", "tool_call_id", "tool_use_id", "toolUseId"})
_RESULTS = _OF_CALLS - {"call_id"}
_SEALED = frozenset({"signature", "thought_signature", "thoughtSignature", "encrypted_content", "redactedContent"})
"""Opaque data that the provider reads again, such as reasoning that it does not show."""
_CONTENTS = ("content", "role", "call_id", "function", "custom", "name", "output")
"""An object with one of these says what it is; its id refers to nothing else."""
_THE_AGENTS_OWN = frozenset({"input", "arguments", "action", "operation", "args", "response", "json"})
"""These fields contain the arguments and results of tools, where an `id` is not an id of the protocol."""
_HISTORY = ("messages", "input", "contents")
_DEFINITIONS = ("tools", "functions", "functionDeclarations", "function_declarations")


class RequestKeys:
    """The keys of one trial's requests."""

    def __init__(self, redactor: Redactor, ignore: tuple[Rule, ...], ignored: dict[str, int] | None = None) -> None:
        """`ignored` counts the requests in which each rule of `ignore` finds something."""
        self._redactor = redactor
        self._ignore = ignore
        self._ignored = ignored
        self._turns: dict[str, str] = {}
        """Id, or sealed data -> the turn that it stands for."""

    def key(self, endpoint: Endpoint, body: JsonObject, beside: Mapping[str, JsonValue] | None = None) -> CallKey:
        """`beside`: the parts of the request that are not in its body.

        Raises OutOfTime for a pattern of `ignore` that takes too long.
        """
        text = canonical_json(self.clean(self._canonical(endpoint, body, {} if beside is None else beside)))
        return CallKey(
            server=endpoint.server,
            tool=endpoint.name,
            effect="read",
            arguments=text,
            key=key_digest(endpoint.name, text, "model"),
        )

    def bind(self, asked: JsonObject, key: str, replied: Replied, said: list[JsonObject]) -> None:
        """Notes which turn the ids in a reply stand for; `said` are the events of the answer, or its body."""
        parts: list[JsonValue] = [{**part, "id": None} for part in replied.parts]
        turn = chained_digest("turn", key, canonical_json(self.clean(parts)))
        names = dict.fromkeys(_plain(one) for event in said for one in _names_in([event, event.get("response")]))
        self._turns |= {name: f"{turn}.{place}" for place, name in enumerate(names)}
        if replied.id is not None:
            self._turns[_plain(replied.id)] = turn
        conversation = _conversation(asked)
        if conversation is not None:
            self._turns[_plain(conversation)] = chained_digest("turns", self._turn(conversation), turn)

    def _turn(self, name: str) -> str:
        return self._turns.get(_plain(name), name)

    def clean(self, value: JsonValue) -> JsonValue:
        """The value without known secrets, also inside longer texts. Field names are ignored, because they are a
        model's own vocabulary (`token`, `logprobs`)."""
        unchanged = self._redactor.knows_nothing or self._redactor.leaves_all(_texts_of(value))
        return value if unchanged else with_texts(value, self._redactor.everywhere, names=True)

    def _canonical(self, endpoint: Endpoint, body: JsonObject, beside: Mapping[str, JsonValue]) -> JsonObject:
        kept = {name: value for name, value in body.items() if name not in _IDLE}
        kept |= {name: [part, kept[name]] if name in kept else part for name, part in beside.items() if part}
        kept = without_ignored(self._ignore, kept, "model", self._ignored)
        kept |= {name: _in_any_order(kept[name]) for name in _DEFINITIONS if name in kept}
        labels: dict[str, str] = {}
        for name in _HISTORY if endpoint.operation != EMBEDDING else ():  # texts whose every character counts
            if isinstance(kept.get(name), list):
                kept[name] = self._with_turns(kept[name], labels)
        previous, conversation = kept.get("previous_response_id"), _conversation(body)
        if isinstance(previous, str):
            kept["previous_response_id"] = self._turn(previous)
        return kept if conversation is None else kept | {"conversation": self._turn(conversation)}

    def _with_turns(self, value: JsonValue, labels: dict[str, str], *, told: bool = False) -> JsonValue:
        """`told`: the value is what a tool has told, where an `id` is not one of the protocol."""
        match value:
            case str():
                return _as_value(value)
            case list():
                return [self._with_turns(item, labels, told=told) for item in value]
            case dict():
                return {name: self._member(value, name, item, labels, told=told) for name, item in value.items()}
            case _:
                return value

    def _member(
        self, owner: JsonObject, name: str, value: JsonValue, labels: dict[str, str], *, told: bool
    ) -> JsonValue:
        if isinstance(value, str) and _is_id(name) and not (told and name == "id"):
            if value in labels:
                return labels[value]
            return self._turn(value) if _refers(owner, name) else labels.setdefault(value, f"id-{len(labels) + 1}")
        told |= name == "content" and not _RESULTS.isdisjoint(owner)
        return _texts_as_values(value) if name in _THE_AGENTS_OWN else self._with_turns(value, labels, told=told)


def _in_any_order(definitions: JsonValue) -> JsonValue:
    """Definitions of tools, and those inside of one (Gemini's), sorted."""
    if not isinstance(definitions, list):
        return definitions
    plain = [
        {name: _in_any_order(value) if name in _DEFINITIONS else value for name, value in one.items()}
        if isinstance(one, dict)
        else one
        for one in definitions
    ]
    return sorted(plain, key=canonical_json)


def _refers(owner: JsonObject, name: str) -> bool:
    """Whether the id is of something that stands elsewhere: a result names its call, a bare item an earlier one."""
    if name == "id":
        return "response" in owner or not any(owner.get(content) for content in _CONTENTS)
    return name != "call_id" or "output" in owner


def _conversation(body: JsonObject) -> str | None:
    value = body.get("conversation")
    name = value.get("id") if isinstance(value, dict) else value
    return name if isinstance(name, str) else None


def _plain(name: str) -> str:
    """SDKs read sealed data as bytes, and send them in the other alphabet of base64."""
    return name.replace("-", "+").replace("_", "/").rstrip("=")


def _names_in(value: JsonValue) -> Iterator[str]:
    """What a reply can be referred to by later, in order; arguments of tools are not looked at."""
    waiting = [value]
    while waiting:
        held = waiting.pop()
        if isinstance(held, dict):
            yield from (one for name, one in held.items() if isinstance(one, str) and _is_id(name))
            held = [one for name, one in held.items() if name not in _THE_AGENTS_OWN]
        if isinstance(held, list):
            waiting += reversed(held)


def _is_id(name: str) -> bool:
    return name == "id" or name in _OF_CALLS or name in _SEALED


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


def _texts_as_values(value: JsonValue) -> JsonValue:
    """A tool's value, whose direct members may be JSON texts: Gemini's results are objects with such a text."""
    if isinstance(value, dict):
        return {name: _as_value(item) if isinstance(item, str) else item for name, item in value.items()}
    return _as_value(value) if isinstance(value, str) else value


def _as_value(text: str) -> str:
    if text[:1] not in ("{", "["):
        return text
    try:
        return canonical_json(parse_json(text.encode(), once=True))
    except (NotJson, UnicodeEncodeError):
        return text
