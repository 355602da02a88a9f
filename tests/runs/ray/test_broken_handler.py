"""A handler of the gateway that raises on a node: its own trial is not scored, and the run goes on and is resumed."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.cli.failing import unwritable_suite
from tests.runs.ray.conftest import RayCluster
from tests.walks.conftest import Walk, WriteSuite

pytestmark = [pytest.mark.docker, pytest.mark.slow]


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(b"{}")

    do_HEAD = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""


@contextmanager
def shop(host: str) -> Iterator[str]:
    """An address that every node reaches."""
    with ThreadingHTTPServer((host, 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://{host}:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_the_run_goes_on_and_is_resumed(
    walk: Walk, write_suite: WriteSuite, cluster: RayCluster, tmp_path_factory
) -> None:
    flag = tmp_path_factory.mktemp("flag") / "break"
    flag.touch()
    ray = ("--executor", "ray")
    with shop(cluster.host) as url:
        write_suite(*unwritable_suite(url, flag))
        run = ("run", "s", *ray, "--sandbox", "local", "--live", "tools", "--jobs", "1", "--run-name", "r")
        told = walk.summary(*run, status=3)
        assert (2, 1) == (told["counts"]["finished"], told["counts"]["harness_failed"])
        assert "the gateway failed" in walk.trial("r", "breaks")["reason"]

        flag.unlink()
        told = walk.summary("run", "--resume", "r", *ray)
    assert (3, 0) == (told["counts"]["finished"], told["counts"]["harness_failed"])
