"""Requests that reach the real provider: requests and answers are passed on unchanged, except for known secrets."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import aiohttp
from aiohttp import web

from harness.cassettes.redacted_streams import RedactedStream
from harness.cassettes.redaction import KEPT_HEADERS, Redactor
from harness.errors import GatewayError
from harness.gateway.bodies import Delivery, LargeWork, deliver
from harness.gateway.budgets import RateLimiter, Waits
from harness.gateway.models.endpoints import Endpoint
from harness.gateway.models.exchange import ModelExchange
from harness.gateway.models.formats import ModelAnswer
from harness.gateway.models.provider import ProviderUpstream, headers_back, hold_where_busy
from harness.gateway.upstream.sources import Reachability
from harness.gateway.upstream.transport import RetriedCall, clean_header, is_readable, passed_on, stream_of
from harness.suite.models import ModelSpec, Provider

MAX_ANSWER_BYTES = 64 * 1024 * 1024
_REFUSED_KEY = frozenset({401, 403})
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
    reach: Reachability
    large: LargeWork

    async def answer(
        self, request: web.BaseRequest, exchange: ModelExchange, keep: Callable[[ModelExchange], None]
    ) -> web.StreamResponse:
        """Passes on the provider's answer, also an incomplete one; `keep` is called at its end.

        Raises GatewayError if the provider rejects the key, unless it has accepted it in this run: an agent may ask
        for what the key is not allowed, and gets that refusal as an answer. Raises UpstreamUnavailable if no
        connection produced an answer after all retries: neither is a failure of the agent.
        """
        exchange.tier = "live"
        with self.waits():
            return await self._answer(request, exchange, keep)

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
                self.reach.answered(_server(endpoint))
                if response.ok:
                    self.reach.accepted(_server(endpoint))
                elif response.status in _REFUSED_KEY and not self.reach.accepts(_server(endpoint)):
                    await self._raise_for_key(endpoint, response)
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
        await passed_on(response.content, passage.redacted, passage.give, passage.delivery.came, MAX_ANSWER_BYTES)
        delivery = passage.delivery
        answer.body = bytes(passage.content)
        answer.chunks, answer.first_chunk_ms = delivery.chunks, delivery.first_chunk_ms
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
            answer.chunks, answer.first_chunk_ms = delivery.chunks, delivery.first_chunk_ms
            keep(exchange)
            return delivery.cut()
        if what == "reset":
            raise self.reach.lost(_server(exchange.endpoint), exchange.endpoint.path)
        message = "the model gave no answer in time"
        exchange.error = (what, message)
        exchange.answer = ModelAnswer(
            status=504, headers={"content-type": "application/json"}, body=exchange.endpoint.error(504, what, message)
        )
        return await deliver(request, exchange.answer)

    async def _raise_for_key(self, endpoint: Endpoint, response: aiohttp.ClientResponse) -> None:
        text = self.redactor.text((await response.content.read(500)).decode("utf-8", "replace"))
        name = self.spec.servers[endpoint.provider].api_key
        raise GatewayError(
            f"the provider {endpoint.provider!r} refused the request with status {response.status}: {text}",
            remedy="set `model.api_key`" if name is None else f"check the variable {name}",
        )


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
