"""`harness drift probe`: reads after writes, sent to a sealed service that is restored from its snapshot."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.drift.conftest import Project, told
from tests.drift.shop import Shop
from tests.drift.test_after_writes import AGENT_OF_IDS, CASES, TOOLS

pytestmark = [pytest.mark.docker, pytest.mark.slow]

SERVICE = """
import http.server, json, pathlib, uuid
orders = json.loads(pathlib.Path("/restore/orders.json").read_text())
class Orders(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path.removeprefix("/orders").strip("/")
        self.give({"count": len(orders)} if not name else orders.get(name))
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/orders":
            name = uuid.uuid4().hex
            orders[name] = {"id": name, "paid": False}
        else:
            name = body["id"]
            orders[name]["paid"] = PAID
        self.give({"id": name})
    def give(self, value):
        content = json.dumps(value).encode()
        self.send_response(404 if value is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("0.0.0.0", 8000), Orders).serve_forever()
"""


def release(project: Project, paid: str) -> None:
    """Writes the environment; `paid`: what the service answers after a payment, as Python."""
    service: dict[str, Any] = {
        "image": "base",
        "port": 8000,
        "command": ["python3", "-u", "-c", SERVICE.replace("PAID", paid)],
        "wait": {"http": "/orders"},
        "restore": "/restore/orders.json",
        "dump": {"command": ["cat", "/restore/orders.json"]},
    }
    folder = project.folder / "images" / "shop"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "seed.json").write_text('{"first": {"id": "first", "paid": true}}')
    state = {"services": {"orders": "seed.json"}}
    document = {"image": "base", "services": {"orders": service}, "states": {"open": state}}
    (folder / "environment.yaml").write_text(yaml.safe_dump(document))
    project.type("snapshot", "build", "shop", "open")


def test_reads_after_writes_are_probed_at_a_restored_service(tmp_path: Path) -> None:
    project = Project(tmp_path, Shop())
    project.write(CASES, TOOLS, servers={"shop": {"service": "orders"}}, environment="shop", snapshot="open")
    (project.suite / "agent" / "agent.py").write_text(AGENT_OF_IDS)
    suite = json.loads((project.suite / "suite.yaml").read_text())
    suite["agents"]["a"]["command"][0] = "python3"
    (project.suite / "suite.yaml").write_text(json.dumps(suite))
    release(project, "True")
    project.type("run", "s", "--live", "tools,record", "--run-name", "recorded")

    report = project.probe()
    assert ([], []) == (told(report), told(report, "unconfirmed"))
    assert (4, 3, 1, {}) == tuple(report[name] for name in ("compared", "after_writes", "restores", "not_asked"))

    release(project, "'2026-01-01'")
    report = project.probe(status=1)
    assert [("get_order", "schema.type_changed", "paid", "boolean -> string")] == told(report)
    assert [] == told(report, "unconfirmed")
    assert (3, 1) == (report["after_writes"], report["restores"])


def test_reads_of_a_case_with_a_snapshot_of_its_own_are_probed_at_that_snapshot(tmp_path: Path) -> None:
    project = Project(tmp_path, Shop())
    read = ["get_order", {"id": "first"}]
    cases = {"own": [read, ["order", {"item": 1}], ["count_orders", {}]], "plain": [read]}
    project.write(cases, TOOLS, servers={"shop": {"service": "orders"}}, environment="shop", snapshot="open")
    (project.suite / "agent" / "agent.py").write_text(AGENT_OF_IDS)
    suite = json.loads((project.suite / "suite.yaml").read_text())
    suite["agents"]["a"]["command"][0] = "python3"
    (project.suite / "suite.yaml").write_text(json.dumps(suite))
    listed = json.loads((project.suite / "cases.json").read_text())
    (project.suite / "cases.json").write_text(json.dumps([{**listed[0], "snapshot": "unpaid"}, listed[1]]))
    release(project, "True")
    folder = project.folder / "images" / "shop"
    (folder / "unpaid.json").write_text('{"first": {"id": "first", "paid": null}, "second": {"id": "second"}}')
    document = yaml.safe_load((folder / "environment.yaml").read_text())
    document["states"]["unpaid"] = {"services": {"orders": "unpaid.json"}}
    (folder / "environment.yaml").write_text(yaml.safe_dump(document))
    project.type("snapshot", "build", "shop", "unpaid")
    project.type("run", "s", "--live", "tools,record", "--run-name", "recorded")

    report = project.probe()
    assert ([], []) == (told(report), told(report, "unconfirmed"))
    assert (3, 1, {}) == tuple(report[name] for name in ("compared", "after_writes", "not_asked"))
