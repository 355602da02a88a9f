"""A real HTTP service whose answers a test changes as a new release would."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answers = dict[str, Any]
"""`METHOD /path?query` -> the answer: a JSON value, a function that gives one, or `(status, value)`."""


@dataclass
class Shop:
    """What it answers, and what it was asked."""

    answers: Answers = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    url: str = ""
    media: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)

    def answer(self, asked: str) -> tuple[int, bytes]:
        self.asked.append(asked)
        found = self.answers.get(asked, (404, {"error": "not found"}))
        found = found() if callable(found) else found
        status, value = found if isinstance(found, tuple) else (200, found)
        return status, value if isinstance(value, bytes) else json.dumps(value).encode()


@contextmanager
def open_shop(answers: Answers) -> Iterator[Shop]:
    shop = Shop(answers=answers)

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", "0")))
            status, body = shop.answer(f"{self.command} {self.path}")
            self.send_response(status)
            self.send_header("content-type", shop.media)
            for name, value in shop.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = handle_any

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    shop.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield shop
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
