"""The gateway's own OpenAPI document: what it says holds, whatever is sent to the routes that it describes."""

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from harness.gateway.contract import SessionRequest
from harness.gateway.gateway import Gateway
from harness.gateway.session import TrialSession
from harness.sandbox.inside.forward import Forwarder
from harness.sandbox.inside.loop import Loop
from harness.suite.cases import Case
from harness.suite.suites import Suite
from tests.gateway.conftest import Agent

_TEXT = st.text(max_size=20)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=10,
)
_LIKELY = st.dictionaries(st.sampled_from(["q", "item", "message", "text", "plan", "limit", "id"]), _JSON, max_size=3)
_BODIES = st.binary(max_size=60) | (_JSON | _LIKELY).map(lambda value: json.dumps(value).encode())
_TYPES = st.sampled_from([None, "application/json", "text/plain", "multipart/form-data", "application/xml", ";;"])


@pytest.fixture
def session(suite: Suite, case: Case, shop, tmp_path: Path) -> Iterator[TrialSession]:
    many = case.model_copy(update={"limits": case.limits.model_copy(update={"steps": 1_000_000})})
    with Gateway(suite, "live", cassettes=tmp_path, services=shop) as gateway:
        yield gateway.open(SessionRequest(trial_id="t", case=many, attempt=1, agent="a"))


@pytest.fixture
def address(session: TrialSession) -> Iterator[str]:
    """The session as a TCP address, through the launcher's own forwarder."""
    loop, stop = Loop(), threading.Event()
    forwarder = Forwarder(loop, str(session.socket).encode(), [0])

    def forward() -> None:
        while not stop.is_set():
            loop.turn(min(forwarder.tick(), 0.05))
        forwarder.finish()

    thread = threading.Thread(target=forward)
    thread.start()
    yield f"http://127.0.0.1:{forwarder.port}"
    stop.set()
    thread.join()
    for server in forwarder._servers:  # the launcher's process ends instead
        server.close()


def document_of(agent: Agent) -> dict[str, Any]:
    status, document = agent.ask("GET", "/openapi.json")
    assert 200 == status
    return document


def test_the_document_describes_the_trials_own_tools(session: TrialSession, agent) -> None:
    paths = document_of(agent(session.socket))["paths"]

    assert {"/turn", "/tools", "/thought", "/reply", "/tools/look", "/tools/add"} < set(paths)
    asked = paths["/tools/look"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert ["q"] == asked["required"]


def test_a_case_sees_only_what_it_may_call(suite: Suite, case: Case, shop, tmp_path: Path, agent) -> None:
    narrow = case.model_copy(update={"tools": ("look",)})
    request = SessionRequest(trial_id="t", case=narrow, attempt=1, agent="a")
    with Gateway(suite, "live", cassettes=tmp_path, services=shop) as gateway, gateway.open(request) as session:
        paths = document_of(agent(session.socket))["paths"]

    assert ["/tools/look"] == [path for path in paths if path.startswith("/tools/")]


@pytest.mark.slow
def test_every_answer_is_one_that_the_document_tells_of(session: TrialSession, agent) -> None:
    asking = agent(session.socket)
    paths = document_of(asking)["paths"]
    operations = [(path, method) for path, methods in paths.items() for method in methods]

    @settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(operation=st.sampled_from(operations), body=_BODIES, kind=_TYPES)
    def holds(operation: tuple[str, str], body: bytes, kind: str | None) -> None:
        path, method = operation
        if path in {"/tools/slow", "/tools/big", "/tools/garbled"}:  # slow ones, and a service that breaks
            return
        headers = {} if kind is None else {"Content-Type": kind}
        status, given_headers, answer = asking.ask_raw(method.upper(), path, body, headers)
        told = paths[path][method]["responses"]
        response = told.get(str(status), told.get(f"{status // 100}XX"))
        assert response is not None, f"{method} {path} answers {status}, which is not described"
        if "content" in response:
            assert "application/json" == given_headers["content-type"].partition(";")[0]
            schema = response["content"]["application/json"]["schema"]
            assert [] == [error.message for error in Draft202012Validator(schema).iter_errors(json.loads(answer))]
        else:
            assert b"" == answer

    holds()


@pytest.mark.slow
def test_schemathesis_finds_nothing(address: str, tmp_path: Path) -> None:
    found = shutil.which("schemathesis", path=str(Path(sys.executable).parent))
    assert found is not None, "schemathesis belongs to the extra `dev`"
    words = ["run", f"{address}/openapi.json", "--max-examples", "40", "--checks", "all", "--seed", "1"]
    words += ["--exclude-checks", "positive_data_acceptance,unsupported_method,missing_required_header,use_after_free"]
    words += ["--exclude-path-regex", "/tools/(slow|big|reset|garbled)"]
    done = subprocess.run([found, *words], cwd=tmp_path, capture_output=True, text=True, timeout=250)

    assert 0 == done.returncode, done.stdout[-5000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
