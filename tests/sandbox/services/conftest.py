"""A project with one tiny service: it keeps lines, serves them, and dumps them sorted."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from harness.sandbox.environment import Environment, load_environment
from harness.sandbox.images.store import ImageStore
from harness.sandbox.snapshots import SnapshotStore

SERVICE = """
import http.server, pathlib, sys
kept = pathlib.Path("/tmp/kept")
source = pathlib.Path("/restore/lines.txt")
kept.write_bytes(source.read_bytes() if source.exists() else b"")
class Lines(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/add/"):
            kept.write_text(kept.read_text() + self.path[5:] + chr(10))
        content = kept.read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("0.0.0.0", 8000), Lines)
print("lines are served", flush=True)
server.serve_forever()
"""


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> ImageStore:
    store = ImageStore(tmp_path_factory.mktemp("project"))
    store.build("base")
    return store


@pytest.fixture
def shop(tmp_path: Path, images: ImageStore) -> Callable[..., tuple[Environment, SnapshotStore]]:
    """Writes an environment whose service has the given differences to the usual one."""

    def write(**changes: object) -> tuple[Environment, SnapshotStore]:
        service = {
            "image": "base",
            "port": 8000,
            "command": ["python3", "-u", "-c", SERVICE],
            "wait": {"http": "/"},
            "restore": "/restore/lines.txt",
            "dump": {"command": ["sort", "/tmp/kept"]},
            "timeout_s": 20,
        }
        folder = tmp_path / "images" / "shop"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "seed.txt").write_text("pear\napple\n")
        document = {
            "services": {"lines": {**service, **changes}},
            "states": {"open": {"services": {"lines": "seed.txt"}}, "closed": {}},
        }
        (folder / "environment.yaml").write_text(yaml.safe_dump(document))
        return load_environment(tmp_path, "shop"), SnapshotStore(tmp_path, images)

    return write
