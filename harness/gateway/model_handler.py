"""The model endpoints of one trial's socket: refused, replayed, recorded or passed through, and always traced."""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from aiohttp import web

from harness.cassettes.player import Missed, Played, Player
from harness.errors import GatewayError, OutOfTime
from harness.gateway.agent_spans import OWN_TRACES
from harness.gateway.bodies import deliver, read_json
from harness.gateway.exchange import Exchange
from harness.gateway.live_model import LiveModel
from harness.gateway.models.allowed import hosted_field, parts_beside, plain_path, plain_query, unknown_field
from harness.gateway.models.endpoints import PREFIXES, endpoint_of
from harness.gateway.models.exchange import (
    ModelExchange,
    cost_usd,
    estimated,
    exchange_span,
    summary_of,
)
from harness.gateway.models.formats import ModelAnswer, Replied
from harness.gateway.models.keys import RequestKeys
from harness.gateway.models.provider import ProviderUpstream, check_keys
from harness.gateway.models.recordings import ReplyRecorder
from harness.gateway.trial import TrialContext
from harness.gateway.upstream.transport import Refusal
from harness.suite.agents import AgentPrompt
from harness.suite.models import ModelMode, ModelSpec
from harness.values import JsonObject, NotJson, parse_json

MAX_REQUEST_BYTES = 32 * 1024 * 1024
_NO_RETRY = {"x-should-retry": "false", "content-type": "application/json"}

ErrorKind = Literal["replay_miss", "limit_reached", "hosted_tool", "invalid_request", "not_declared"]
_STATUS: dict[ErrorKind, int] = {
    "replay_miss": 424,
    "limit_reached": 403,
    "hosted_tool": 403,
    "invalid_request": 400,
    "not_declared": 403,
}


@dataclass(frozen=True, kw_only=True)
class ModelContext:
    """The context that the handler of one trial works with."""

    spec: ModelSpec
    source: Player | LiveModel
    keys: RequestKeys
    cassette: ReplyRecorder
    exchange: Exchange
    prompts: Sequence[AgentPrompt] = ()
    """Versions of the agent's prompts, which spans name."""


