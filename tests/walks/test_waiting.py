"""Trials that wait for a live model leave the processors to others."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from harness.runs.trial.parallel import processors
from tests.serving import Answering, listening
from tests.walks.conftest import Walk

SUITE = """\
agents:
  a: {{command: [python3, "{{agent}}/main.py"], files: agent}}
model: {{base_url: "{url}/v1", api_key: WAITING_KEY, mode: live}}
"""
CASE = "- {{id: c{number}, task: Say something., limits: {{memory_mb: 32, seconds: 300}}}}\n"
AGENT = """\
import json, os, urllib.request
ask = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
request = urllib.request.Request(
    os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(ask).encode(), {"Content-Type": "application/json"}
)
print(json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"])
"""
SAID = {
    "id": "1",
    "object": "chat.completion",
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello."}}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1},
}


@contextmanager
def model_that_answers(together: int) -> Iterator[str]:
    """Its address. It answers nobody before so many have asked."""
    everybody = threading.Barrier(together)

    class Answers(Answering):
        def do_POST(self) -> None:
            self.sent()
            everybody.wait(240)
            self.give(200, SAID)

    with listening(Answers) as address:
        try:
            yield address
        finally:
            everybody.abort()


@pytest.mark.slow
def test_more_trials_than_processors_wait_for_a_live_model(walk: Walk) -> None:
    together = processors() + 2
    suite = walk.folder / "suites" / "waiting"
    (suite / "agent").mkdir(parents=True)
    (suite / "agent" / "main.py").write_text(AGENT)
    (suite / "cases.yaml").write_text("".join(CASE.format(number=number) for number in range(together)))
    with model_that_answers(together) as url:
        (suite / "suite.yaml").write_text(SUITE.format(url=url))
        env = {"WAITING_KEY": "sk-waiting-key-0123456789"}
        summary = walk.summary("run", "waiting", "--sandbox", "local", "--run-name", "w", env=env)

    assert together == summary["counts"]["finished"]
