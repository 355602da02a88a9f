"""A ClickHouse that sends its clients on to another origin: nothing is sent there, and nothing of it is taken."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from harness.production.clickhouse import ClickHouseUnavailable, Database
from harness.production.settings import ClickHouseSettings


@contextmanager
def _serving(came: list[str], sends_on_to: str | None = None, status: int = 307) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            came.append(self.path)
            self.send_response(200 if sends_on_to is None else status)
            if sends_on_to is not None:
                self.send_header("Location", sends_on_to + self.path)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_row_and_no_password_goes_where_a_redirect_leads(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    monkeypatch.setenv("CLICKHOUSE_PASSWORD_OF_TEST", "pass-0815-4711")
    came: dict[str, list[str]] = {"first": [], "other": []}
    with _serving(came["other"]) as other, _serving(came["first"], other, status) as first:
        settings = ClickHouseSettings(url=first, password_variable="CLICKHOUSE_PASSWORD_OF_TEST")
        with pytest.raises(ClickHouseUnavailable):
            Database(settings).do("INSERT INTO otel_traces VALUES (1)")
    assert came["first"]
    assert [] == came["other"]
