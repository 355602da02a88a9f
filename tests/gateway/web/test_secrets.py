"""What a declared host knows of its key does not reach the agent, however the host answers."""

import base64
import contextlib
import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import brotli
import pytest
from aiohttp import web
from backports import zstd

from harness.suite.hosts import HostSpec
from qa.soak.canaries import UNDECLARED, forms, found_in
from tests.gateway.conftest import Agent
from tests.gateway.web.conftest import Browser
from tests.gateway.web.hostile import HOST
from tests.judging.judge.serving import served

KEY = 'h0st-l1ve/+"key=0815 4711'
SECRETS = {"HOST_KEY": KEY}
PAGE = f"<p>{UNDECLARED} and your key is {KEY}, in full: {KEY}</p>".encode()


ENCODERS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
    "identity": bytes,
}


class Telling:
    """A host that tells its caller the key that it was called with, as the path says."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        kind = request.path.strip("/")
        if kind.partition(",")[0] in {*ENCODERS, "compress"}:
            return self.packed(kind)
        made: web.StreamResponse = await getattr(self, f"do_{kind}")(request, request.headers["x-host-key"])
        return made

    def packed(self, kind: str) -> web.Response:
        packed = PAGE
        for name in kind.split(", "):
            packed = ENCODERS.get(name, bytes)(packed)
        return web.Response(body=packed, headers={"content-encoding": kind})

    async def do_body(self, request: web.Request, key: str) -> web.StreamResponse:
        return web.Response(body=PAGE, headers={"etag": '"1"', "digest": "sha-256=abc"})

    async def do_headers(self, request: web.Request, key: str) -> web.StreamResponse:
        told = {"x-told": f"{key} {UNDECLARED}", "x-hex": key.encode().hex()}
        return web.json_response({}, headers=told | {"set-cookie": f"k={base64.b64encode(key.encode()).decode()}"})

    async def do_redirect(self, request: web.Request, key: str) -> web.StreamResponse:
        raise web.HTTPFound(f"/next?key={key}&member={UNDECLARED}")

    async def do_error(self, request: web.Request, key: str) -> web.StreamResponse:
        return web.json_response({"error": f"{UNDECLARED}: bad key {key}"}, status=403, reason=f"no {key[:9]}")

    async def do_chunked(self, request: web.Request, key: str) -> web.StreamResponse:
        return await _in_pieces(request, PAGE, 5)

    async def do_forms(self, request: web.Request, key: str) -> web.StreamResponse:
        return await _in_pieces(request, b"\n".join([UNDECLARED.encode(), *forms(key).values()]), 7)

    async def do_deltas(self, request: web.Request, key: str) -> web.StreamResponse:
        texts = [f"{UNDECLARED} ", *(key[at : at + 4] for at in range(0, len(key), 4)), "."]
        events = [b"data: " + json.dumps({"delta": text}).encode() + b"\n\n" for text in texts]
        return await _in_pieces(request, b"".join(events), 11)

    async def do_json(self, request: web.Request, key: str) -> web.StreamResponse:
        return web.json_response({"member": UNDECLARED, "deep": [{"key": key, key: 1}]})

    async def do_range(self, request: web.Request, key: str) -> web.StreamResponse:
        asked = request.http_range
        return web.Response(body=PAGE[asked], status=200 if asked.start is None else 206)

    async def do_insists(self, request: web.Request, key: str) -> web.StreamResponse:
        return web.Response(body=PAGE[30:50], status=206, headers={"content-range": f"bytes 30-49/{len(PAGE)}"})


async def _in_pieces(request: web.Request, body: bytes, size: int) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "text/event-stream", "trailer": "x-key"})
    await response.prepare(request)
    for at in range(0, len(body), size):
        await response.write(body[at : at + size])
    await response.write_eof()
    return response


@pytest.fixture
def received(browse, suite) -> Iterator[Callable[..., list[tuple[int, dict[str, str], bytes]]]]:
    """All answers to the agent in a live trial, then in one that is recorded, then in its replay."""
    with served(Telling().answer, path="") as url:

        def ask(
            target: str, secrets: dict[str, str] = SECRETS, modes: Any = ("live", "record", "replay"), **headers: str
        ) -> Any:
            host = HostSpec(host=HOST, base_url=url, disposable=True, headers={"x-host-key": "${HOST_KEY}"})
            got: list[tuple[int, dict[str, str], bytes]] = []
            for mode in modes:
                browse(
                    mode,
                    lambda browser: got.append(browser.ask_raw("GET", target, **headers)),
                    route="proxy",
                    host=host,
                    suite={"secrets": ("HOST_KEY",)},
                    options={"secrets": secrets},
                )
            return got

        yield ask


def as_text(one: tuple[int, dict[str, str], bytes]) -> bytes:
    return json.dumps(one[1]).encode() + one[2]


@pytest.mark.parametrize(
    "kind",
    [
        *("body", "headers", "redirect", "error", "chunked", "forms", "json"),
        *("gzip", "deflate", "br", "zstd", "gzip, gzip", "br, gzip", "identity, zstd, deflate"),
    ],
)
def test_the_agent_receives_what_the_host_says_but_not_its_key(received, kind: str) -> None:
    for one in received("/" + kind.replace(" ", "%20")):
        assert [] == found_in(iter([(kind, as_text(one))]), SECRETS)
        assert b"<secret:HOST_KEY>" in as_text(one)
        assert UNDECLARED.encode() in as_text(one)


def test_no_key_comes_in_the_pieces_of_several_events(received) -> None:
    for _, _, body in received("/deltas"):
        texts = [json.loads(line.removeprefix(b"data: "))["delta"] for line in body.splitlines() if line]
        assert f"{UNDECLARED} <secret:HOST_KEY>." == "".join(texts)


@pytest.mark.parametrize("kind", ["compress", "gzip, compress", ", ".join(5 * ["gzip"])])
def test_a_body_in_which_nothing_can_be_searched_for_does_not_pass(received, kind: str) -> None:
    for status, _, body in received("/" + kind.replace(" ", "%20"), modes=("live",)):
        assert (502, "malformed_result") == (status, json.loads(body)["error"]["type"])


def test_a_key_cannot_be_fetched_in_pieces(received) -> None:
    pieces = b""
    for at in range(0, len(PAGE), 8):
        [(status, headers, body)] = received("/range", modes=("live",), Range=f"bytes={at}-{at + 7}")
        assert (200, None) == (status, headers.get("content-range"))
        pieces += body
    assert KEY.encode() not in pieces
    [(status, _, body)] = received("/insists", modes=("live",))
    assert (502, "malformed_result") == (status, json.loads(body)["error"]["type"])


def test_where_nothing_is_secret_everything_passes_as_the_host_has_it(browse) -> None:
    """The control: the same host and the same key, which is the agent's own and no secret of the suite."""
    got: list[tuple[int, dict[str, str], bytes]] = []
    with served(Telling().answer, path="") as url:
        host = HostSpec(host=HOST, base_url=url, disposable=True)
        for target, headers in (("/range", {"Range": "bytes=0-7"}), ("/body", {}), ("/gzip", {})):
            browse(
                "live", lambda b, t=target, h=headers: got.append(b.ask_raw("GET", t, x_host_key=KEY, **h)), host=host
            )
    part, whole, unpacked = got

    assert (206, PAGE[:8]) == (part[0], part[2])
    assert (PAGE, "sha-256=abc", str(len(PAGE))) == (whole[2], whole[1]["digest"], whole[1]["content-length"])
    assert PAGE == unpacked[2]


