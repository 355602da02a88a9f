"""What is in flight is told while it is, and nothing of it stays."""

import time
from pathlib import Path

import pytest

from harness.runs.store.beside_trials import in_flight, shown_in_flight
from harness.traces.recorder import TraceRecorder, TraceSubject


def test_the_steps_of_a_trial_are_told_while_it_runs(tmp_path: Path) -> None:
    recorder = TraceRecorder(TraceSubject(trial_id="r.c.1", case_id="c", attempt=1, agent="a"))
    with shown_in_flight(tmp_path, lambda: [recorder.progress]):
        recorder.record("execute_tool look_up", {}, time.monotonic_ns())
        deadline = time.monotonic() + 30
        while not (found := in_flight(tmp_path)):
            assert time.monotonic() < deadline
            time.sleep(0.02)
    assert [("c", 1, 1, "execute_tool look_up")] == [
        (one.case_id, one.attempt, one.interactions, one.last) for one in found
    ]
    assert () == in_flight(tmp_path)
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("content", ["", "{", '{"trials": [1]}', "[]"])
def test_a_damaged_file_tells_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "in_flight.json").write_text(content)
    assert () == in_flight(tmp_path)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text('{"trials": [{"case_id": "s", "attempt": 1, "started_ns": 1, "interactions": 1, "last": ""}]}')
    run = tmp_path / "run"
    run.mkdir()
    (run / "in_flight.json").symlink_to(secret)
    assert () == in_flight(run)
