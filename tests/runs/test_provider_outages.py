"""Models and tool servers that fail: no measurement of the agent, unless the agent itself brings the failure about."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.runs.store.folder import RunFolder
from harness.traces.trial import Trial
from tests.drift.conftest import Project
from tests.drift.shop import Shop
from tests.serving import Answering, listening

AGENT = """
import json, os, sys, urllib.request
from urllib.error import HTTPError

def post(url, body):
    sent = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(sent) as answer:
        return json.loads(answer.read() or b"null")

gateway = os.environ["HARNESS_GATEWAY_URL"]
with urllib.request.urlopen(gateway + "/turn") as turn:
    asks = json.loads(json.loads(turn.read())["message"])
for kind, value in asks:
    try:
        if kind == "tool":
            post(gateway + "/tools/" + value[0], value[1])
        else:
            message = {"role": "user", "content": "x" * 3_000_000 if kind == "large" else kind}
            post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", {"model": value, "messages": [message]})
    except HTTPError as error:
        if kind != "careless":
            sys.exit(f"{error.code}")
post(gateway + "/reply", {"message": "done"})
"""
ANSWER = {
    "id": "1", "object": "chat.completion", "model": "good",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "yes"}}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}  # fmt: skip


class Provider(Answering):
    """A provider, and a tool server beside it. What it does depends on `down`, or on what it is asked."""

    down: int | None = None
    page: bytes = b""
    """Said to everybody with status 200, if there is one."""
    served = 0
    recovers_after: int | None = None

    def do_POST(self) -> None:
        body = self.sent()
        asked = json.loads(body or b"{}")
        said = json.dumps(asked.get("messages"))
        type(self).served += 1
        if self.recovers_after is not None and self.served > self.recovers_after:
            type(self).down = None
        if self.page:
            self.give(200, self.page)
        elif self.down is not None:
            self.give(self.down, {"error": {"message": "model not found" if self.down == 404 else "out of order"}})
        elif len(body) > 2_000_000:
            self.connection.close()
        elif '"poison"' in said or asked.get("id") == 13:
            self.give(500, {"error": {"message": "it broke"}})
        elif asked.get("model") == "no-channel":
            self.give(503, {"error": {"message": "no channel for this model"}})
        elif asked.get("model", "good") != "good":
            self.give(404, {"error": {"message": "model not found"}})
        else:
            self.give(200, ANSWER)

    def do_GET(self) -> None:
        self.give(self.down or (500 if self.path.endswith("/13") else 200), {"id": 1})

    do_HEAD = do_GET


@pytest.fixture
def provider() -> Iterator[type[Provider]]:
    own = type("Own", (Provider,), {})
    with listening(own) as own.url:
        yield own


@pytest.fixture
def project(tmp_path: Path, provider: Any) -> Project:
    return Project(tmp_path, Shop(url=provider.url))


def run(project: Project, asks: list[list[Any]], *words: str, status: int) -> tuple[str, list[Trial]]:
    """What a run of a case for each list of requests prints, and its trials."""
    model = {"base_url": f"{project.shop.url}/v1", "timeout_s": 10}
    project.write({f"c{number}": each for number, each in enumerate(asks)}, model=model)
    (project.suite / "agent" / "agent.py").write_text(AGENT)
    said = project.live("r", "--live", "model", "--jobs", "1", *words, status=status)
    return said, [stored.trial for stored in RunFolder.open(project.folder / "runs" / "r").trials()]


FINE, POISON = [["hello", "good"]], [["hello", "good"], ["poison", "good"]]


@pytest.mark.parametrize("status", [503, pytest.param(429, marks=pytest.mark.slow)])
def test_an_outage_is_no_measurement(project: Project, provider: type[Provider], status: int) -> None:
    provider.down = status
    _, (trial, *_) = run(project, [FINE], status=3)
    cause = "rate_limit" if status == 429 else "model_outage"  # an agent may have asked too much
    assert ("harness_failed", cause) == (trial.outcome, trial.cause)
    assert trial.trajectory.steps


@pytest.mark.parametrize(
    "page",
    [
        b"<html>502 Bad Gateway</html>",
        pytest.param(b'{"error": "upstream reset"}', marks=pytest.mark.slow),
        pytest.param(b'{"choices": [{"ind', marks=pytest.mark.slow),
    ],
)
def test_an_outage_inside_a_success_is_no_measurement(project: Project, provider: type[Provider], page: bytes) -> None:
    provider.page = page
    _, (trial, *_) = run(project, [FINE], status=3)
    assert ("harness_failed", "model_outage") == (trial.outcome, trial.cause)


@pytest.mark.parametrize(
    ("status", "words"), [(404, "404 model not found"), pytest.param(503, "503 out of order", marks=pytest.mark.slow)]
)
def test_a_run_of_which_no_request_was_answered_stops_early(
    project: Project, provider: type[Provider], status: int, words: str
) -> None:
    provider.down = status
    said, trials = run(project, [FINE] * 5, "--fail-under", "task_success=1", status=3)
    assert {"harness_failed"} == {trial.outcome for trial in trials}
    assert len(trials) < 5
    where = f"({project.shop.url}/v1/chat/completions, model 'good')"
    assert f"0 of {len(trials)} model requests were answered: {words} {where}" in " ".join(said.split())


@pytest.mark.parametrize(
    "asks",
    [
        pytest.param([[["hello", "bad"]], FINE], id="a name of its own choice, asked first"),
        pytest.param(
            [FINE, [["hello", "good"], ["hello", "bad"]]],
            id="a name of its own choice, asked last",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            [[["hello", "no-channel"]], FINE], id="a name for which a router has no channel", marks=pytest.mark.slow
        ),
        pytest.param(
            [FINE, [["large", "good"]]], id="a request so large that the connection is cut", marks=pytest.mark.slow
        ),
        pytest.param([FINE, POISON], id="a request that the server breaks at"),
        pytest.param(
            [FINE, [["tool", ["get_item", {"id": 13}]]]], id="arguments that a tool breaks at", marks=pytest.mark.slow
        ),
    ],
)
def test_what_the_agent_itself_brings_about_costs_it_a_failure(project: Project, asks: list[list[Any]]) -> None:
    _, trials = run(project, asks, status=0)
    assert ["agent_failed", "finished"] == sorted(trial.outcome for trial in trials)


@pytest.mark.slow
def test_an_agent_that_goes_on_after_an_outage_is_measured(project: Project, provider: type[Provider]) -> None:
    provider.down, provider.recovers_after = 503, 5  # the agent's own request, and four of the harness
    _, (trial,) = run(project, [[["careless", "good"], *FINE]], status=0)
    assert ("finished", None) == (trial.outcome, trial.outage)


@pytest.mark.slow
def test_a_comparison_with_an_outage_names_no_other_model(project: Project, provider: type[Provider]) -> None:
    run(project, [FINE], status=0)
    provider.down = 503
    project.live("down", "--live", "model", status=3)
    said = project.type("compare", "r", "down", "--json")
    assert [] == json.loads(said)["attribution"]["changed"]


def test_a_tool_server_that_is_down_is_no_measurement(project: Project, provider: type[Provider]) -> None:
    provider.down = 503
    _, (trial,) = run(project, [[["tool", ["get_item", {"id": 1}]]]], status=3)
    assert ("harness_failed", "tool_outage") == (trial.outcome, trial.cause)
