"""One request to a model endpoint as it passes the gateway, and its span."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from harness.cassettes.keys import CallKey
from harness.cassettes.transience import Said, events_in, failure_of
from harness.gateway.models.allowed import LONGEST_MODEL
from harness.gateway.models.endpoints import Endpoint
from harness.gateway.models.formats import ModelAnswer, Replied, RequestContent
from harness.gateway.models.keys import RequestKeys
from harness.suite.agents import AgentPrompt
from harness.suite.models import ModelSpec, Price, Provenance
from harness.text import shortened
from harness.traces import names
from harness.traces.recorder import Attributes, Plain
from harness.traces.trajectory import ReplayTier
from harness.traces.usage import Used, usage_in
from harness.values import JsonObject, canonical_json, object_of

_MTOK = 1_000_000
_BYTES_PER_TOKEN = 4
_SHOWN_WITHOUT_REPLY = 4000
"""Characters of each text of a request that no reply answers: an agent may send any number, at no cost."""


def cost_usd(price: Price | None, used: Used) -> float | None:
    """The cost; None if the model has no price or the input is unknown."""
    if price is None or used.input is None:
        return None
    read, written = used.cache_read or 0, used.cache_write or 0
    fresh = max(used.input - read - written, 0)
    spent = (
        fresh * price.input_usd_per_mtok
        + read * _or_input(price, price.cached_input_usd_per_mtok)
        + written * _or_input(price, price.cache_write_usd_per_mtok)
        + (used.output or 0) * price.output_usd_per_mtok
    )
    return spent / _MTOK


def _or_input(price: Price, own: float | None) -> float:
    return price.input_usd_per_mtok if own is None else own


def estimated(used: Used, asked_bytes: int, replied_bytes: int) -> Used:
    """The usage for limits: one token for every four bytes of what the provider does not report."""
    given = -(-replied_bytes // _BYTES_PER_TOKEN) if used.output is None else used.output
    return replace(used, output=given, input=-(-asked_bytes // _BYTES_PER_TOKEN) if used.input is None else used.input)


_OWN_ATTRIBUTES = frozenset(
    {"model", "messages", "input", "instructions", "system", "tools", "functions", "contents", "systemInstruction"}
    | {"system_instruction"}
)
"""Fields of a request that have separate attributes."""


@dataclass(kw_only=True)
class ModelExchange:
    """The data of one request; completed while it is handled.

    A model that the path names is the member `model` of `body` while the request is handled, as in the other formats.
    """

    endpoint: Endpoint
    started_ns: int
    body: JsonObject = field(default_factory=dict)
    raw: bytes = b""
    query: str = ""
    """The body that is passed on."""
    parent: str | None = None
    """Id of the agent's own span that contains the request."""
    key: CallKey | None = None
    occurrence: int = 0
    answer: ModelAnswer | None = None
    tier: ReplayTier | None = None
    kept: bool = False
    """Whether its answer may be recorded: it is not a transient error."""
    provenance: Provenance | None = None
    """The provenance in the recording, if the answer was replayed."""
    error: tuple[str, str] | None = None
    """Why the gateway itself rejected the request: type and message."""
    nearest: tuple[JsonObject, ...] = ()
    _read: tuple[JsonObject, RequestContent] | None = field(default=None, repr=False, compare=False)
    """A body and its parsed content. No body is changed in place."""
    _heard: tuple[bytes, Said, Replied] | None = field(default=None, repr=False, compare=False)
    """The same of the answer."""

    @property
    def plain(self) -> bytes:
        """The body to send: serialised again from the parsed body, so that no other parser can read it differently."""
        if not self.raw.strip():
            return b""
        in_path = self.endpoint.model is not None
        body = {name: value for name, value in self.body.items() if name != "model"} if in_path else self.body
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

    @property
    def asked(self) -> RequestContent:
        """The parsed content of `body`; parsed once for each body."""
        if self._read is None or self._read[0] is not self.body:
            self._read = (self.body, self._request_content())
        return self._read[1]

    def _request_content(self) -> RequestContent:
        wire = self.endpoint.wire
        if wire is not None:
            return wire.asked(self.body)
        model = self.body.get("model")
        return RequestContent(model=model if isinstance(model, str) else None)

    @property
    def replied(self) -> Replied:
        """The parsed reply; empty if there is none, or if it is an error."""
        return Replied() if self.answer is None else self._answered(self.answer)[1]

    @property
    def said(self) -> list[JsonObject]:
        """The events of the answer, or its body as the only one."""
        return [] if self.answer is None else self._answered(self.answer)[0][0]

    @property
    def failure(self) -> str | None:
        """Why the provider's answer is a failure of the moment; None: it is none."""
        answer = self.answer
        if answer is None:
            return None
        is_reply, said = self.endpoint.wire is not None, self._answered(answer)[0]
        return failure_of("model", answer.status, answer.body, outcome=answer.outcome, is_reply=is_reply, said=said)

    def _answered(self, answer: ModelAnswer) -> tuple[Said, Replied]:
        """Parsed once for each body."""
        if self._heard is None or self._heard[0] is not answer.body:
            said = events_in(answer.body) if answer.status // 100 == 2 else ([], False)
            self._heard = (answer.body, said, self._reply_in(*said))
        return self._heard[1:]

    def _reply_in(self, events: list[JsonObject], is_stream: bool) -> Replied:
        wire = self.endpoint.wire
        if wire is None:  # the usage of what is no reply stands in OpenAI's member or in Gemini's
            places = [event.get(name) for event in events for name in ("usage", "usageMetadata")]
            return Replied(used=usage_in(*map(object_of, places)))
        return wire.streamed(events) if is_stream else wire.replied(events[0]) if events else Replied()


