"""Servers that are down in a live run: never the agent's failure, told by name, and the run does not go on for long."""

import json
import socket
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from harness.runs.store.folder import RunFolder
from harness.traces.trial import Trial
from tests.drift.conftest import TOOLS, Project
from tests.drift.shop import Shop
from tests.serving import Answering

CASES: dict[str, list[list[Any]]] = {f"c{number}": [["get_item", {"id": number}]] for number in range(1, 7)}


class Flaky:
    """A shop on a port of its own that answers, loses connections, or cannot be connected to."""

    def __init__(self) -> None:
        self.losing = False
        self.loses_items = False
        self.writes = 0
        self.resets: list[tuple[str, str | None]] = []
        self.reset_status = 200
        self._server = _serve(self)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def stop(self) -> None:
        """Nothing listens on the port any more."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(Answering):
    shop: Flaky

    def do_HEAD(self) -> None:
        self.give(200, {})

    def do_GET(self) -> None:
        if self.shop.losing or (self.shop.loses_items and self.path.startswith("/items")):
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self.give(200, {"id": 1, "orders": self.shop.writes})

    def do_POST(self) -> None:
        self.sent()
        if self.path == "/reset":
            self.shop.resets.append((self.path, self.headers.get("Authorization")))
            self.shop.writes = 0
            self.give(self.shop.reset_status, {})
        else:
            self.shop.writes += 1
            self.give(200, {"orders": self.shop.writes})


def _serve(shop: Flaky) -> ThreadingHTTPServer:
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"shop": shop}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.fixture
def flaky() -> Iterator[Flaky]:
    shop = Flaky()
    yield shop
    shop.stop()


@pytest.fixture
def project(tmp_path: Path, flaky: Flaky) -> Project:
    project = Project(tmp_path, Shop(url=flaky.url))
    project.write(CASES)
    return project


def server_of(project: Project, **more: Any) -> dict[str, Any]:
    return {"shop": {"base_url": project.shop.url, "disposable": True, **more}}


def counts(project: Project, run: str, *words: str, status: int) -> dict[str, Any]:
    printed = project.live(run, "--json", "--jobs", "1", *words, status=status)
    summary: dict[str, Any] = json.loads(printed[printed.index("{\n") :])
    return summary


def trials(project: Project, run: str) -> list[Trial]:
    return [stored.trial for stored in RunFolder.open(project.folder / "runs" / run).trials()]


def test_a_server_that_is_down_is_refused_before_the_first_trial(project: Project, flaky: Flaky) -> None:
    flaky.stop()

    said = project.live("r", status=3)

    assert "server 'shop'" in said
    assert project.shop.url in said
    assert not (project.folder / "runs" / "r").exists()


def test_a_model_that_is_down_is_refused_before_the_first_trial(project: Project, flaky: Flaky) -> None:
    flaky.stop()
    project.write({"c1": []}, tools=[], servers={}, model={"base_url": flaky.url})

    said = project.live("r", "--live", "model", status=3)

    assert "model provider 'openai'" in said


@pytest.mark.parametrize("kind", ["model", "logged"])
def test_a_model_of_the_users_that_is_down_is_refused_before_the_first_trial(
    project: Project, flaky: Flaky, kind: str
) -> None:
    asked = {"model": "user-1", "base_url": flaky.url, "mode": "live"}
    (project.suite / "log.yaml").write_text("turns:\n- {user: Buy item 1., agent: Done.}\n")
    project.write(CASES, tools=[], servers={}, user={**asked, "entailment": asked})
    cases = project.suite / "cases.json"
    own = {"model": {"kind": "model"}, "logged": {"kind": "logged", "log": "log.yaml"}}[kind]
    cases.write_text(
        json.dumps([{"id": "c1", "task": "Buy item 1.", "user": own}, {"id": "c2", "task": '[["none", {}]]'}])
    )
    flaky.stop()

    said = project.live("r", "--case", "c1", status=3)

    assert "`user`, 'user-1'" in said
    assert (kind == "logged") is ("`user.entailment`" in said)
    assert not (project.folder / "runs" / "r").exists()
    project.live("other", "--case", "c2")


def test_only_what_the_planned_cases_need_has_to_be_there(project: Project, flaky: Flaky) -> None:
    servers = server_of(project) | {"other": {"base_url": "http://127.0.0.1:9", "disposable": True}}
    elsewhere = {**TOOLS[0], "name": "elsewhere", "server": "other"}
    project.write({"c1": CASES["c1"]}, tools=[*TOOLS, elsewhere], servers=servers)
    assert "server 'other'" in project.live("all", status=3)

    cases = project.suite / "cases.json"
    listed = json.loads(cases.read_text())
    cases.write_text(json.dumps([one | {"tools": ["get_item"]} for one in listed]))
    project.live("some")


def test_a_lost_connection_is_an_outage_and_no_failure_of_the_agent(project: Project, flaky: Flaky) -> None:
    project.write({"c1": [["search", {"q": "x"}], ["get_item", {"id": 1}]]}, servers=server_of(project))
    flaky.loses_items = True

    summary = counts(project, "r", status=3)

    assert (summary["counts"]["harness_failed"], summary["counts"]["finished"]) == (1, 0)
    (trial,) = trials(project, "r")
    assert trial.outcome == "harness_failed"
    assert trial.outage is not None
    assert (trial.outage.server, trial.outage.tool, trial.outage.answered) == ("shop", "get_item", True)
    assert "get_item" in str(trial.reason)


def test_a_fault_of_the_case_is_still_the_tools_error(project: Project, flaky: Flaky) -> None:
    cases = project.suite / "cases.json"
    listed = json.loads(cases.read_text())[:1]
    cases.write_text(
        json.dumps([one | {"faults": [{"tool": "get_item", "kind": "reset", "call": 1}]} for one in listed])
    )

    summary = counts(project, "r", status=0)

    assert summary["counts"]["finished"] == 1


@pytest.mark.slow
def test_a_run_whose_server_never_answers_stops_early_and_can_go_on(project: Project, flaky: Flaky) -> None:
    project.write(CASES, servers=server_of(project))
    flaky.losing = True

    summary = counts(project, "r", status=3)

    assert summary["counts"]["harness_failed"] in (2, 3)  # the next one may have begun
    assert summary["counts"]["not_run"] == 6 - summary["counts"]["harness_failed"]
    assert "'shop'" in summary["stopped"]

    flaky.losing = False
    project.type("run", "--resume", "r", "--sandbox", "local")
    assert [trial.outcome for trial in trials(project, "r")] == ["finished"] * 6


def test_a_live_server_is_reset_before_each_trial(project: Project, flaky: Flaky, monkeypatch: Any) -> None:
    monkeypatch.setenv("SHOP_KEY", "a-key-of-the-shop")
    orders = {f"c{number}": [["order", {"id": 1}]] for number in range(3)}
    bare = server_of(project)
    project.write(orders, servers=bare)
    assert "server 'shop'" in project.live("kept", "--jobs", "2")
    assert flaky.writes == 3

    headers = {"Authorization": "Bearer ${SHOP_KEY}"}
    project.write(orders, servers=server_of(project, reset={"path": "/reset"}, headers=headers), secrets=["SHOP_KEY"])
    said = project.live("reset", "--jobs", "2")

    assert flaky.resets == [("/reset", "Bearer a-key-of-the-shop")] * 3
    assert flaky.writes == 1
    assert "`session_header:`" not in said


@pytest.mark.parametrize("status", [500, 302])
def test_a_reset_that_fails_is_no_failure_of_the_agent(project: Project, flaky: Flaky, status: int) -> None:
    project.write({"c1": CASES["c1"]}, servers=server_of(project, reset={"path": "/reset"}))
    flaky.reset_status = status

    counts(project, "r", status=3)

    (trial,) = trials(project, "r")
    assert f"POST /reset answered {status}" in str(trial.reason)


def test_a_command_resets_a_live_server(project: Project) -> None:
    reset = {"command": ["sh", "-c", "echo once >> resets.txt"]}
    project.write({"c1": CASES["c1"], "c2": CASES["c2"]}, servers=server_of(project, reset=reset))

    project.live("r")

    assert (project.suite / "resets.txt").read_text() == "once\n" * 2


@pytest.mark.parametrize("wrong", [{"reset": {}}, {"reset": {"path": "/r", "command": ["true"]}}], ids=str)
def test_what_is_wrong_with_a_reset_is_named(project: Project, wrong: dict[str, Any]) -> None:
    project.write(CASES, servers=server_of(project, **wrong))

    said = project.live("r", status=2)

    assert "suite.yaml" in said
    assert "servers.shop" in said
