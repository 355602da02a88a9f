"""Every real trajectory at hand is imported, and what is counted in it is counted a second time from the raw JSON."""

import json
import random
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InvalidDocument
from harness.runs.foreign_runs import ImportedRun, import_file
from harness.traces.formats.found import ImportOptions
from qa.converters import imported

pytestmark = pytest.mark.slow


def _counts(run: ImportedRun) -> Counter[str]:
    counts: Counter[str] = Counter()
    for trial, spans in run.trials:
        steps = trial.trajectory.steps
        counts["trials"] += 1
        counts["steps"] += len(steps)
        counts["calls"] += len(trial.trajectory.calls)
        counts["results"] += sum(len(step.observations) for step in steps)
        counts["errors"] += sum(seen.error is not None for step in steps for seen in step.observations)
        counts["user calls"] += sum(len(step.calls) for step in steps if step.source == "user")
        answered = {seen.call_id for step in steps for seen in step.observations}
        counts["unanswered"] += sum(call.id not in answered for call in trial.trajectory.calls)
        assert len(spans) >= 1 + len(steps) + len(trial.trajectory.calls)
        assert 64 == len(trial.trajectory.digest)
    return counts


def test_all_tau_bench_runs(real_data: Path) -> None:
    path = real_data / "taubench" / "historical_trajectories" / "gpt-4o-airline.json"
    raw = json.loads(path.read_text())
    messages = [message for run in raw for message in run["traj"]]
    results = [message["content"] for message in messages if message["role"] == "tool"]

    run = imported("tau-bench", path, ImportOptions(tools=real_data / "taubench" / "airline_tools.json"))
    counts = _counts(run)

    assert 200 == len(raw) == counts["trials"] == len(run.rewards)
    assert 1164 == sum(len(message.get("tool_calls") or []) for message in messages) == counts["calls"]
    assert len(results) == counts["results"]
    assert 73 == sum(text.startswith("Error") for text in results) == counts["errors"]
    assert sum(message["role"] != "tool" for message in messages) == counts["steps"]
    assert 0 == counts["unanswered"]
    assert sum(item["reward"] for item in raw) == sum(run.rewards.values())
    assert {item["task_id"]: len(item["info"]["task"]["actions"]) for item in raw} == {
        int(case.id.removeprefix("task-")): len(case.reference or ()) for case in run.suite.cases
    }
    assert 5 == sum(trial.outcome == "limit_reached" for trial, _ in run.trials)
    assert 14 == len(run.suite.tools)


def test_all_tau2_runs(real_data: Path) -> None:
    total: Counter[str] = Counter()
    for path in sorted((real_data / "tau2").glob("*.json")):
        raw = json.loads(path.read_text())
        messages = [message for run in raw["simulations"] for message in run["messages"]]
        calls = [call for message in messages for call in message.get("tool_calls") or []]
        results = [message for message in messages if message["role"] == "tool"]

        run = import_file("tau2", path)
        counts = _counts(run)
        total += counts

        assert len(raw["simulations"]) == counts["trials"] == len(run.rewards)
        assert len(raw["tasks"]) == len(run.suite.cases)
        assert len(calls) == counts["calls"]
        assert sum(call["requestor"] == "user" for call in calls) == counts["user calls"]
        assert len(results) == counts["results"]
        assert sum(message["error"] for message in results) == counts["errors"]
        assert sum(message["role"] != "tool" for message in messages) == counts["steps"]
        assert sum(item["reward_info"]["reward"] for item in raw["simulations"]) == sum(run.rewards.values())
        for trial, _ in run.trials:
            for step in trial.trajectory.steps:
                assert {call.id for call in step.calls} >= {seen.call_id for seen in step.observations}

    assert (350, 4358, 61) == (total["trials"], total["calls"], total["errors"])


def test_all_trail_traces_carry_their_content(real_data: Path) -> None:
    """What code printed stands in the next request alone; without content no failure mode would be searched for."""
    traces = [*(real_data / "trail").glob("*/traces/*.json")]
    trials = [trial for path in traces for trial, _ in imported("trail", path).trials]
    assert (57, {()}) == (len(trials), {trial.trajectory.uncaptured for trial in trials})


