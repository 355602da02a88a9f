"""A receiver in its own thread, and requests to it: the real one, over HTTP."""

import asyncio
import gzip
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.production.receiver import AccessTokens, Receiver, ReceiverOptions
from harness.production.storage import StoreLayout
from harness.production.store import SessionStore

TRUSTED = "trusted-token-0123456789"


@dataclass
class Served:
    """A running receiver; `post` sends to it."""

    folder: Path
    receiver: Receiver
    url: str
    loop: asyncio.AbstractEventLoop

    def post(
        self, path: str, body: bytes | dict[str, Any], *, headers: Mapping[str, str] | None = None, zipped: bool = False
    ) -> "Answer":
        told = {"Content-Type": "application/x-protobuf"}
        if isinstance(body, dict):
            body, told = json.dumps(body).encode(), {"Content-Type": "application/json"}
        if zipped:
            body, told = gzip.compress(body), {**told, "Content-Encoding": "gzip"}
        request = urllib.request.Request(f"{self.url}{path}", data=body, headers={**told, **(headers or {})})
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return Answer(response.status, response.read(), dict(response.headers))
        except urllib.error.HTTPError as error:
            return Answer(error.code, error.read(), dict(error.headers))

    def maintain(self) -> None:
        asyncio.run_coroutine_threadsafe(self.receiver.maintain(), self.loop).result(60)

    def store(self) -> SessionStore:
        return SessionStore.open(self.folder)


@dataclass
class Answer:
    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@contextmanager
def serving(folder: Path, tokens: AccessTokens | None = None, **options: Any) -> Iterator[Served]:
    """A receiver over the store in `folder`."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def make() -> tuple[Receiver, str]:
        settings = ReceiverOptions(port=0, **options)
        receiver = Receiver(StoreLayout(folder), settings, tokens or AccessTokens({}, {"harness": TRUSTED}), {})
        return receiver, await receiver.start()

    try:
        receiver, url = asyncio.run_coroutine_threadsafe(make(), loop).result(30)
        try:
            yield Served(folder, receiver, url, loop)
        finally:
            asyncio.run_coroutine_threadsafe(receiver.close(), loop).result(60)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def span(trace: int, number: int, **more: Any) -> dict[str, Any]:
    """A span in OTLP JSON; `attributes` as a plain object."""
    attributes = [{"key": key, "value": _value(value)} for key, value in more.pop("attributes", {}).items()]
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{trace * 1000 + number:016x}",
        "name": f"span {number}",
        "startTimeUnixNano": str(1_700_000_000_000_000_000 + number * 1000),
        "endTimeUnixNano": str(1_700_000_000_000_000_500 + number * 1000),
        "attributes": attributes,
        **more,
    }


def request(*spans: dict[str, Any], resource: dict[str, Any] | None = None) -> dict[str, Any]:
    told = [{"key": key, "value": _value(value)} for key, value in (resource or {}).items()]
    return {"resourceSpans": [{"resource": {"attributes": told}, "scopeSpans": [{"spans": list(spans)}]}]}


def _value(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case _:
            return {"stringValue": value}
