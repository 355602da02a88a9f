"""A ClickHouse that sends its clients on to another origin: nothing is sent there, and nothing of it is taken."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from harness.production.clickhouse import ClickHouseUnavailable, Database
from harness.production.settings import ClickHouseSettings
from tests.serving import Answering, listening


@contextmanager
def _serving(came: list[str], sends_on_to: str | None = None, status: int = 307) -> Iterator[str]:
    class Handler(Answering):
        def do_POST(self) -> None:
            self.sent()
            came.append(self.path)
            if sends_on_to is None:
                self.give(200, b"")
            else:
                self.give(status, b"", {"Location": sends_on_to + self.path})

        do_GET = do_POST

    with listening(Handler) as address:
        yield address


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
