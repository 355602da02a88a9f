"""What a recorded program reads from its environment: keys, values, and where its interpreter is."""

import base64
import http.server
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from tests.cli.record.conftest import LOCAL
from tests.walks.conftest import Walk

KEY = "k3y/%41+of-the-shop"
PROGRAM = """
import base64, json, os, sys, urllib.parse, urllib.request

key = os.environ["SHOP_KEY"]


def ask(path, headers={}, body=None):
    request = urllib.request.Request(os.environ["SHOP_API"] + path, body, headers)
    with urllib.request.urlopen(request) as answer:
        print(answer.read().decode())


print(sys.argv[1], os.environ["SHOP_REGION"])
ask("/bearer", {"Authorization": "Bearer " + key})
ask("/basic", {"Authorization": "Basic " + base64.b64encode(b"me:" + key.encode()).decode()})
ask("/query?key=" + urllib.parse.quote(key, safe=""))
ask("/json", {"Content-Type": "application/json"}, json.dumps({"key": key}).encode())
ask("/form", {}, urllib.parse.urlencode({"key": key}).encode())
"""


class Shop(http.server.BaseHTTPRequestHandler):
    """Answers only who has the key, and says it back."""

    asked: list[str]

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        url, header = urlsplit(self.path), self.headers.get("Authorization", "")
        given = {
            "/bearer": header.removeprefix("Bearer "),
            "/basic": base64.b64decode(header.removeprefix("Basic ")).decode() if url.path == "/basic" else "",
            "/query": "".join(parse_qs(url.query).get("key", [])),
            "/json": json.loads(body)["key"] if url.path == "/json" else "",
            "/form": "".join(parse_qs(body).get("key", [])),
        }[url.path].removeprefix("me:")
        self.asked.append(url.path)
        said = json.dumps({"path": url.path, "key": given}).encode()
        self.send_response(200 if given == KEY else 401)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    do_POST = do_GET

    def do_HEAD(self) -> None:
        self.send_response(401)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        del format, args


@pytest.fixture
def shop() -> Iterator[str]:
    Shop.asked = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_key_reaches_the_api_and_no_file(walk: Walk, shop: str) -> None:
    (walk.folder / "shop.py").write_text(PROGRAM)
    env = {"SHOP_API": shop, "SHOP_KEY": KEY, "SHOP_REGION": "eu", "OTHER_KEY": "not-for-this-program", "HOST_X": "1"}
    said = walk("record", "--allow-writes", *LOCAL, "--", "python3", "shop.py", "all wares", env=env).stdout
    asked = list(Shop.asked)
    walk("run", *LOCAL, "--run-name", "again", "--fail-under", "task_success=1")
    without = walk("run", *LOCAL, "--live", "tools", status=2).stderr
    walk("run", *LOCAL, "--live", "tools", "--run-name", "live", "--fail-under", "task_success=1", env=env)
    suite = yaml.safe_load((walk.folder / "suites/shop/suite.yaml").read_text())

    assert "complete, and equal" in said
    assert ["/bearer", "/basic", "/query", "/json", "/form"] == asked
    assert 2 * asked == Shop.asked
    assert ["SHOP_KEY"] == suite["secrets"]
    assert {"SHOP_API": "http://shop-api.test", "SHOP_KEY": "${SHOP_KEY}", "SHOP_REGION": "eu"} == suite["agents"][
        "command"
    ]["env"]
    assert "SHOP_KEY is not set" in without
    forms = [KEY, base64.b64encode(f"me:{KEY}".encode()).decode(), "k3y%2F%2541%2Bof-the-shop"]
    files = [path.read_text(errors="replace") for path in walk.folder.rglob("*") if path.is_file()]
    assert [] == [form for form in forms for text in files if form in text]


def test_a_key_that_the_suite_does_not_declare_is_refused_before_any_trial(walk: Walk, shop: str) -> None:
    (walk.folder / "shop.py").write_text("import os\nprint(os.environ.get('SHOP_KEY'))\n")
    walk("record", *LOCAL, "--", "python3", "shop.py", "all wares", env={"SHOP_KEY": KEY})
    path = walk.folder / "suites/shop/suite.yaml"
    path.write_text(path.read_text().replace("secrets:\n- SHOP_KEY\n", ""))
    said = walk("run", *LOCAL, status=2).stderr

    assert "agent 'command': `env` uses ${SHOP_KEY}" in said
    assert "add SHOP_KEY to `secrets`" in said


@pytest.fixture
def active(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with a package that no other has; its folder of programs."""
    folder = tmp_path_factory.mktemp("machine") / "venv"
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text(f"home = {Path(sys.base_prefix) / 'bin'}\n")
    (folder / "bin/python").symlink_to(Path(sys.base_prefix) / "bin/python3")
    packages = folder / f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    packages.mkdir(parents=True)
    (packages / "own_sdk.py").write_text("NAME = 'own'\n")
    return folder / "bin"


def test_a_program_of_a_virtual_environment_is_found_where_another_machine_has_it(walk: Walk, active: Path) -> None:
    (walk.folder / "agent.py").write_text("import own_sdk, sys\nprint(own_sdk.NAME, sys.argv[1])\n")
    env = {"PATH": f"{active}:/usr/bin:/bin"}
    said = walk("record", "--", "python", "agent.py", "all wares", env=env).stdout
    moved = active.parent.with_name("elsewhere")
    active.parent.rename(moved)
    elsewhere = {"PATH": f"{moved / 'bin'}:/usr/bin:/bin"}
    walk("run", *LOCAL, "--fail-under", "task_success=1", env=elsewhere)
    typed = walk("record", "b", "--", f"{moved}/bin/python", "agent.py", "all wares", env=elsewhere).stdout
    refused = walk("record", "c", "--", f"{moved}/bin/python", "agent.py", "all wares", status=2).stderr

    assert "harness run --sandbox local" in said
    for name in ("agent", "b"):
        text = (walk.folder / f"suites/{name}/suite.yaml").read_text()
        assert "PATH" not in text
        assert str(moved.parent) not in text
    assert "complete, and equal" in typed
    assert f"`source {moved}/bin/activate`" in refused
