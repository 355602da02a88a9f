"""A program that stands for a GitLab server: the notes of merge request 7 of project 42, and the token's user."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.serving import Answering

TOKEN = "glpat-0123456789abcdef"
OWN = 3


class GitlabServer(ThreadingHTTPServer):
    """Keeps the notes in their order; answers with `status` where one is set."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.notes: list[dict[str, Any]] = []
        self.status = 0
        self.writes: list[str] = []

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/api/v4"

    def environment(self) -> dict[str, str]:
        return {"CI_API_V4_URL": self.api, "CI_PROJECT_ID": "42", "HARNESS_GITLAB_TOKEN": TOKEN}

    def add(self, body: str, author: int = OWN) -> dict[str, Any]:
        self.notes.append({"id": 100 + len(self.notes), "body": body, "author": {"id": author}})
        return self.notes[-1]


class _Answering(Answering):
    server: GitlabServer

    def do_GET(self) -> None:
        if self._is_refused():
            return
        parts = urlsplit(self.path)
        if parts.path == "/api/v4/user":
            self._answer(200, {"id": OWN})
            return
        query = {name: int(values[0]) for name, values in parse_qs(parts.query).items() if name != "sort"}
        first = (query["page"] - 1) * query["per_page"]
        self._answer(200, self.server.notes[first : first + query["per_page"]])

    def do_POST(self) -> None:
        if not self._is_refused():
            self._answer(201, self.server.add(self._body()))

    def do_PUT(self) -> None:
        if not self._is_refused():
            (note,) = [one for one in self.server.notes if self.path.endswith(f"/{one['id']}")]
            note["body"] = self._body()
            self._answer(200, note)

    def _body(self) -> str:
        self.server.writes.append(self.command)
        sent = json.loads(self.sent())
        return str(sent["body"])

    def _is_refused(self) -> bool:
        status = self.server.status
        path = urlsplit(self.path).path
        if self.headers["PRIVATE-TOKEN"] != TOKEN:
            status = 401
        elif path != "/api/v4/user" and not path.startswith("/api/v4/projects/42/merge_requests/7/notes"):
            status = 404
        if status:
            self._answer(status, {"message": f"refused with {TOKEN}"})
        return bool(status)

    def _answer(self, status: int, content: Any) -> None:
        self.give(status, content, {"Location": "http://elsewhere.example.com/"} if 300 <= status < 400 else {})


@contextmanager
def gitlab_server() -> Iterator[GitlabServer]:
    with GitlabServer() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
