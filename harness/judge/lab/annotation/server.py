"""The annotation page, served only to this machine.

It listens on 127.0.0.1, on a port of the system's choice. Every request carries the token of the printed address; the
Host header must name this machine, so that a page on the network cannot reach it under another name.
"""

import hmac
import json
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import parse_qs, urlsplit

from pydantic import ValidationError

from harness.documents import first_words
from harness.errors import HarnessError
from harness.judge.lab.annotation.annotation_queue import AnnotationQueue
from harness.judge.lab.annotation.page import page
from harness.judge.labels import PersonAnswer
from harness.values import Frozen

_MAX_BODY: Final = 64 * 1024
_JSON: Final = "application/json; charset=utf-8"


class AnswerBody(Frozen):
    """The body of the page's answer request."""

    answer: PersonAnswer
    note: str = ""


class AnnotationServer:
    """Serves from threads of its own while the context is entered; `finished` is set when the page reports the end."""

    def __init__(self, queue: AnnotationQueue, port: int = 0) -> None:
        self.queue = queue
        self.token = secrets.token_urlsafe(16)
        self.finished = threading.Event()
        self._http = _Http(("127.0.0.1", port), self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), name="annotation", daemon=True)

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        """The address that the annotator opens."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], owner: AnnotationServer) -> None:
        self.owner = owner
        super().__init__(address, _PageHandler)


class _PageHandler(BaseHTTPRequestHandler):
    """One request."""

    server: _Http
    server_version = "harness"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if not self._may_enter():
            return
        queue = self.server.owner.queue
        if path == "/":
            text, policy = page()
            self._send(200, text.encode(), "text/html; charset=utf-8", policy)
        elif path == "/api/queue":
            places = [place.model_dump() for place in queue.places()]
            about = {"rubric": queue.rubric.name, "annotator": queue.annotator.name, "role": queue.annotator.role}
            self._send_json(200, {**about, "places": places})
        elif (number := _number(path)) is not None:
            self._tried(lambda: queue.question(number))
        else:
            self._send_json(404, {"error": "no such page"})

    def do_POST(self) -> None:
        path = urlsplit(self.path).path
        if not self._may_enter():
            return
        body = self._body()
        if body is None:
            return
        if path == "/api/finish":
            self._send_json(200, {})
            self.server.owner.finished.set()
        elif (number := _number(path)) is not None:
            self._tried(lambda: self._answered(number, body))
        else:
            self._send_json(404, {"error": "no such page"})

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing, because the address contains the token."""

    def _answered(self, number: int, body: bytes) -> object:
        given = AnswerBody.model_validate_json(body)
        return self.server.owner.queue.answer(number, given.answer, given.note.strip()).model_dump()

    def _tried(self, action: Any) -> None:
        try:
            self._send_json(200, action())
        except ValidationError as error:
            self._send_json(400, {"error": ": ".join(filter(None, first_words(error)))})
        except HarnessError as error:
            self._send_json(409, {"error": error.message})

    def _may_enter(self) -> bool:
        owner = self.server.owner
        here = {f"127.0.0.1:{owner.port}", f"localhost:{owner.port}"}
        if self.headers.get("Host") not in here:
            self._send_json(403, {"error": "expected the host 127.0.0.1"})
            return False
        query = parse_qs(urlsplit(self.path).query)
        shown = self.headers.get("X-Token") or next(iter(query.get("token", [])), "")
        if not hmac.compare_digest(shown.encode(), owner.token.encode()):
            self._send_json(403, {"error": "missing or wrong token: open the complete printed address"})
            return False
        return True

    def _body(self) -> bytes | None:
        try:
            length = int(self.headers.get("Content-Length", "0"))
        except ValueError:
            length = -1
        if not 0 <= length <= _MAX_BODY:
            self._send_json(413, {"error": f"more than {_MAX_BODY} bytes"})
            return None
        return self.rfile.read(length)

    def _send_json(self, status: int, value: object) -> None:
        self._send(status, json.dumps(value).encode(), _JSON)

    def _send(self, status: int, body: bytes, kind: str, policy: str = "default-src 'none'") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", policy)
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(body)


def _number(path: str) -> int | None:
    last = path.removeprefix("/api/question/")
    return int(last) if last != path and last.isascii() and last.isdecimal() and len(last) < 9 else None
