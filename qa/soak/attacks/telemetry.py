"""Requests that would hold the receiver of production, fill its store or pass for somebody else's."""

import asyncio
import gzip
import json
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from qa.soak.attacks.project import row_of
from qa.soak.rows import Row
from tests.production.receiving import Served, request, serving, span

WAITS_S = 1.0
"""A well-behaved sender's request beside an attack, and as many times as long as beside none as `_TIMES` says."""
_TIMES = 10
_HELD_TIMES = 2
"""So many times as long as beside no work waits the loop in which it is parsed: the control, on any machine."""
STORED_BYTES = 4 << 20
"""In the store after an attack that brings one record."""
_PROTOBUF = "application/x-protobuf"
_JSON = "application/json"


@dataclass(frozen=True, kw_only=True)
class Attack:
    body: Callable[[], bytes]
    kind: str = _PROTOBUF
    headers: tuple[tuple[str, str], ...] = ()
    parsed: bool = True
    """Whether the harm is in parsing it, as the control does."""


def _field(number: int, content: bytes) -> bytes:
    length, rest = b"", len(content)
    while rest >= 0x80:
        length, rest = length + bytes([rest & 0x7F | 0x80]), rest >> 7
    return bytes([number << 3 | 2]) + length + bytes([rest]) + content


_PLACES = {"attributes": (9,), "events": (11,), "links": (13,), "values": (9, 2, 5, 1)}
"""Fields of a span, from outside inwards, whose last one stands again and again."""


def _repeated(of: str, times: int) -> Callable[[], bytes]:
    def body() -> bytes:
        *around, last = _PLACES[of]
        content = _field(last, b"") * times
        for number in reversed(around):
            content = _field(number, content)
        span = _field(1, bytes(range(16))) + _field(2, bytes(range(8))) + content
        return gzip.compress(_field(1, _field(2, _field(2, span))), 1)

    return body


def _json(text: bytes) -> Callable[[], bytes]:
    return lambda: gzip.compress(text, 1)


_SPANS = b'{"resourceSpans":[{"scopeSpans":[{"spans":[%s]}]}]}'
_GZIP = (("Content-Encoding", "gzip"),)
ATTACKS = {
    **{
        f"protobuf, {times:,} {of}": Attack(body=_repeated(of, times), headers=_GZIP)
        for of in _PLACES
        for times in (990_000, 3_000_000)
    },
    "protobuf, records": Attack(body=_json(b"\x0a\x00" * 8_000_000), headers=_GZIP),
    "protobuf, unknown fields": Attack(body=_json(b"\x78\x01" * 8_000_000), headers=_GZIP, parsed=False),
    "JSON, objects": Attack(body=_json(_SPANS % b",".join([b"{}"] * 8_000_000)), kind=_JSON, headers=_GZIP),
    "JSON, lists": Attack(body=_json(_SPANS % b",".join([b"[]"] * 8_000_000)), kind=_JSON, headers=_GZIP),
    "JSON, nested": Attack(body=_json(_SPANS % (b"[" * 8_000_000)), kind=_JSON, headers=_GZIP, parsed=False),
    "JSON, a number of many digits": Attack(
        body=_json(_SPANS % (b'{"a":' + b"9" * 8_000_000 + b"}")), kind=_JSON, headers=_GZIP, parsed=False
    ),
    "JSON, texts of escapes": Attack(
        body=_json(_SPANS % (b'{"name":"' + b"\\ud800" * 4_000_000 + b'"}')), kind=_JSON, headers=_GZIP, parsed=False
    ),
    "gzip, a bomb": Attack(body=_json(bytes(1 << 30)), headers=_GZIP, parsed=False),
    "gzip, bytes behind it": Attack(body=lambda: gzip.compress(b"") + bytes(8_000_000), headers=_GZIP, parsed=False),
    "another host's name": Attack(
        body=lambda: json.dumps(request(span(1, 1))).encode(),
        kind=_JSON,
        headers=(("Host", "pages.example"),),
        parsed=False,
    ),
}


def rows(random: random.Random, scale: float) -> Iterator[Row]:
    names = list(ATTACKS) if scale >= 1 else random.sample(list(ATTACKS), max(3, round(len(ATTACKS) * scale)))
    yield _waiting(names)


def _waiting(names: list[str]) -> Row:
    """Each attack beside an honest sender: it is answered meanwhile, and the attack brings little."""
    wrong, longest = [], 0.0
    most = max(WAITS_S, _TIMES * _idle())
    with tempfile.TemporaryDirectory(prefix="attacked-", ignore_cleanup_errors=True) as kept:
        for number, name in enumerate(names):
            attack = ATTACKS[name]
            body = attack.body()
            with serving(Path(kept) / str(number)) as served:
                with _beside(served) as waits:
                    answered = served.post(
                        "/v1/traces", body, headers={"Content-Type": attack.kind, **dict(attack.headers)}
                    )
                longest = max(longest, *waits)
                if max(waits) > most:
                    wrong.append((name, f"another sender waits {max(waits):.1f} s"))
                if answered.status not in {200, 400, 403, 413}:
                    wrong.append((name, f"answered {answered.status}"))
                stored = sum(path.stat().st_size for path in served.folder.rglob("*") if path.is_file())
                if stored > STORED_BYTES:
                    wrong.append((name, f"{stored:,} bytes are stored"))
    said = f"another sender waits at most {longest:.2f} s"
    return row_of("telemetry: no request holds the receiver", len(names), wrong, _controls(names), said)


def _idle() -> float:
    """How long an honest sender waits on this machine now, beside nobody."""
    with tempfile.TemporaryDirectory(prefix="attacked-", ignore_cleanup_errors=True) as kept:
        with serving(Path(kept)) as served, _beside(served) as waits:
            time.sleep(2)
        return max(waits)


@contextmanager
def _beside(served: Served) -> Iterator[list[float]]:
    """How long each request of an honest sender took while the block ran."""
    ended, waits = threading.Event(), list[float]()

    def send() -> None:
        number = 0
        while not (ended.is_set() and waits):
            began, number = time.monotonic(), number + 1
            answer = served.post("/v1/traces", request(span(7, number)))
            assert answer.status == 200, answer
            waits.append(time.monotonic() - began)
            time.sleep(0.01)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield waits
    finally:
        ended.set()
        thread.join()


def _controls(names: list[str]) -> Iterator[str]:
    """Parsed in a loop of events as it is, each holds whoever waits for the loop."""
    alone = min(asyncio.run(_waited_in_a_loop(lambda: None)) for _ in range(5))
    for name in names:
        attack = ATTACKS[name]
        if not attack.parsed:
            continue
        text = gzip.decompress(attack.body())

        def parse(text: bytes = text, kind: str = attack.kind) -> None:
            json.loads(text) if kind == _JSON else ExportTraceServiceRequest.FromString(text)

        waited = asyncio.run(_waited_in_a_loop(parse))
        if waited < _HELD_TIMES * alone:
            yield f"{name}: parsed at once it holds nobody ({waited:.2f} s)"


async def _waited_in_a_loop(work: Callable[[], None]) -> float:
    began = time.monotonic()
    asyncio.get_running_loop().call_soon(work)
    await asyncio.sleep(0.005)
    return time.monotonic() - began
