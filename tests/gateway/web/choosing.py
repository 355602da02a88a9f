"""A host that repeats everything which could have chosen its answer, and what HTTP clients send by themselves."""

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

CLIENTS = {
    "requests": {"User-Agent": "python-requests/2.32", "Accept": "*/*", "Accept-Encoding": "gzip, deflate"},
    "httpx": {"User-Agent": "python-httpx/0.28", "Accept": "*/*", "Accept-Encoding": "gzip, br, zstd"},
    "aiohttp": {"User-Agent": "Python/3.11 aiohttp/3.14", "Accept": "*/*", "Accept-Encoding": "gzip, deflate"},
    "urllib": {"User-Agent": "Python-urllib/3.11", "Accept-Encoding": "identity", "Connection": "keep-alive"},
    "undici": {"User-Agent": "node", "Accept": "*/*", "Accept-Language": "*", "Sec-Fetch-Mode": "cors"},
    "axios": {"User-Agent": "axios/1.7", "Accept": "application/json, text/plain, */*"},
    "java": {"User-Agent": "Java/21", "Accept": "*/*; q=1.0, text/plain"},
    "sdk": {"X-Stainless-Lang": "js", "X-Stainless-Retry-Count": "1", "amz-sdk-invocation-id": "5f", "X-Fern-SDK": "x"},
    "traced": {"Traceparent": "00-1-2-01", "Baggage": "a=1", "B3": "1-2", "X-B3-TraceId": "3", "X-Request-ID": "4"},
    "vendors": {"X-Contentful-User-Agent": "a", "x-amzn-RequestId": "b", "X-SDK-Name": "c", "sw8": "1", "TraceId": "1"},
    "raw": {},
}


class Choosing(http.server.BaseHTTPRequestHandler):
    """`?answer-NAME=VALUE` asks for a header of the answer."""

    protocol_version = "HTTP/1.1"
    server: "Server"

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode("latin-1")
        self.server.asked.append((self.command, self.path, dict(self.headers.items()), body))
        headers = {name.removeprefix("answer-"): values[0] for name, values in self.fields.items() if "answer-" in name}
        self.answer(200, json.dumps({"headers": dict(self.headers.items()), "body": body}).encode(), headers)

    def do_POST(self) -> None:
        self.do_GET()

    @property
    def fields(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.path).query)

    def answer(self, status: int, body: bytes, headers: dict[str, str] | list[tuple[str, str]]) -> None:
        self.send_response(status)
        pairs = list(headers.items()) if isinstance(headers, dict) else headers
        for name, value in [("Content-Type", "application/json"), ("Content-Length", str(len(body))), *pairs]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Server(http.server.ThreadingHTTPServer):
    def __init__(self, handler: type[Choosing]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.asked: list[tuple[str, str, dict[str, str], str]] = []
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.state: dict[str, Any] = {}


@contextmanager
def serving(handler: type[Choosing] = Choosing) -> Iterator[Server]:
    server = Server(handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
