"""The client for models that the harness itself calls: a judge's model, not an agent's.

Requests have the same keys, cassettes, secrets, rate limits, prices and budgets as an agent's, and no socket and no
trial. Requests on the cassette are replayed; others are sent, and recorded. Requests to a busy provider are retried
after a pause, as an agent's own client would do.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

import aiohttp

from harness.cassettes.journals import recover_journals
from harness.cassettes.redaction import KEPT_HEADERS, Redactor
from harness.errors import GatewayError, UsageError
from harness.gateway.budgets import OutOfBudget, RateLimiter
from harness.gateway.models.endpoints import Endpoint, endpoint_of
from harness.gateway.models.exchange import ModelExchange, cost_usd, estimated
from harness.gateway.models.formats import ModelAnswer, Replied
from harness.gateway.models.provider import ProviderUpstream, check_keys, hold_where_busy, requested_wait_s
from harness.gateway.models.recordings import ModelCassette, ModelClientOptions
from harness.gateway.models.sampling import Sampling, SentParameters
from harness.gateway.upstream.transport import DecodedBody, header_text
from harness.suite.models import ClientProvider, ModelSpec
from harness.values import JsonObject

_PATHS: Final[dict[ClientProvider, str]] = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}
_REFUSED_KEY: Final = frozenset({401, 403})
_LONGEST_WAIT_S: Final = 60.0
_PATIENCE_S: Final = 5.0
"""How long other requests wait for the first one."""
_MAX_ANSWER_BYTES: Final = 8 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class ModelReply:
    """The result of a request. If `problem` is None, `replied` is a complete reply."""

    replied: Replied
    recorded: bool
    problem: str | None = None
    refused: bool = False
    """Whether the provider refused the request, with a status of 400 to 499."""


@dataclass(kw_only=True)
class ModelSpend:
    """The number and cost of requests, over all cassettes."""

    calls: int = 0
    """The number of requests that reached the provider, including retries."""
    recorded: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None
    """None: no reply had a price."""


IsAnswer = Callable[[Replied], bool]
"""Whether a reply answers what was asked, or is empty, broken or cut off."""


class ModelClient:
    """Sends requests to one model; an asynchronous context manager."""

    def __init__(self, spec: ModelSpec, provider: ClientProvider, options: ModelClientOptions) -> None:
        """Raises UsageError if the provider is not declared or its key is not set."""
        if provider not in spec.servers:
            raise UsageError(f"expected the provider {provider!r} in the judge's `providers`, found no such entry")
        if options.mode != "replay":
            check_keys(spec, "live", options.secrets, otherwise=None)
        self.spec = spec
        self.provider: ClientProvider = provider
        self.options = options
        self.spent = ModelSpend()
        endpoint = endpoint_of("POST", _PATHS[provider], anthropic=provider == "anthropic")
        assert endpoint is not None
        self._endpoint: Endpoint = endpoint
        self._limiter = RateLimiter()
        self._redactor = Redactor(options.secrets)
        self.parameters = SentParameters(provider=provider, sampling=options.sampling)
        self._first_is_out = False
        self._first_is_back = asyncio.Event()
        self._client: aiohttp.ClientSession | None = None
        self._upstream: ProviderUpstream | None = None

    async def __aenter__(self) -> "ModelClient":
        if self.options.cassettes is not None and self.options.mode == "auto":
            recover_journals(self.options.cassettes, self.options.suite, Redactor(self.options.secrets))
        server = self.spec.servers[self.provider]
        self._client = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),  # the caller limits the number of parallel requests
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=self.spec.timeout_s),
            headers={"User-Agent": "trial-harness", "Accept": "application/json"},
            trust_env=False,
        )
        self._upstream = ProviderUpstream(self.provider, server, self.options.secrets, self._client)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._client is not None:
            await self._client.close()

    @asynccontextmanager
    async def cassette(self, case: str) -> AsyncIterator[ModelCassette]:
        """The cassette of one case; recordings are merged into it at the end of the context."""
        cassette = self.open_cassette(case)
        try:
            yield cassette
        finally:
            await asyncio.to_thread(cassette.close)

    def open_cassette(self, case: str) -> ModelCassette:
        """Like `cassette`, for a caller that closes it itself."""
        return ModelCassette(self.options, self.spec, case)

    def recorded(
        self, cassette: ModelCassette, body: JsonObject, is_answer: IsAnswer | None = None
    ) -> ModelReply | None:
        """The recorded reply to a request, as `ask` uses it."""
        if self.options.mode == "live":
            return None
        return self._recorded_reply(cassette, self.parameters.complete(body), is_answer)

    async def ask(self, cassette: ModelCassette, body: JsonObject, is_answer: IsAnswer | None = None) -> ModelReply:
        """The model's reply, or the problem. A sampling parameter that the model refuses is omitted. A reply that is no
        answer is neither recorded nor taken from a recording.

        Raises OutOfBudget if the budget is spent, GatewayError if the provider refuses the key or a model without
        a price is to be paid from a budget.
        """
        complete = self.parameters.complete(body)
        recorded = self.recorded(cassette, body, is_answer)
        if recorded is not None:
            return recorded
        if self.options.mode == "replay":
            return ModelReply(replied=Replied(), recorded=False, problem="no recording answers this request")
        if self._first_is_out:
            await self._wait_for_the_first()
        self._first_is_out = True
        try:
            while True:
                reply = await self._asked(cassette, self._exchange(cassette, complete), is_answer)
                if reply is not None:
                    return reply
        finally:
            self._first_is_back.set()

    async def _wait_for_the_first(self) -> None:
        """Lets the first request find out which parameters are refused, so that the others need not."""
        if not self._first_is_back.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._first_is_back.wait(), _PATIENCE_S)

    def _exchange(self, cassette: ModelCassette, complete: JsonObject) -> ModelExchange:
        """The exchange of a request, without the parameters that the model has refused so far. Its key is that of the
        complete request, so that a replay finds it before it knows what is refused.
        """
        sent = self.parameters.accepted(complete)
        exchange = ModelExchange(endpoint=self._endpoint, started_ns=0, body=sent)
        exchange.key = cassette.keys.key(self._endpoint, complete)
        exchange.raw = json.dumps(sent, ensure_ascii=False).encode("utf-8", "replace")
        return exchange

    def _recorded_reply(
        self, cassette: ModelCassette, complete: JsonObject, is_answer: IsAnswer | None
    ) -> ModelReply | None:
        exchange = self._exchange(cassette, complete)
        assert exchange.key is not None
        exchange.answer = cassette.recorded(exchange.key)
        if exchange.answer is None:
            return None
        reply = _reply(exchange, recorded=True)
        if not _is_kept(reply, is_answer):
            return None
        self.spent.recorded += 1
        return reply

    def _learns(self, sent: JsonObject, answer: ModelAnswer) -> bool:
        """Whether the answer is the refusal of a parameter; it is reported and omitted from then on."""
        name = self.parameters.learn(sent, answer)
        if name is None:
            return False
        declared = f" (to leave it out from the start: `sampling: {{{name}: null}}` in judge.yaml)"
        self.options.say(
            f"{sent.get('model')} refuses {name!r}, which is left out: {self.parameters.refused[name]}"
            + (declared if name in Sampling.model_fields else "")
        )
        return True

    async def _asked(
        self, cassette: ModelCassette, exchange: ModelExchange, is_answer: IsAnswer | None
    ) -> ModelReply | None:
        """Sends the request; None: a parameter was refused, and the request must be sent without it."""
        problem, wait_s = "", self.options.first_wait_s
        for attempt in range(self.options.tries):
            if attempt:
                await asyncio.sleep(wait_s)
                wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
            self._admit(exchange)
            await self._limiter.wait_for(self._endpoint.server, self.spec.rate_limit)
            try:
                answer = await self._sent(exchange)
            except (TimeoutError, aiohttp.ClientError, ConnectionError) as error:
                problem = f"the model cannot be reached: {type(error).__name__}"
                continue
            exchange.answer = answer
            failure = exchange.failure
            if failure is not None:
                problem = f"the model answered with status {answer.status} ({failure})"
                hold_where_busy(self._limiter, self._endpoint.server, answer.status, answer.headers)
                wait_s = min(max(wait_s, requested_wait_s(answer.headers)), _LONGEST_WAIT_S)
                continue
            if self._learns(exchange.body, answer):
                return None
            reply = _reply(exchange, recorded=False)
            if _is_kept(reply, is_answer):
                cassette.keep(exchange)
            self._charge(exchange, reply.replied)
            return reply
        return ModelReply(replied=Replied(), recorded=False, problem=f"{problem} ({self.options.tries} tries)")

    async def _sent(self, exchange: ModelExchange) -> ModelAnswer:
        assert self._upstream is not None, "the client's context was not entered"
        self.spent.calls += 1
        headers = {"Content-Type": "application/json", "anthropic-version": "2023-06-01"}
        async with self._upstream.ask(self._endpoint, "", headers, exchange.raw) as response:
            body, received = b"", DecodedBody(response)
            while len(body) < _MAX_ANSWER_BYTES and (piece := await received.readany()):
                body += piece
            if response.status in _REFUSED_KEY:
                self._refused_key(response.status, body)
            headers = {
                name.lower(): self._redactor.text(header_text(value)) for name, value in response.headers.items()
            }
            kept = {name: value for name, value in headers.items() if name in KEPT_HEADERS}
            return ModelAnswer(status=response.status, headers=kept, body=self._redactor.for_agent(body))

    def _refused_key(self, status: int, body: bytes) -> None:
        said = self._redactor.text(body.decode("utf-8", "replace"))[:500]
        name = self.spec.servers[self.provider].api_key
        raise GatewayError(
            f"the provider {self.provider!r} refused the request with status {status}: {said}",
            remedy="name the variable that holds the key" if name is None else f"check the key in the variable {name}",
        )

    def _admit(self, exchange: ModelExchange) -> None:
        budget = self.options.budget
        if budget is None:
            return
        model = exchange.asked.model or ""
        if budget.usd is not None and self.spec.price_of(model) is None:
            raise GatewayError(
                f"the model {model!r} has no price, so a budget in USD cannot be enforced",
                remedy="give it one in `prices`",
            )
        if not budget.admits_model():
            raise OutOfBudget(budget.reached)

    def _charge(self, exchange: ModelExchange, replied: Replied) -> None:
        answer = exchange.answer
        assert answer is not None
        used = estimated(replied.used, len(exchange.raw), len(answer.body))
        usd = cost_usd(self.spec.price_of(exchange.asked.model or ""), used)
        spent = self.spent
        spent.input_tokens += used.input or 0
        spent.output_tokens += used.output or 0
        spent.usd = spent.usd if usd is None else (spent.usd or 0.0) + usd
        if self.options.budget is not None:
            self.options.budget.charge((used.input or 0) + (used.output or 0), usd)


def _is_kept(reply: ModelReply, is_answer: IsAnswer | None) -> bool:
    return is_answer is None or (reply.problem is None and is_answer(reply.replied))


def _reply(exchange: ModelExchange, *, recorded: bool) -> ModelReply:
    answer, replied = exchange.answer, exchange.replied
    assert answer is not None
    if answer.status // 100 != 2:
        said = " ".join(answer.body[:300].decode("utf-8", "replace").split())
        return ModelReply(
            replied=replied,
            recorded=recorded,
            problem=f"the model answered with status {answer.status}: {said}",
            refused=answer.status // 100 == 4,
        )
    if replied.message is None:
        return ModelReply(replied=replied, recorded=recorded, problem="the model's answer holds no message")
    return ModelReply(replied=replied, recorded=recorded)
