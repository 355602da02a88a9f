"""The double of a model: one program behind both wire formats, as the harness's own client reads them."""

import asyncio
from typing import Any

import pytest

from harness.gateway.models.client import ModelClient, ModelReply
from harness.gateway.models.recordings import ModelClientOptions
from harness.suite.models import ModelEndpoint, Provider
from qa.doubles.model_double import DoubleError, DoubleReply, DoubleRequest, ModelDouble


class Echo(ModelDouble):
    async def answer(self, asked: DoubleRequest) -> DoubleReply | DoubleError:
        said = asked.said_by("user")
        if said == "fail":
            return DoubleError(status=400, message="made to fail", code="made")
        return DoubleReply(text=f"{asked.system}: {said}", calls="look" if said == "call" else None)


@pytest.fixture
def echo():
    with Echo(name="echo") as model:
        yield model


def ask(model: Echo, provider: Provider, said: str) -> ModelReply:
    body: dict[str, Any] = {"model": "echo", "max_tokens": 9, "messages": [{"role": "user", "content": said}]}
    if provider == "anthropic":
        body["system"] = "Echo"
    else:
        body["messages"].insert(0, {"role": "system", "content": "Echo"})
    url = model.url if provider == "openai" else model.url.removesuffix("/v1")
    endpoint = ModelEndpoint(model="echo", provider=provider, base_url=url)

    async def asked() -> ModelReply:
        options = ModelClientOptions(mode="live", tries=1)
        async with ModelClient(endpoint.spec, provider, options) as client, client.cassette("c") as cassette:
            return await client.ask(cassette, body)

    return asyncio.run(asked())


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_replies_calls_and_errors_are_read_in_both_wire_formats(echo: Echo, provider: Provider) -> None:
    hello, call, failed = (ask(echo, provider, said) for said in ("hello", "call", "fail"))

    assert hello.replied.message is not None
    assert [{"type": "text", "content": "Echo: hello"}] == hello.replied.message["parts"]
    assert hello.replied.used.input
    assert call.replied.message is not None
    assert "'tool_call'" in str(call.replied.message["parts"])
    assert failed.problem is not None
    assert "made to fail" in failed.problem
    assert 3 == echo.requests
