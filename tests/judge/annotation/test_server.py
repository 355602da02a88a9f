"""The page's server: this machine alone, with the key, and every answer written."""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.judge.lab.annotation import AnnotationServer
from tests.judge.annotation_work import queue, work


@pytest.fixture
def server(tmp_path: Path) -> Iterator[AnnotationServer]:
    with AnnotationServer(queue(tmp_path, "ann", work("a"))) as own:
        yield own


def _asked(
    server: AnnotationServer, method: str, path: str, body: object = None, **headers: str
) -> tuple[int, Any, http.client.HTTPMessage]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    given = {"X-Token": server.token} | {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, None if body is None else json.dumps(body), given)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    told = json.loads(text) if "json" in response.headers["Content-Type"] else text
    return response.status, told, response.headers


def test_the_printed_address_opens_the_page_that_may_run_only_itself(server: AnnotationServer) -> None:
    assert server.url.startswith("http://127.0.0.1:")
    status, text, headers = _asked(server, "GET", f"/?token={server.token}", X_Token="")
    assert (200, True) == (status, "<title>Annotate</title>" in text)
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "no-store" == headers["Cache-Control"]


@pytest.mark.parametrize("path", ["/", "/api/queue", "/api/question/0"])
@pytest.mark.parametrize("key", ["", "wrong", "wröng"])
def test_without_the_key_there_is_nothing_to_see(server: AnnotationServer, path: str, key: str) -> None:
    status, told, _ = _asked(server, "GET", path, X_Token=key.encode("utf-8").decode("latin-1"))
    assert (403, ["error"]) == (status, list(told))


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1.evil.example:80"])
def test_a_page_of_the_network_cannot_come_under_another_name(server: AnnotationServer, host: str) -> None:
    assert 403 == _asked(server, "GET", "/api/queue", Host=host)[0]
    assert 403 == _asked(server, "POST", "/api/question/0", {"answer": "pass"}, Host=host)[0]


def test_an_answer_is_written_before_it_is_acknowledged(server: AnnotationServer, tmp_path: Path) -> None:
    status, label, _ = _asked(server, "POST", "/api/question/0", {"answer": "fail", "note": " no tea "})
    assert (200, "fail", "no tea") == (status, label["answer"], label["note"])
    assert "no tea" in (tmp_path / "labels.jsonl").read_text()
    _, queue, _ = _asked(server, "GET", "/api/queue")
    assert ["fail", None] == [place["answer"] for place in queue["places"]]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/question/0", {"answer": "maybe"}, 400),
        ("/api/question/0", {"answer": "pass", "by": "somebody"}, 400),
        ("/api/question/0", [1], 400),
        ("/api/question/0", {"answer": "not_eligible"}, 409),
        ("/api/question/7", {"answer": "pass"}, 409),
        ("/api/question/-1", {"answer": "pass"}, 404),
        ("/api/question/x", {"answer": "pass"}, 404),
        ("/elsewhere", {}, 404),
        ("/api/question/0", {"answer": "pass", "note": "x" * 70_000}, 413),
    ],
)
def test_what_cannot_be_an_answer_is_refused_and_writes_nothing(
    server: AnnotationServer, tmp_path: Path, path: str, body: object, status: int
) -> None:
    found, told, _ = _asked(server, "POST", path, body)
    assert (status, True) == (found, bool(told["error"]))
    assert not (tmp_path / "labels.jsonl").exists()


def test_a_label_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    one = queue(tmp_path, "ann", work("a"))
    (tmp_path / "labels.jsonl").mkdir()
    with AnnotationServer(one) as server:
        status, told, _ = _asked(server, "POST", "/api/question/0", {"answer": "pass"})
    assert (409, True) == (status, "labels.jsonl" in told["error"])


def test_the_page_says_when_it_is_done(server: AnnotationServer) -> None:
    assert not server.finished.is_set()
    assert 200 == _asked(server, "POST", "/api/finish", {})[0]
    assert server.finished.wait(60)