def _prompt_in(system: str | None, prompts: Sequence[AgentPrompt]) -> AgentPrompt | None:
    found = [one for one in prompts if one.text.strip() and one.text.strip() in (system or "")]
    return max(found, key=lambda one: len(one.text), default=None)


@dataclass(frozen=True, kw_only=True)
class ExchangeSpan:
    """The span of one request, without secrets."""

    name: str
    attributes: Attributes
    failed: bool


def exchange_span(
    exchange: ModelExchange,
    replied: Replied,
    keys: RequestKeys,
    spec: ModelSpec,
    prompts: Sequence[AgentPrompt] = (),
) -> ExchangeSpan:
    """The span of the request and the reply; it names the longest of `prompts` that occurs in the system message."""
    asked, answer = exchange.asked, exchange.answer
    prompt = _prompt_in(asked.system, prompts)
    attributes: dict[str, JsonValue] = {
        names.OPERATION: exchange.endpoint.operation,
        names.STEP_KIND: names.MODEL,
        names.PROVIDER: exchange.endpoint.provider_name,
        names.REQUEST_MODEL: asked.model and asked.model[:LONGEST_MODEL],
        names.RESPONSE_MODEL: replied.model and replied.model[:LONGEST_MODEL],
        names.RESPONSE_ID: replied.id,
        names.PREVIOUS_RESPONSE: asked.previous,
        names.ORIGIN_PARENT: exchange.parent,
        names.MODEL_OPTIONS: {name: value for name, value in exchange.body.items() if name not in _OWN_ATTRIBUTES}
        or None,
        names.SYSTEM: asked.system,
        names.PROMPT_NAME: None if prompt is None else prompt.name,
        names.PROMPT_VERSION: None if prompt is None else prompt.version,
        names.INPUT_MESSAGES: list(asked.messages) if exchange.endpoint.wire is not None else None,
        names.OUTPUT_MESSAGES: None if replied.message is None else [replied.message],
        names.TOOL_DEFINITIONS: list(asked.tools) or None,
        names.FINISH_REASONS: list(replied.finish_reasons) or None,
        names.INPUT_TOKENS: replied.used.input,
        names.OUTPUT_TOKENS: replied.used.output,
        names.CACHE_READ_TOKENS: replied.used.cache_read,
        names.CACHE_WRITE_TOKENS: replied.used.cache_write,
        names.COST_USD: cost_usd(spec.price_of(asked.model or ""), replied.used),
        names.FIRST_CHUNK_S: None if answer is None or answer.first_chunk_ms is None else answer.first_chunk_ms / 1000,
        names.HTTP_STATUS: None if answer is None else answer.status,
        names.REPLAY_TIER: exchange.tier,
        names.REPLAY_NEAREST: list(exchange.nearest) or None,
        **_error(exchange),
    }
    name = f"{exchange.endpoint.operation} {(asked.model or '')[:LONGEST_MODEL]}".rstrip()
    most = None if replied.message is not None else _SHOWN_WITHOUT_REPLY
    return ExchangeSpan(
        name=str(keys.clean(name)),
        attributes={key: _attribute_value(keys.clean(value), most) for key, value in attributes.items()},
        failed=names.ERROR_TYPE in attributes and attributes[names.ERROR_TYPE] is not None,
    )


def summary_of(arguments: JsonValue) -> JsonObject:
    """A summary of a request for a report, by the arguments of its key: the model, and the last message."""
    body = arguments if isinstance(arguments, dict) else {}
    history = next((body[name] for name in ("messages", "input", "contents") if name in body), None)
    messages = history if isinstance(history, list) else [history]
    return {
        "model": body.get("model"),
        "messages": len(messages),
        "last": _short_json(messages[-1] if messages else None),
    }


def _short_json(message: JsonValue) -> str:
    return shortened(canonical_json(message), 200)


def _error(exchange: ModelExchange) -> Mapping[str, JsonValue]:
    answer = exchange.answer
    if exchange.error is not None:
        return {names.ERROR_TYPE: exchange.error[0], names.TOOL_ERROR_MESSAGE: exchange.error[1]}
    if answer is None:
        return {}
    if answer.outcome != "answer":
        return {names.ERROR_TYPE: answer.outcome}
    if answer.status // 100 != 2:
        said = answer.body[:2000].decode("utf-8", "replace")
        return {names.ERROR_TYPE: str(answer.status), names.TOOL_ERROR_MESSAGE: said}
    return {names.ERROR_TYPE: exchange.failure}


def _attribute_value(value: JsonValue, most: int | None) -> Plain | None:
    plain = json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
    return _with_joined_surrogates(plain[:most]) if isinstance(plain, str) else plain


def _with_joined_surrogates(text: str) -> str:
    """Joins surrogate pairs whose halves arrived in two pieces of a stream; a lone half is replaced."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
