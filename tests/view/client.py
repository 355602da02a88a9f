"""A client that entered the app by its one-time link, as a browser does."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from harness.reports.pages.server import ViewServer


@contextmanager
def entered(server: ViewServer) -> Iterator[httpx.Client]:
    headers = {"Origin": server.address}
    with httpx.Client(base_url=server.address, headers=headers, follow_redirects=True, timeout=30) as client:
        assert 200 == client.get(server.another_link()).status_code
        yield client
