"""A client that entered the app by its one-time link, as a browser does."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from harness.reports.pages.server import ViewServer


class Loopback(httpx.HTTPTransport):
    """Takes each name as this machine, as browsers do with names below `localhost`."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        here = httpx.Request(
            request.method,
            request.url.copy_with(host="127.0.0.1"),
            headers=request.headers,
            stream=request.stream,
            extensions=request.extensions,
        )
        return super().handle_request(here)


def unknown() -> httpx.Client:
    """A client without a session."""
    return httpx.Client(transport=Loopback(), follow_redirects=True, timeout=30)


@contextmanager
def entered(server: ViewServer) -> Iterator[httpx.Client]:
    with unknown() as client:
        client.base_url, client.headers["Origin"] = httpx.URL(server.address), server.address
        assert 200 == client.get(server.another_link()).status_code
        yield client
