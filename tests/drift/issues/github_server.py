"""The few routes of GitHub's API that are used, over real HTTP: pages, rate limits, failures on cue."""

import json
import re
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "ghp_onlyForThisTest0123456789"
REPO = "acme/agents"
PAGE = 3
"""Small, whatever the client asks for, so that lists have pages."""

Fault = Callable[["Answering"], bool]
"""Gives True where it answered, or broke off, in place of the route."""


class Answering(BaseHTTPRequestHandler):
    server: "GithubServer"
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body leave together: apart they wait for each other, 40 ms a request
    disable_nagle_algorithm = True

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.sent = json.loads(body) if body else {}
        with self.server.lock:
            self.server.requests.append((time.monotonic(), self.command, self.path))
            fault = next((one for one in self.server.faults if one.wants(self.command, self.path)), None)
        if fault is not None and fault.act(self):
            return
        if self.headers.get("Authorization") not in (f"token {TOKEN}", f"Bearer {TOKEN}"):
            self.answer(401, {"message": "Bad credentials"})
            return
        with self.server.lock:
            status, content, headers = self.server.route(self.command, self.path, self.sent)
        self.answer(status, content, headers)

    do_GET = do_POST = do_PATCH = _serve

    def answer(self, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
        self.answer_text(status, json.dumps(content), headers)

    def answer_text(self, status: int, content: str, headers: dict[str, str] | None = None) -> None:
        text = content.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        pass


class When:
    """A fault for the requests that fit, the first `skip` of them spared, `times` times over."""

    def __init__(self, method: str, path: str, act: Fault, *, times: int = 1, skip: int = 0) -> None:
        self._method, self._path, self._act = method, re.compile(path), act
        self._left, self._skip = times, skip

    def wants(self, method: str, path: str) -> bool:
        if method != self._method or not self._path.search(path) or not self._left:
            return False
        if self._skip:
            self._skip -= 1
            return False
        self._left -= 1
        return True

    def act(self, answering: Answering) -> bool:
        return self._act(answering)


def says(status: int, message: str, headers: dict[str, str] | None = None) -> Fault:
    def act(answering: Answering) -> bool:
        answering.answer(status, {"message": message}, headers)
        return True

    return act


def sends(status: int, body: str, headers: dict[str, str] | None = None) -> Fault:
    """A body as it is, which may be empty or no JSON."""

    def act(answering: Answering) -> bool:
        answering.answer_text(status, body, headers)
        return True

    return act


def hangs(answering: Answering) -> bool:
    """Until the server ends."""
    answering.close_connection = True
    answering.server.ended.wait(120)
    return True


def dies_after_doing(without_labels: bool = False) -> Fault:
    """The work is done, and the connection breaks before the answer."""

    def act(answering: Answering) -> bool:
        sent = {**answering.sent, "labels": []} if without_labels else answering.sent
        with answering.server.lock:
            answering.server.route(answering.command, answering.path, sent)
        answering.close_connection = True
        return True

    return act


def drops_labels(answering: Answering) -> bool:
    """As GitHub does where the token may not label: no error, no labels."""
    with answering.server.lock:
        done = answering.server.route(answering.command, answering.path, {**answering.sent, "labels": []})
    answering.answer(*done)
    return True


class GithubServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.lock = threading.RLock()
        self.ended = threading.Event()
        self.requests: list[tuple[float, str, str]] = []
        self.faults: list[When] = []
        self.issues: list[dict[str, Any]] = []
        self.comments: dict[int, list[dict[str, Any]]] = {}
        self.login = "bot"
        """Whose token it is."""
        self.is_app = False
        """Whether the token is one of an app, as in a workflow: such a token has no user."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> "GithubServer":
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.shutdown()
        self.server_close()
        self._thread.join()

    def writes(self) -> list[tuple[float, str, str]]:
        return [one for one in self.requests if one[1] != "GET"]

    def label(self, number: int, *names: str) -> None:
        self.issues[number - 1]["labels"] += [_label(name) for name in names]

    def route(self, method: str, path: str, sent: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        url = urlsplit(path)
        if url.path in ("/user", "/graphql"):
            refused = self.is_app and url.path == "/user"
            known = {**_user(self.login), "data": {"viewer": {"login": self.login}}}
            return (403, {"message": "Resource not accessible"}, {}) if refused else (200, known, {})
        found = re.fullmatch(rf"/repos/{REPO}/issues(?:/(\d+)(?:/(comments|labels))?|/comments/(\d+))?", url.path)
        if found is None:
            return 404, {"message": "Not Found"}, {}
        number, part, comment = found.groups()
        if comment:
            return self._edit_comment(int(comment), sent)
        if number is None:
            return self._list(path) if method == "GET" else self._create(sent)
        if int(number) > len(self.issues):
            return 404, {"message": "Not Found"}, {}
        return self._one(method, int(number), part, sent, path)

    def _one(self, method: str, number: int, part: str | None, sent: Any, path: str) -> tuple[int, Any, dict[str, str]]:
        issue = self.issues[number - 1]
        if part == "labels":
            have = {label["name"] for label in issue["labels"]}
            issue["labels"] += [_label(name) for name in sent if name not in have]
            return 200, issue["labels"], {}
        if part == "comments" and method == "GET":
            return self._paged(self.comments[number], path)
        if part == "comments":
            place = len([one for each in self.comments.values() for one in each]) + 1
            made = {"id": place, "body": sent["body"], "url": f"{self.url}/repos/{REPO}/issues/comments/{place}",
                    "html_url": f"{self.url}/c/{place}", "user": _user(self.login)}  # fmt: skip
            self.comments[number].append(made)
            return 201, made, {}
        if method == "PATCH":
            issue.update(sent)
            issue["closed_at"] = _now() if issue["state"] == "closed" else None
            issue["updated_at"] = _now()
        return 200, issue, {}

    def _create(self, sent: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        number = len(self.issues) + 1
        issue = {
            "number": number, "id": number, "title": sent["title"], "body": sent.get("body"), "state": "open",
            "state_reason": None, "labels": [_label(name) for name in sent.get("labels", [])], "closed_at": None,
            "created_at": _now(), "updated_at": _now(), "author_association": "MEMBER", "pull_request": None,
            "user": {"login": "bot", "id": 1, "type": "Bot", "url": f"{self.url}/users/bot"},
            "url": f"{self.url}/repos/{REPO}/issues/{number}", "html_url": f"{self.url}/{REPO}/issues/{number}",
        }  # fmt: skip
        self.issues.append(issue)
        self.comments[number] = []
        return 201, issue, {}

    def _edit_comment(self, place: int, sent: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        found = next(one for each in self.comments.values() for one in each if one["id"] == place)
        found["body"] = sent["body"]
        return 200, found, {}

    def _list(self, path: str) -> tuple[int, Any, dict[str, str]]:
        query = parse_qs(urlsplit(path).query)
        wanted = set(query["labels"][0].split(",")) if "labels" in query else set()
        listed = []
        for issue in self.issues:
            names = {label["name"] for label in issue["labels"]}
            if wanted <= names and query.get("state") in (["all"], [issue["state"]]):
                listed.append(issue)
        if query.get("direction") == ["desc"]:
            listed.reverse()
        return self._paged(listed, path)

    def _paged(self, listed: list[Any], path: str) -> tuple[int, Any, dict[str, str]]:
        url = urlsplit(path)
        query = parse_qs(url.query)
        page = int(query.get("page", ["1"])[0])
        others = "&".join(f"{name}={value[0]}" for name, value in query.items() if name != "page")
        more = f'<{self.url}{url.path}?{others}&page={page + 1}>; rel="next"'
        headers = {"Link": more} if page * PAGE < len(listed) else {}
        return 200, listed[(page - 1) * PAGE : page * PAGE], headers


def _user(login: str) -> dict[str, Any]:
    return {"login": login, "id": 1, "type": "Bot", "url": f"http://127.0.0.1/users/{login}"}


def _label(name: str) -> dict[str, Any]:
    return {"name": name, "id": 1, "color": "ededed", "url": "http://127.0.0.1/label"}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
