"""The HTTP side: routes, carts kept apart by the header X-Shopping-Session, every failure a JSON object.

No answer holds a time, a random id or the session, so equal histories give equal bytes.
"""

import json
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from grocery_service.refusal import Refusal
from grocery_service.requests import limit_of, line_of, search_of, words_of
from grocery_service.store import Store

_MAX_BODY_BYTES = 65_536
_ROUTES = {
    ("health",): {"GET"},
    ("openapi.json",): {"GET"},
    ("stores",): {"GET"},
    ("products",): {"GET"},
    ("products", "*", "substitutes"): {"GET"},
    ("recipes",): {"GET"},
    ("shoppers", "*", "preferences"): {"GET"},
    ("shoppers", "*", "orders"): {"GET"},
    ("cart",): {"GET"},
    ("cart", "items"): {"POST", "PUT"},
    ("cart", "order"): {"POST"},
}


class GroceryServer(ThreadingHTTPServer):
    """A server of one store; `server_port` is where it listens."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, host: str, port: int, store: Store) -> None:
        self.store = store
        self.description = (Path(__file__).parent / "openapi.json").read_bytes()
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        # HTTPServer would ask the resolver for this machine's name, which can take seconds without a network.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])


class _Handler(BaseHTTPRequestHandler):
    server: GroceryServer
    protocol_version = "HTTP/1.1"
    timeout = 60
    # Head and body leave in one packet: in two they meet Nagle and a delayed acknowledgement, 40 ms a call.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def do_PATCH(self) -> None:
        self._answer()

    def do_DELETE(self) -> None:
        self._answer()

    def _answer(self) -> None:
        try:
            body = self._body()
            url = urlsplit(self.path)
            parts = [unquote(part) for part in url.path.strip("/").split("/")]
            self._permit(url.path, parts)
            self._send(
                HTTPStatus.OK, self._read(parts, url.query) if self.command == "GET" else self._write(parts, body)
            )
        except Refusal as refusal:
            self._send(refusal.status, {"error": refusal.error})

    def _permit(self, path: str, parts: list[str]) -> None:
        known = tuple("*" if place == 1 and len(parts) == 3 else part for place, part in enumerate(parts))
        if known not in _ROUTES:
            raise Refusal(404, "unknown_path", f"there is no {path}")
        if self.command not in _ROUTES[known]:
            raise Refusal(405, "wrong_method", f"{path} takes {', '.join(sorted(_ROUTES[known]))}")

    def _read(self, parts: list[str], query: str) -> dict[str, Any] | bytes:
        store = self.server.store
        match parts:
            case ["health"]:
                return {"status": "ok"}
            case ["openapi.json"]:
                return self.server.description
            case ["cart"]:
                return store.cart(self._session())
            case ["shoppers", shopper_id, kept]:
                return _of_shopper(store, shopper_id, kept, query)
            case _:
                return _of_catalogue(store, parts, query)

    def _write(self, parts: list[str], body: bytes) -> dict[str, Any]:
        store = self.server.store
        if parts == ["cart", "order"]:
            return store.place(self._session())
        if self.command == "PUT":
            return store.set_quantity(self._session(), line_of(body, 0))
        return store.add(self._session(), line_of(body, 1))

    def _session(self) -> str:
        session = self.headers.get("X-Shopping-Session", "default").strip()
        if not 1 <= len(session) <= 200:
            raise Refusal(400, "invalid_session", "X-Shopping-Session has 1 to 200 characters")
        return session

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "0")
        if self.headers.get("Transfer-Encoding") or not (length.isascii() and length.isdigit()):
            self.close_connection = True
            raise Refusal(411, "length_required", "a body needs a Content-Length")
        if len(length) > 9 or int(length) > _MAX_BODY_BYTES:
            self.close_connection = True
            raise Refusal(413, "too_large", f"a body has at most {_MAX_BODY_BYTES} bytes")
        return self.rfile.read(int(length))

    def _send(self, status: int, content: dict[str, Any] | bytes) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content, ensure_ascii=False).encode()
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what crosses is in the harness's trace."""


def _of_shopper(store: Store, shopper_id: str, kept: str, query: str) -> dict[str, Any]:
    return store.preferences(shopper_id) if kept == "preferences" else store.orders(shopper_id, limit_of(query))


def _of_catalogue(store: Store, parts: list[str], query: str) -> dict[str, Any]:
    match parts:
        case ["stores"]:
            return store.stores()
        case ["recipes"]:
            return store.recipes(words_of(query))
        case ["products"]:
            return store.products(*search_of(query))
        case _:
            return store.substitutes(parts[1])