def test_all_kimi_runs(real_data: Path) -> None:
    folder = real_data / "kimi_terminal_bench"
    raw = [json.loads(path.read_text()) for path in sorted(folder.glob("*/agent/trajectory.json"))]
    steps = [step for document in raw for step in document["steps"]]
    replies = sum("metrics" in step for step in steps)

    run = import_file("atif", folder)
    counts = _counts(run)

    assert 19 == len(raw) == counts["trials"] == len(run.rewards) == len(run.suite.cases)
    assert 389 == sum(len(step.get("tool_calls", [])) for step in steps) == counts["calls"]
    assert 117 == sum(step["extra"].get("tool_result_is_error", False) for step in steps) == counts["errors"]
    assert 380 == sum(len(step.get("observation", {}).get("results", [])) for step in steps) == counts["results"]
    joined = sum(note.count for note in run.notes if "put together" in note.problem)
    assert len(steps) == counts["steps"] + joined
    agents = sum(step.source == "agent" for trial, _ in run.trials for step in trial.trajectory.steps)
    assert replies <= agents <= replies + 20  # one step a model reply; a few replies have no metrics of their own


def _inspect_samples(path: Path) -> Iterator[dict[str, Any]]:
    if path.suffix == ".eval":
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.startswith("samples/"):
                    yield json.loads(archive.read(name))
    else:
        document = json.loads(path.read_text())
        yield from document.get("samples", [document] if "eval" not in document else [])


def test_all_inspect_logs(real_data: Path) -> None:
    folder = real_data / "inspect_logs"
    paths = sorted([*folder.rglob("*.eval"), *folder.rglob("*.json")])
    trials = calls = 0
    for path in paths:
        samples = list(_inspect_samples(path))
        run = import_file("inspect", path)
        counts = _counts(run)
        messages = [message for sample in samples for message in sample.get("messages") or []]
        if messages:
            assert sum(len(message.get("tool_calls") or []) for message in messages) == counts["calls"]
            assert sum(message["role"] == "tool" for message in messages) == counts["results"]
            assert sum(message["role"] != "tool" for message in messages) in (counts["steps"], counts["steps"] - 1)
        else:
            events = [event for sample in samples for event in sample["events"]]
            assert sum(event["event"] == "tool" for event in events) == counts["calls"]
        assert len(samples) == counts["trials"]
        trials, calls = trials + counts["trials"], calls + counts["calls"]

    assert 31 == len(paths)
    assert (55, 11) == (trials, calls)


def test_all_adk_evalsets(real_data: Path) -> None:
    folder = real_data / "adk_evalsets"
    paths = [path for path in sorted(folder.rglob("*.json")) if path.name != "test_config.json"]
    total: Counter[str] = Counter()
    for path in paths:
        raw = json.loads(path.read_text())
        run = import_file("adk", path)
        total["files"] += 1
        total["cases"] += len(run.suite.cases)
        if path.name.endswith(".session.json"):
            total["sessions"] += 1
            assert 1 == len(run.trials)
            continue
        turns = sum(len(case.expected["turns"]) for case in run.suite.cases)
        calls = sum(len(case.reference) for case in run.suite.cases)
        objects = list(_objects(raw))
        assert sum("expected_tool_use" in item or "user_content" in item for item in objects) == turns
        assert sum(len(item.get("expected_tool_use", item.get("tool_uses", ()))) for item in objects) == calls
        total += Counter(turns=turns, calls=calls)

    assert {"files": 27, "cases": 27, "sessions": 1, "turns": 79, "calls": 80} == total
    assert 27 == len(import_file("adk", folder).suite.cases)


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(item)


REAL = [
    ("tau2", "tau2/gpt-4.1_airline_default_1trial.json"),
    ("atif", "kimi_terminal_bench/crack-7z-hash__qM5scQs/agent/trajectory.json"),
    ("inspect", "inspect_logs/analysis/test_logs/2025-05-12T20-27-36-04-00_browser.json"),
    ("inspect", "inspect_logs/log/test_eval_log/log_message_deduplication.eval"),
    ("adk", "adk_evalsets/adk-samples/python/agents/travel-concierge/eval/data/intrip.test.json"),
]


@pytest.mark.parametrize(("format", "place"), REAL)
def test_damaged_real_files_are_refused_or_imported(real_data: Path, format: str, place: str) -> None:
    content = (real_data / place).read_bytes()
    if len(content) > 1_000_000:  # a list of runs: the first few will do
        content = json.dumps(json.loads(content)[:6]).encode()
    chance = random.Random(0)
    refusals: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / Path(place).name
        for _ in range(25):
            damaged = bytearray(content)
            for _ in range(chance.randint(1, 4)):
                at = chance.randrange(len(damaged))
                damaged[at : at + chance.randint(0, 3)] = chance.choice(
                    [b"", b"\xff", b"[", b'"', b"{", b"0", b"\\", b"\n"]
                )
            path.write_bytes(damaged[: chance.choice([len(damaged), len(damaged), chance.randrange(len(damaged))])])
            try:
                assert list(import_file(format, path).trials) is not None
            except InvalidDocument as error:
                refusals.append(str(error))
    assert refusals
    assert all(path.name in refusal for refusal in refusals)
