"""Real HTTP servers of a handler, on a free port and their own threads."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class Answering(BaseHTTPRequestHandler):
    """A handler that prints nothing, and gives whole answers."""

    def sent(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def give(self, status: int, value: object, headers: Mapping[str, str] | None = None) -> None:
        """`value`: bytes, or what becomes JSON."""
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        told = {"Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})}
        for name, text in told.items():
            self.send_header(name, text)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        del format, args


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler], host: str = "127.0.0.1") -> Iterator[str]:
    """Its address."""
    with ThreadingHTTPServer((host, 0), handler) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://{host}:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
