"""Requests that reach the real provider: requests and answers are passed on unchanged, except for known secrets."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import aiohttp
from aiohttp import web

from harness.cassettes.redacted_streams import RedactedStream, stream_of
from harness.cassettes.redaction import KEPT_HEADERS, Redactor
from harness.cassettes.transience import failure_of
from harness.gateway.bodies import Delivery, deliver
from harness.gateway.budgets import RateLimiter, Waits
from harness.gateway.exchange import LargeWork
from harness.gateway.ledger import Ledger
from harness.gateway.models.allowed import LONGEST_MODEL
from harness.gateway.models.endpoints import Endpoint
from harness.gateway.models.exchange import ModelExchange
from harness.gateway.models.formats import ModelAnswer
from harness.gateway.models.provider import ProviderUpstream, headers_back, hold_where_busy
from harness.gateway.upstream.transport import DecodedBody, RetriedCall, clean_header, is_readable, passed_on
from harness.suite.models import ModelSpec, Provider
from harness.traces.trial import Outage

MAX_ANSWER_BYTES = 64 * 1024 * 1024
_REFUSED_KEY = frozenset({401, 403})
_ASKED_AGAIN_AFTER_S = (0.0, 0.5, 1.0, 2.0)
_OWN_REQUESTS_TAKE_S = 20.0
_OWN_HEADERS = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
_OWN_ANSWER_BYTES = 1024 * 1024
_LONGEST_REASON = 300
_RETRIES = 2
"""Retries of a request whose connection failed before an answer began. A model request changes nothing at the
provider.
"""


@dataclass(frozen=True, kw_only=True)
class LiveModel:
    """The providers as one trial reaches them."""

    spec: ModelSpec
    upstreams: Mapping[Provider, ProviderUpstream]
    limiter: RateLimiter
    waits: Waits
    redactor: Redactor
    answered: set[str]
    ledger: Ledger
    large: LargeWork

    async def answer(
        self, request: web.BaseRequest, exchange: ModelExchange, keep: Callable[[ModelExchange], None]
    ) -> web.StreamResponse:
        """Passes on the provider's answer, also an incomplete one; `keep` is called at its end.

        A failure of the provider that is not of the agent's doing is noted in the ledger.
        """
        exchange.tier = "live"
        with self.waits():
            passed = await self._answer(request, exchange, keep)
            await self._note(exchange)
        return passed

    async def _note(self, exchange: ModelExchange) -> None:
        """Notes whether the provider answered.

        An agent can bring about most failures by what it asks for, so that a failure is the provider's only if a plain
        request of the harness fails as well. A refusal (404, 401) is the agent's doing if the provider has answered
        any request of the run.
        """
        answer, server = exchange.answer, _server(exchange.endpoint)
        model = (exchange.asked.model or exchange.endpoint.name)[:LONGEST_MODEL]
        failed = answer is None or exchange.failure is not None
        answered = answer is not None and not failed and answer.status // 100 == 2
        self.ledger.count_model_request(server, model, answered=answered)
        if answered:
            self.answered.add(server)
        known = self.ledger.outages.get(server)
        if failed and (known is not None and not known.refused):
            return
        if (not failed and server in self.answered) or (failed and not await self._is_down(exchange)):
            self.ledger.outages.pop(server, None)
            return
        self.ledger.outages[server] = Outage(
            server=server,
            tool=exchange.endpoint.path,
            reason=self._reason(exchange),
            answered=server in self.answered,
            model=model,
            refused=not failed,
        )

    async def _is_down(self, exchange: ModelExchange) -> bool:
        """Whether the provider also fails at a request that has nothing of the agent but the model's name."""
        endpoint, model = exchange.endpoint, exchange.asked.model
        own = {} if model is None or endpoint.model is not None else {"model": model}
        body = json.dumps(own | endpoint.plain_request).encode()
        deadline = time.monotonic() + _OWN_REQUESTS_TAKE_S
        for wait_s in _ASKED_AGAIN_AFTER_S:
            await asyncio.sleep(wait_s)
            left_s = deadline - time.monotonic()
            try:
                async with asyncio.timeout(left_s):
                    await self.limiter.wait_for(endpoint.server, self.spec.rate_limit)
                async with (
                    asyncio.timeout(min(self.spec.timeout_s, left_s)),
                    self.upstreams[endpoint.provider].ask(
                        endpoint, exchange.query, _OWN_HEADERS, body if endpoint.method == "POST" else b"", model=model
                    ) as response,
                ):
                    if await self._is_answered(response, is_reply=endpoint.wire is not None):
                        return False
                    hold_where_busy(self.limiter, endpoint.server, response.status, response.headers)
            except (TimeoutError, aiohttp.ClientError, ConnectionError):
                continue
        return True

    @staticmethod
    async def _is_answered(response: aiohttp.ClientResponse, *, is_reply: bool) -> bool:
        received, said = DecodedBody(response), b""
        while is_readable(response.headers) and len(said) < _OWN_ANSWER_BYTES and (piece := await received.readany()):
            said += piece
        return failure_of("model", response.status, said, is_reply=is_reply) is None

    def _reason(self, exchange: ModelExchange) -> str:
        """The failure in words: the status, the provider's own message, the address, and the model asked for."""
        answer, endpoint, model = exchange.answer, exchange.endpoint, exchange.asked.model
        address = self.upstreams[endpoint.provider].address(endpoint, model)
        asked = self.redactor.text(f" ({address}{'' if model is None else f', model {model[:LONGEST_MODEL]!r}'})")
        if exchange.error is not None or answer is None:
            return ("it gave no answer" if exchange.error is None else exchange.error[1]) + asked
        try:
            said = json.loads(answer.body)["error"]["message"]
        except (ValueError, LookupError, TypeError):
            said = answer.body[:_LONGEST_REASON].decode("utf-8", "replace")
        name = self.spec.servers[endpoint.provider].api_key
        remedy = f"; check the variable {name}" if name and answer.status in _REFUSED_KEY else ""
        return self.redactor.text(f"{answer.status} {str(said)[:_LONGEST_REASON]}".strip()) + asked + remedy

    async def _answer(
        self, request: web.BaseRequest, exchange: ModelExchange, keep: Callable[[ModelExchange], None]
    ) -> web.StreamResponse:
        endpoint = exchange.endpoint
        await self.limiter.wait_for(endpoint.server, self.spec.rate_limit)
        passage = _ReplyStream(request, self.redactor)
        plain = await self.large.done(len(exchange.raw), lambda: exchange.plain)
        try:
            async with (
                asyncio.timeout(self.spec.timeout_s),
                self.upstreams[endpoint.provider].ask(
                    endpoint,
                    exchange.query,
                    request.headers,
                    plain,
                    RetriedCall(_RETRIES, self.spec.timeout_s),
                    model=exchange.asked.model,
                ) as response,
            ):
                hold_where_busy(self.limiter, endpoint.server, response.status, response.headers)
                return await self._passed(exchange, response, passage, keep)
        except TimeoutError:
            return await self._broken(request, exchange, passage, "timeout", keep)
        except (aiohttp.ClientError, ConnectionError):
            return await self._broken(request, exchange, passage, "reset", keep)

    async def _passed(
        self,
        exchange: ModelExchange,
        response: aiohttp.ClientResponse,
        passage: "_ReplyStream",
        keep: Callable[[ModelExchange], None],
    ) -> web.StreamResponse:
        if not is_readable(response.headers):
            raise aiohttp.ClientPayloadError("the answer is in an encoding that was not asked for")
        headers = {
            name: clean_header(value, self.redactor)
            for name, value in headers_back(response.headers).items()
            if self.redactor.text(name) == name
        }
        kept = {name.lower(): value for name, value in headers.items() if name.lower() in KEPT_HEADERS}
        answer = ModelAnswer(status=response.status, headers=kept, is_array=exchange.endpoint.streams_array)
        exchange.answer = answer
        passage.redacted = stream_of(response.headers, self.redactor, is_array=answer.framing == "array")
        if answer.streamed:
            await passage.delivery.begin(response.status, headers)
        await passed_on(DecodedBody(response), passage.redacted, passage.give, passage.delivery.came, MAX_ANSWER_BYTES)
        delivery = passage.delivery
        answer.body = bytes(passage.content)
        answer.first_chunk_ms = delivery.first_chunk_ms
        keep(exchange)
        return (
            await delivery.end()
            if answer.streamed
            else web.Response(status=answer.status, headers=headers, body=answer.body)
        )

    async def _broken(
        self,
        request: web.BaseRequest,
        exchange: ModelExchange,
        passage: "_ReplyStream",
        what: Literal["timeout", "reset"],
        keep: Callable[[ModelExchange], None],
    ) -> web.StreamResponse:
        """Handles an incomplete answer of the provider: the received part of a stream is recorded, and cut at the same
        place.
        """
        delivery = passage.delivery
        if delivery.begun and exchange.answer is not None:
            for clean in passage.redacted.finish(broken=True):
                await passage.give(clean)
            answer = exchange.answer
            answer.outcome, answer.body = what, delivery.body
            answer.first_chunk_ms = delivery.first_chunk_ms
            keep(exchange)
            return delivery.cut()
        message = f"the model gave no answer{' in time' if what == 'timeout' else ': the connection failed'}"
        status = 504 if what == "timeout" else 502
        exchange.error = (what, message)
        exchange.answer = ModelAnswer(
            status=status,
            headers={"content-type": "application/json"},
            body=exchange.endpoint.error(status, what, message),
        )
        return await deliver(request, exchange.answer)


def _server(endpoint: Endpoint) -> str:
    """The provider's name in messages, in the form used for servers and hosts."""
    return f"model:{endpoint.provider}"


class _ReplyStream:
    """One answer on its way to the agent: a key that the provider echoes stays in the gateway."""

    def __init__(self, request: web.BaseRequest, redactor: Redactor) -> None:
        self.delivery = Delivery(request)
        self.content = bytearray()
        self.redacted = RedactedStream(redactor)

    async def give(self, clean: bytes) -> None:
        self.content += clean
        if self.delivery.begun:
            await self.delivery.write(clean)