def test_the_length_is_that_of_what_the_agent_is_given(received) -> None:
    for status, headers, body in received("/body"):
        assert 200 == status
        assert headers.get("content-length", str(len(body))) == str(len(body))
        assert "digest" not in headers
        assert '"1"' == headers["etag"]


def test_no_key_comes_in_a_header_that_is_folded_over_lines(browse, outside) -> None:
    host = HostSpec(host=HOST, base_url=outside[1], disposable=True, headers={"x-host-key": "${HOST_KEY}"})
    got: list[tuple[int, dict[str, str], bytes]] = []
    for mode in ("live", "record", "replay"):
        browse(
            mode,
            lambda browser: got.append(browser.ask_raw("GET", "/folded")),
            route="proxy",
            host=host,
            suite={"secrets": ("HOST_KEY",)},
            options={"secrets": {"HOST_KEY": KEY.replace(" ", "-")}},
        )
    for _, headers, _ in got:
        assert "<secret:HOST_KEY>" in headers["x-told"]
        assert KEY[-4:] not in json.dumps(headers)
        assert "a b" == headers["x-other"]


TOKEN = "tok-abcdefgh-12345678"
_SPAN = {
    "traceId": "0" * 31 + "1",
    "spanId": "0" * 15 + "1",
    "name": "login",
    "startTimeUnixNano": "1",
    "endTimeUnixNano": "2",
    "attributes": [{"key": "input", "value": {"stringValue": TOKEN}}],
}
_SPANS = {"resourceSpans": [{"scopeSpans": [{"spans": [_SPAN]}]}]}
_NEXT: dict[str, tuple[str, str, Any]] = {
    "a request": ("GET", f"http://{HOST}/items?q={TOKEN}", None),
    "a tool's argument": ("POST", "/tools/look", {"q": f"with {TOKEN}"}),
    "a thought": ("POST", "/thought", {"text": f"the session is {TOKEN}"}),
    "the reply": ("POST", "/reply", {"message": f"the session is {TOKEN}"}),
    "a span": ("POST", "/v1/traces", _SPANS),
}


@pytest.mark.parametrize("said", _NEXT)
def test_a_token_of_a_long_answer_is_known_in_what_the_agent_says_right_after_it(browse, shop, said: str) -> None:
    rows = [{"name": "x" * 20, "number": number} for number in range(4500)]
    shop.answer = (200, {"Content-Type": "application/json"}, json.dumps({"token": TOKEN, "rows": rows}).encode())
    statuses: list[int] = []

    def play(browser: Browser) -> None:
        status, headers, _ = browser.ask_raw("GET", "/answer")
        assert "content-length" in headers  # so that the agent knows the end before the gateway has searched it
        with contextlib.closing(Agent(browser.path)) as agent:
            statuses.extend((status, agent.ask(*_NEXT[said], {"Content-Type": "application/json"})[0]))

    record = browse("live", play, "proxy")

    assert 200 == statuses[0]
    assert statuses[1] in {200, 204}
    told = [f"{span.name} {span.attributes}" for span in record.spans]
    assert 2 == sum("<secret:token:" in one for one in told)
    assert not any(TOKEN in one for one in told)
