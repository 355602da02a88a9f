"""The model as a real HTTP server, its streams sent event by event."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from tests.suites.frameworks.model_server import chat, messages, responses
from tests.suites.frameworks.model_server.mind import Conversation, Decision, decide

_FORMATS: dict[str, ModuleType] = {"completions": chat, "responses": responses, "messages": messages}
Decide = Callable[[dict[str, Any], Conversation], Decision]


class ModelServer(ThreadingHTTPServer):
    """Listens at once; counts what was asked, and keeps the bodies in `log`. `decides`: who else thinks."""

    daemon_threads = True

    def __init__(self, port: int = 0, log: Path | None = None, decides: Decide | None = None) -> None:
        self.requests = 0
        self.streamed = 0
        self.log = log
        self.decides: Decide = decides or (lambda _, conversation: decide(conversation))
        super().__init__(("127.0.0.1", port), _Handler)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


@contextmanager
def running_model(decides: Decide | None = None) -> Iterator[ModelServer]:
    """The server on a free port, on a thread of its own."""
    with ModelServer(decides=decides) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer
    protocol_version = "HTTP/1.1"
    timeout = 60
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        form = _FORMATS.get(urlsplit(self.path).path.rpartition("/")[2])
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if form is None:
            self._send(404, {"error": {"type": "not_found", "message": f"there is no {self.path}"}})
            return
        self.server.requests += 1
        if self.server.log is not None:
            with self.server.log.open("a", encoding="utf-8") as log:
                log.write(json.dumps({"path": self.path, "body": body}) + "\n")
        conversation = form.read(body)
        decision = self.server.decides(body, conversation)
        if body.get("stream"):
            self.server.streamed += 1
            self._stream(form.stream(body, conversation, decision))
        else:
            self._send(200, form.reply(body, conversation, decision))

    def _send(self, status: int, answer: dict[str, Any]) -> None:
        content = json.dumps(answer).encode()
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, events: Iterator[tuple[str | None, Any]]) -> None:
        self.send_response_only(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for kind, data in events:
                told = data if isinstance(data, str) else json.dumps(data)
                line = (f"event: {kind}\n" if kind else "") + f"data: {told}\n\n"
                self.wfile.write(f"{len(line.encode()):x}\r\n{line}\r\n".encode())
            self.wfile.write(b"0\r\n\r\n")
        except ConnectionError:  # the agent has gone: its time was over
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""
