"""No client of the harness follows a redirect: what it sends is for the server that it was told of."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from harness.gateway.upstream.langfuse import LangfuseClient, LangfuseError
from harness.gateway.upstream.mcp_connection import HttpTransport
from harness.gateway.upstream.transport import open_client
from harness.traces.exporting import Collector
from tests.cli.starting import run_command
from tests.judging.judge.serving import served

KEY = "redirected-key-0123456789"


class Pair:
    """A server that sends everybody on to another one, which keeps the headers that it was sent."""

    def __init__(self) -> None:
        self.first = ""
        self.other = ""
        self.asked = 0
        self.status = 307
        self.came: list[dict[str, str]] = []

    async def send_on(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        if request.method == "POST" and request.path == "/mcp":
            return web.json_response({"jsonrpc": "2.0", "id": 1, "result": {}}, headers={"Mcp-Session-Id": KEY})
        return web.Response(status=self.status, headers={"location": f"{self.other}{request.path_qs}"})

    async def keep(self, request: web.Request) -> web.StreamResponse:
        self.came.append(dict(request.headers))
        return web.json_response({"version": 1, "prompt": "taken"})


@pytest.fixture
def pair() -> Iterator[Pair]:
    made = Pair()
    with served(made.send_on, path="") as made.first, served(made.keep, path="") as made.other:
        yield made


def test_langfuse_s_keys_stay_with_its_host(pair: Pair) -> None:
    with pytest.raises(LangfuseError, match="status 307"):
        LangfuseClient(pair.first, "pk-1", KEY).get("/api/public/v2/prompts/p")
    assert (1, []) == (pair.asked, pair.came)

    other = LangfuseClient(pair.other, "pk-1", KEY)  # the control: the other would have answered
    assert "taken" == other.get("/api/public/v2/prompts/p")["prompt"]
    assert "Authorization" in pair.came[0]


def test_the_headers_for_a_collector_stay_with_it(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"x-collector-key={KEY}")
    assert "HTTP 307" == Collector(pair.first, timeout_s=2.0).send([])
    assert [] == pair.came
    assert 1 == pair.asked

    assert Collector(pair.other, timeout_s=2.0).send([]) is None
    assert KEY in pair.came[0].values()


def test_the_end_of_an_mcp_session_is_told_its_server_alone(pair: Pair) -> None:
    async def talk(url: str) -> None:
        client: aiohttp.ClientSession = await open_client()
        async with client:
            channel = HttpTransport("s", client, url, {"X-Api-Key": KEY})
            await channel.request("initialize", {}, None)
            await channel.close()

    asyncio.run(talk(f"{pair.first}/mcp"))
    assert (2, []) == (pair.asked, pair.came)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_github_s_token_stays_with_its_host(pair: Pair, tmp_path: Path, status: int) -> None:
    pair.status = status
    words = ("issue", "list", "--tracker", "github")
    env = {"GITHUB_TOKEN": KEY, "GITHUB_REPOSITORY": "acme/x", "GITHUB_API_URL": pair.first}
    done = run_command(*words, folder=tmp_path, env=env)
    assert done.returncode in ({3} if status == 301 else {0, 3}), done.stderr
    assert "Traceback" not in done.stderr
    assert [] == pair.came