class ModelHandler:
    """Serves the paths of the providers' interfaces, such as `/v1/...`."""

    def __init__(self, parts: ModelContext) -> None:
        self._parts = parts

    def opens(self, path: str) -> bool:
        return path.startswith(PREFIXES) and path != OWN_TRACES

    async def handle(self, request: web.BaseRequest, *, is_open: bool) -> web.StreamResponse:
        """One request of the agent's model client."""
        raw_path = request.rel_url.raw_path
        path = plain_path(raw_path) or ""
        endpoint = endpoint_of(
            request.method,
            path,
            anthropic="anthropic-version" in request.headers,
            query=request.rel_url.raw_query_string,
        )
        if endpoint is None:
            raise Refusal(
                404,
                "no_such_route",
                f"there is no model endpoint {request.method[:20]} {raw_path[:200]}",
            )
        raw = await read_json(request, self._parts.exchange.large, MAX_REQUEST_BYTES)
        started_ns = time.monotonic_ns()  # it crosses once all of it is here
        exchange = ModelExchange(endpoint=endpoint, started_ns=started_ns, parent=_parent(request), raw=raw)
        if not is_open:
            return await self._refuse(request, exchange, "limit_reached", "the trial has ended")

        return await self._parts.exchange.followed(self._finished(request, exchange))

    async def _finished(self, request: web.BaseRequest, exchange: ModelExchange) -> web.StreamResponse:
        try:
            return await self._exchanged(request, exchange)
        except asyncio.CancelledError:
            exchange.error = ("timeout", "the trial ended while the model was still answering")
            raise
        finally:
            await self._finish(exchange)

    async def _exchanged(self, request: web.BaseRequest, exchange: ModelExchange) -> web.StreamResponse:
        size, large = len(exchange.raw), self._parts.exchange.large
        refused = await large.done(size, lambda: _unreadable(exchange, request.rel_url.raw_query_string))
        if refused is None:
            problem, model = await large.done(size, lambda: (self._problem(exchange), exchange.asked.model))
            refused = problem or self._over_limit(exchange, model or "")
        if refused is not None:
            return await self._refuse(request, exchange, *refused)
        try:
            own = self._parts.spec.servers[exchange.endpoint.provider].headers
            beside = parts_beside(request.headers, exchange.query, own)
            exchange.key = await large.done(
                size, lambda: self._parts.keys.key(exchange.endpoint, exchange.body, beside)
            )
        except OutOfTime as error:
            return await self._refuse(request, exchange, "invalid_request", f"it cannot be compared: {error}")
        source = self._parts.source
        if isinstance(source, Player):
            return await self._replayed(request, exchange, source)
        return await source.answer(request, exchange, self._parts.cassette.keep)

    def _problem(self, exchange: ModelExchange) -> tuple[ErrorKind, str] | None:
        """The reason why the request is rejected, whatever has been used so far; may be asked for from any thread."""
        parts, endpoint = self._parts, exchange.endpoint
        if endpoint.provider not in parts.spec.servers:
            return "not_declared", f"the suite declares no model of the provider {endpoint.provider!r}"
        if "hosted_tools" not in parts.spec.allow:
            hosted = hosted_field(endpoint, exchange.body) or next(endpoint.hosted(exchange.body), None)
            if hosted is not None:
                return "hosted_tool", (
                    f"{hosted} would be run by the provider itself, outside of the evaluation, so it is refused; "
                    "the suite can allow it with `model.allow: [hosted_tools]`"
                )
        unknown = unknown_field(endpoint, exchange.body, parts.spec)
        return None if unknown is None else ("not_declared", unknown)

    def _over_limit(self, exchange: ModelExchange, model: str) -> tuple[ErrorKind, str] | None:
        ledger, spec = self._parts.exchange.ledger, self._parts.spec
        if ledger.counts_cost and exchange.endpoint.is_charged and spec.price_of(model) is None:
            message = f"the model {model!r} has no price, so a limit of its cost cannot be enforced"
            if not spec.priced:  # the cause is the suite, not the agent's request
                raise GatewayError(message, remedy="give it one in the suite: `model.prices`")
            ledger.limit_reached = ledger.limit_reached or f"{message} (priced: {', '.join(sorted(spec.priced))})"
            return "limit_reached", message
        reason = ledger.refuses_model()
        return None if reason is None else ("limit_reached", f"the limit of {reason} is reached")

    async def _refuse(
        self, request: web.BaseRequest, exchange: ModelExchange, kind: ErrorKind, message: str
    ) -> web.StreamResponse:
        exchange.error = (kind, message)
        status = _STATUS[kind]
        exchange.answer = ModelAnswer(
            status=status, headers=_NO_RETRY, body=exchange.endpoint.error(status, kind, message)
        )
        return await deliver(request, exchange.answer)

    async def _replayed(self, request: web.BaseRequest, exchange: ModelExchange, player: Player) -> web.StreamResponse:
        assert exchange.key is not None
        played = player.play(exchange.key)
        if isinstance(played, Missed):
            return await self._missed(request, exchange, played)
        return await self._given(request, exchange, played)

    async def _given(self, request: web.BaseRequest, exchange: ModelExchange, played: Played) -> web.StreamResponse:
        recording = played.recording
        exchange.tier, exchange.occurrence = played.tier, recording.mark.occurrence
        exchange.provenance = recording.mark.provenance
        answer = ModelAnswer(
            status=recording.status,
            headers=recording.headers,
            body=recording.body,
            outcome=recording.mark.outcome,
            is_array=exchange.endpoint.streams_array,
        )
        exchange.answer = answer
        self._parts.cassette.bind(exchange)
        return await deliver(request, answer)

    async def _missed(self, request: web.BaseRequest, exchange: ModelExchange, missed: Missed) -> web.StreamResponse:
        exchange.tier = "miss"
        tool = f"{exchange.endpoint.operation} {exchange.asked.model or exchange.endpoint.name}"
        nearest: list[JsonObject] = [
            {"tool": tool, "arguments": summary_of(item.arguments), "difference": item.difference}
            for item in missed.nearest
        ]
        exchange.nearest = tuple(nearest)
        self._parts.exchange.ledger.keep_miss(
            {
                "tool": tool,
                "model": True,
                "arguments": summary_of(json.loads(missed.call.arguments)),
                "nearest": list(nearest),
            }
        )
        parts = [f"no recording answers this request to {exchange.endpoint.path}"]
        parts += [f"nearest: {item['difference']}" for item in nearest] or ["nothing was recorded of this endpoint"]
        return await self._refuse(request, exchange, "replay_miss", "; ".join(parts))

    async def _finish(self, exchange: ModelExchange) -> None:
        """Counts the usage and records the span, however the request ended."""
        parts, replied = self._parts, exchange.replied
        self._charge(exchange, replied)
        if exchange.tier is not None:
            parts.exchange.ledger.model_tiers[exchange.tier] += 1
            if exchange.key is not None:
                parts.exchange.ledger.count_provenance("model", exchange.tier, exchange.key, exchange.provenance)
        if parts.cassette.records and exchange.tier == "live" and not exchange.kept:
            parts.exchange.ledger.unrecorded_replies[f"model:{exchange.endpoint.provider}"] += 1
        size = len(exchange.raw) + (0 if exchange.answer is None else len(exchange.answer.body))
        await parts.exchange.large.finished(size, self._traced(size, exchange, replied))

    async def _traced(self, size: int, exchange: ModelExchange, replied: Replied) -> None:
        parts, recorder = self._parts, self._parts.exchange.recorder
        ended_ns = time.monotonic_ns()
        span = await parts.exchange.large.done(
            size, lambda: exchange_span(exchange, replied, parts.keys, parts.spec, parts.prompts)
        )
        recorder.record(span.name, span.attributes, exchange.started_ns, failed=span.failed, ended_ns=ended_ns)

    def _charge(self, exchange: ModelExchange, replied: Replied) -> None:
        answer = exchange.answer
        is_reply = replied.message is not None
        if answer is None or not (is_reply or (exchange.endpoint.is_charged and answer.status // 100 == 2)):
            return
        used = estimated(replied.used, len(exchange.raw), len(answer.body) if is_reply else 0)
        price = self._parts.spec.price_of(exchange.asked.model or "")
        self._parts.exchange.ledger.charge(
            input_tokens=used.input or 0,
            output_tokens=used.output or 0,
            usd=cost_usd(price, used),
            real=exchange.tier == "live",
            is_reply=is_reply,
        )


def _unreadable(exchange: ModelExchange, query: str) -> tuple[ErrorKind, str] | None:
    """Parses the query and the body; returns why they cannot be passed on, or None."""
    endpoint = exchange.endpoint
    try:
        exchange.query = plain_query(endpoint, query)
        if not exchange.raw.strip():
            return None if endpoint.method == "GET" else ("invalid_request", f"{endpoint.path} needs a JSON object")
        body = parse_json(exchange.raw, once=True)
    except NotJson as error:
        return "invalid_request", f"the body is not JSON: {error}"
    except ValueError as error:
        return "invalid_request", str(error)
    if endpoint.method == "GET" or not isinstance(body, dict):
        return (
            "invalid_request",
            "the body is not a JSON object" if endpoint.method == "POST" else "there is no body here",
        )
    if endpoint.model is not None:
        if "model" in body and endpoint.provider != "azure":  # Azure's clients name the deployment twice
            return "invalid_request", "the model is named in the path, and not in the body"
        body = {**body, "model": endpoint.model}
    exchange.body = body
    return None


def _parent(request: web.BaseRequest) -> str | None:
    """The id of the span that a W3C `traceparent` header names."""
    fields = request.headers.get("traceparent", "").split("-")
    return fields[2] if len(fields) == 4 and len(fields[2]) == 16 else None


class RunModels:
    """The suite's models in one tool mode."""

    def __init__(self, spec: ModelSpec, mode: ModelMode, secrets: Mapping[str, str]) -> None:
        """Raises UsageError if a real provider is to be called and its key is missing."""
        self._spec = spec
        self.mode = mode
        self._secrets = secrets
        if mode != "replay":
            check_keys(spec, mode, secrets)

    def handler(self, trial: TrialContext) -> ModelHandler:
        """The model endpoints of one trial."""
        keys = RequestKeys(trial.redactor, self._spec.ignore, trial.ledger.ignored)
        return ModelHandler(
            ModelContext(
                spec=self._spec,
                source=Player(trial.cassette().only("model")) if self.mode == "replay" else self._live(trial),
                keys=keys,
                cassette=ReplyRecorder(trial.journals.models, keys, trial.redactor, self._spec.provenance),
                exchange=trial.exchange,
                prompts=trial.suite.agent_prompts,
            )
        )

    def _live(self, trial: TrialContext) -> LiveModel:
        upstreams = {
            provider: ProviderUpstream(provider, server, self._secrets, trial.run.client)
            for provider, server in self._spec.servers.items()
        }
        return LiveModel(
            spec=self._spec,
            upstreams=upstreams,
            limiter=trial.run.limiter,
            waits=trial.waits,
            redactor=trial.redactor,
            answered=trial.run.answered,
            ledger=trial.ledger,
            large=trial.exchange.large,
        )
