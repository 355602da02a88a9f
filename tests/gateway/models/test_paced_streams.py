"""When a stream reaches the agent, and in which pieces, is the same whatever its text resembles."""

import asyncio
import gzip
import json
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from harness.cassettes.redacted_streams import WINDOW_S
from harness.suite.hosts import HostSpec
from harness.suite.models import ModelSpec
from tests.gateway.models.conftest import KEY
from tests.judging.judge.serving import served

HOST = "api.example.com"
GUESSES = {"unlike": "x" * len(KEY), "begins": KEY[:9] + "x" * (len(KEY) - 9), "is": KEY}
TIMES_S = (0.0, 0.2, 0.4, 3.0, 3.1)
"""When the server sends a piece; the guess is in the first three, and the stream ends with the last."""
Chunk = tuple[float, bytes]


async def echo(request: web.Request) -> web.StreamResponse:
    """An honest server that repeats what it was sent, piece by piece."""
    kind, guess = (await request.json())["messages"][0]["content"].split()
    kinds = {"sse": "text/event-stream", "lines": "application/x-ndjson", "model": "text/event-stream"}
    headers = {"content-type": kinds.get(kind, "text/plain")}
    response = web.StreamResponse(headers=headers | ({"content-encoding": "gzip"} if kind == "gzip" else {}))
    await response.prepare(request)
    size, began = -(-len(guess) // 3), time.monotonic()
    texts = [guess[:size], guess[size : 2 * size], guess[2 * size :], " and", " so on"]
    for text, when in zip(texts, TIMES_S, strict=True):
        await asyncio.sleep(began + when - time.monotonic())
        event = json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]})
        piece = {"plain": text, "gzip": text, "lines": event + "\n"}.get(kind, f"data: {event}\n\n").encode()
        await response.write(gzip.compress(piece) if kind == "gzip" else piece)
    await response.write_eof()
    return response


def chunks_of(path: Path, kind: str, guess: str) -> list[Chunk]:
    """The pieces as they come over the wire, with their times since the head of the answer came."""
    message = {"role": "user", "content": f"{kind} {guess}"}
    body = json.dumps({"model": "small-1", "stream": True, "messages": [message]})
    target = "/v1/chat/completions" if kind == "model" else f"http://{HOST}/echo"
    host = "gateway" if kind == "model" else HOST
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(30)
        link.connect(str(path))
        link.sendall(
            f"POST {target} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        stream = link.makefile("rb")
        assert stream.readline().startswith(b"HTTP/1.1 200")
        began, found = time.monotonic(), list[Chunk]()
        while stream.readline() != b"\r\n":
            pass
        while (size := int(stream.readline(), 16)) > 0:
            found.append((time.monotonic() - began, stream.read(size)))
            stream.readline()
        return found


@pytest.fixture
def streams(run: Any, suite: Any) -> Callable[[str], dict[str, list[Chunk]]]:
    """The pieces of the streams of all guesses, which are made side by side."""

    def made(kind: str) -> dict[str, list[Chunk]]:
        found: dict[str, list[Chunk]] = {}

        def act(agent: Any) -> None:
            with ThreadPoolExecutor() as pool:
                found.update(
                    zip(GUESSES, pool.map(partial(chunks_of, agent.path, kind), GUESSES.values()), strict=True)
                )

        with served(echo, path="") as url:
            told = {
                "hosts": (HostSpec(host=HOST, base_url=url, disposable=True),),
                "model": ModelSpec(base_url=url, api_key="MODEL_KEY"),
            }
            chosen = suite.model_copy(update=told)
            run("live", act, suite=chosen, model_mode="live", secrets={"MODEL_KEY": KEY})
        return found

    return made


@pytest.mark.parametrize(
    "kind", ["sse", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("lines", "plain", "model"))]
)
def test_pieces_come_at_the_same_time_in_the_same_borders(streams, kind: str) -> None:
    found = streams(kind)
    assert [len(piece) for _, piece in found["unlike"]] == [len(piece) for _, piece in found["begins"]]
    told = b"".join(piece for _, piece in found["is"])
    assert b"<secret:MODEL_KEY>" in told
    assert [] == [part for part in (KEY[:10], KEY[10:20], KEY[20:]) if part.encode() in told]
    due = [min(when + WINDOW_S, TIMES_S[-1]) for when in TIMES_S]
    if kind == "plain":  # of two pieces of the key nothing is left
        del found["is"]
    for name, pieces in found.items():
        late = [came - when for (came, _), when in zip(pieces, due, strict=True)]
        assert all(-0.15 < one < 1 for one in late), (name, late)


@pytest.mark.slow
def test_what_came_compressed_has_no_borders(streams) -> None:
    """How well it was compressed tells whether a text occurs in it twice."""
    assert dict.fromkeys(GUESSES, 1) == {name: len(pieces) for name, pieces in streams("gzip").items()}
