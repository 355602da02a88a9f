"""`harness run --otlp`: spans at a collector while the trial runs, whatever the collector does."""

import os
import re
import signal
import socket
import time

import pytest

from tests.traces.receiver import receiving
from tests.walks.conftest import Walk, WriteSuite
from tests.walks.test_stopping import CASES as SLOW_CASES
from tests.walks.test_stopping import CHECKS, SLOW, wait_for_trials
from tests.walks.watched_trials import CASES, KEY, MAIN, SUITE, check_arrived, shop

LIVE = ("run", "s", "--live", "tools", "--run-name", "watched", "--release", "v7")
IN_CONTAINERS = [pytest.param(name, marks=pytest.mark.docker) for name in ("docker", "docker-warm")]


@pytest.mark.slow
@pytest.mark.parametrize("sandbox", ["local", *IN_CONTAINERS])
def test_a_tool_call_is_at_the_collector_before_its_trial_ends(
    walk: Walk, write_suite: WriteSuite, sandbox: str
) -> None:
    with receiving() as receiver, shop(receiver) as url:
        write_suite(SUITE.format(url=url), CASES, {"main.py": MAIN})
        env = {"SHOP_KEY": KEY, "OTEL_EXPORTER_OTLP_HEADERS": "x-api-key=for-the-collector"}
        done = walk(*LIVE, "--sandbox", sandbox, "--otlp", receiver.url, env=env)
        check_arrived(receiver)
    assert re.search(rf"\b5 spans .*{re.escape(receiver.url)}/v1/traces", done.stderr)
    assert {"/v1/traces"} == {path for path, _, _ in receiver.requests}
    assert {"for-the-collector"} == {headers["x-api-key"] for _, headers, _ in receiver.requests}
    stored = (walk.folder / "runs/watched/trials/a/1/spans.jsonl").read_text()
    assert {span.span_id for span in receiver.spans} == ids(stored)


def ids(stored: str) -> set[str]:
    return {line.split('"span_id":"')[1][:16] for line in stored.splitlines()}


@pytest.mark.slow
def test_the_environment_s_collector_is_used_only_where_it_is_asked_for(walk: Walk, write_suite: WriteSuite) -> None:
    with receiving() as receiver:
        write_suite(CHECKS, "- {id: a, task: wait}\n", {"main.py": SLOW})
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"{receiver.url}/otlp", "OTEL_SDK_DISABLED": "true"}
        walk("run", "s", "--sandbox", "local", "--run-name", "unasked", env=env)
        assert [] == receiver.requests
        walk("run", "s", "--sandbox", "local", "--run-name", "asked", "--otlp", "env", env=env)
    assert {"/otlp/v1/traces"} == {path for path, _, _ in receiver.requests}
    assert 3 == len(receiver.spans)


@pytest.mark.parametrize("told", ["localhost:4317", "env"])
def test_what_is_no_collector_is_refused_before_anything_runs(walk: Walk, write_suite: WriteSuite, told: str) -> None:
    write_suite(CHECKS, SLOW_CASES, {"main.py": SLOW})
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": "", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": ""}
    refused = walk("run", "s", "--sandbox", "local", "--otlp", told, status=2, env=env)
    assert "http://127.0.0.1:4318" in refused.stderr
    assert not (walk.folder / "runs").exists()


@pytest.mark.slow
def test_a_run_with_a_dead_collector_is_the_run_without_one_and_says_what_was_lost(
    walk: Walk, write_suite: WriteSuite
) -> None:
    write_suite(CHECKS, SLOW_CASES, {"main.py": SLOW})
    with socket.create_server(("127.0.0.1", 0)) as held:
        dead = f"http://127.0.0.1:{held.getsockname()[1]}"
    walk("run", "s", "--sandbox", "local", "--run-name", "alone")
    done = walk("run", "s", "--sandbox", "local", "--run-name", "with", "--otlp", f"{dead}/?token={KEY}")
    assert walk.scorecards("alone") == walk.scorecards("with")
    said = " ".join(done.stderr.split())
    assert re.search(rf"24 of 24 spans .*{re.escape(dead)}/v1/traces.*: no connection", said)
    assert KEY not in done.stdout + done.stderr


@pytest.mark.slow
def test_ctrl_c_ends_a_run_whose_collector_never_answers(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite(CHECKS, SLOW_CASES, {"main.py": SLOW})
    with receiving(answers=False) as receiver:
        words = ("--sandbox", "local", "--jobs", "1", "--run-name", "stopped", "--otlp", receiver.url)
        process = walk.start("run", "s", *words)
        wait_for_trials(walk, "stopped", 2)
        os.kill(process.pid, signal.SIGINT)
        began = time.monotonic()
        output, _ = process.communicate(timeout=60)
        took_s = time.monotonic() - began
    assert 130 == process.returncode, output
    assert " spans " in " ".join(output.split())
    assert "--resume stopped" in output
    assert took_s < 30
