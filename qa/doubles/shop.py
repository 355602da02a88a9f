"""A service for orders, over HTTP, that misbehaves on demand."""

import contextlib
import json
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class Shop:
    """A service that keeps one order a session, and misbehaves on demand."""

    url: str = ""
    orders: dict[str | None, list[Any]] = field(default_factory=dict)
    seen: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    """Every request: method, path with query, headers, body."""
    answer: tuple[int, dict[str, str], bytes] = (200, {}, b"{}")
    """What /answer gives."""
    number: int | None = None
    """The id that a new order gets; None: it is answered with the number of its lines."""
    resets: int = 0
    """How many of the next requests for /order get no answer."""
    opened: list[str] = field(default_factory=list)
    snapshots: list[str | None] = field(default_factory=list)
    """Of the openings: the case's own snapshot."""
    closed: list[str] = field(default_factory=list)
    services: Mapping[str, str] | None = None
    """What an opening gives; None: the shop's own address."""

    @contextlib.contextmanager
    def open(self, trial_id: str, snapshot: str | None = None) -> Iterator[Mapping[str, str]]:
        """A ServiceOpener: each opening begins with an empty order."""
        self.opened.append(trial_id)
        self.snapshots.append(snapshot)
        self.orders.clear()
        yield {"shop": self.url} if self.services is None else self.services
        self.closed.append(trial_id)


class ShopHandler(BaseHTTPRequestHandler):
    shop: Shop
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.shop.seen.append((self.command, self.path, dict(self.headers.items()), self.body))
        self.order = self.shop.orders.setdefault(self.headers.get("X-Order-Session"), [])
        routes: dict[str, Callable[[], None]] = {
            "/items": lambda: self.give(200, {"found": parse_qs(urlsplit(self.path).query).get("q", [])}),
            "/order": self.take_order,
            "/slow": self.be_slow,
            "/busy": lambda: self.be_slow(8),
            "/reset": self.reset,
            "/garbled": self.be_garbled,
            "/big": self.be_big,
            "/answer": lambda: self.give_bytes(*self.shop.answer),
        }
        routes.get(urlsplit(self.path).path, lambda: self.give(404, {"detail": "no such item"}))()

    def take_order(self) -> None:
        if self.shop.resets:
            self.shop.resets -= 1
            self.reset()
            return
        if self.command == "POST":
            try:
                self.order.append(json.loads(self.body))
            except ValueError:
                self.give(400, {"detail": "not JSON"})
                return
            number = self.shop.number
            self.give(200, {"lines": len(self.order)} if number is None else {"id": number})
        else:
            self.give(200, {"lines": self.order})

    def be_slow(self, for_s: float = 0.4) -> None:
        time.sleep(for_s)
        with contextlib.suppress(ConnectionError):
            self.give(200, {})

    def reset(self) -> None:
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def be_garbled(self) -> None:
        self.wfile.write(b"this is not http\r\n\r\n")
        self.close_connection = True

    def be_big(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        with contextlib.suppress(ConnectionError):
            for _ in range(20):
                self.wfile.write(b" " * 1024 * 1024)

    do_POST = do_PUT = do_DELETE = do_HEAD = do_GET

    def give(self, status: int, value: object) -> None:
        self.give_bytes(status, {"Content-Type": "application/json"}, json.dumps(value).encode())

    def give_bytes(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass
