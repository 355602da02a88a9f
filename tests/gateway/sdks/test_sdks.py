"""anthropic, google-genai, and openai with Azure's settings, unmodified, on a local server, in every mode."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.runs.store.folder import RunFolder
from harness.traces.trial import Trial
from tests.gateway.models.model_server import ModelServer, serve_models

HERE = Path(__file__).parent
HARNESS = Path(sys.executable).parent / "harness"
KEYS = {
    "GEMINI_KEY": "real-gemini-key-0815",
    "AZURE_KEY": "real-azure-key-0815",
    "OPENAI_KEY": "real-openai-key-0815",
    "ANTHROPIC_KEY": "real-anthropic-key-0815",
}
AGENTS = [
    *((name, mode) for name in ("gemini", "azure") for mode in ("whole", "stream")),
    ("responses", "whole"),
]
ACCUMULATED = {"whole": "responses", "stream": "chat"}
REFUSALS = {
    "gemini": ("ClientError: 403", "PERMISSION_DENIED"),
    "azure": ("PermissionDeniedError: Error code: 403", "hosted_tool"),
    "responses": ("PermissionDeniedError: Error code: 403", "hosted_tool"),
}
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with the SDKs as they are published."""
    folder = tmp_path_factory.mktemp("sdks")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    install = [folder / "bin" / "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
    subprocess.run([*install, "-r", HERE / "requirements.txt"], check=True)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with serve_models() as server:
        yield server


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, python: Path, models: ModelServer) -> Path:
    folder = tmp_path_factory.mktemp("project")
    suite = folder / "suites" / "s"
    (suite / "agent").mkdir(parents=True)
    (suite / "agent" / "agent.py").write_text((HERE / "agents" / "agent.py").read_text())
    agents = {
        f"{name}-{mode}": {
            "command": [str(python), "{agent}/agent.py", name, mode],
            "files": "agent",
            "answer": "stdout",
        }
        for name in (*REFUSALS, "accumulated")
        for mode in ("whole", "stream", "refused", "anthropic", "gemini")
    }
    providers = {
        "gemini": {"base_url": models.url, "api_key": "GEMINI_KEY"},
        "azure": {"base_url": models.url, "api_key": "AZURE_KEY"},
        "openai": {"base_url": models.url, "api_key": "OPENAI_KEY"},
        "anthropic": {"base_url": models.url, "api_key": "ANTHROPIC_KEY"},
    }
    declared = {
        "agents": agents,
        "cases": "cases.yaml",
        "model": {"providers": providers, "prices": {"small-1": {"input_usd_per_mtok": 1, "output_usd_per_mtok": 10}}},
        "checks": [{"name": "said", "verifier": "final_answer", "with": {"contains": "egg"}}],
    }
    (suite / "suite.yaml").write_text(json.dumps(declared))
    (suite / "cases.yaml").write_text(json.dumps([{"id": "c1", "task": "Eggs?"}]))
    return folder


def run(project: Path, agent: str, mode: str, *, keys: bool = True, name: str | None = None) -> Trial:
    name = name or f"{agent}-{mode}"
    words = [
        "run",
        "s",
        "--agent",
        agent,
        "--live",
        {"live": "model", "record": "model,record", "replay": "none"}[mode],
        "--sandbox",
        "local",
        "--run-name",
        name,
    ]
    words += ["--budget", "tokens=100000"] if mode == "live" else []
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GEMINI_", "AZURE_", "OPENAI_", "ANTHROPIC_"))
    }
    command = [HARNESS, "--project", project, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env | (KEYS if keys else {}))
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    (stored,) = RunFolder.open(project / "runs" / name).trials()
    return stored.trial


@pytest.mark.parametrize(("name", "mode"), AGENTS)
def test_an_agent_on_the_sdk_does_the_same_recorded_replayed_and_live(
    project: Path, models: ModelServer, name: str, mode: str
) -> None:
    agent = f"{name}-{mode}"
    recorded = run(project, agent, "record")
    asked = len(models.seen)
    replayed = run(project, agent, "replay", keys=False)
    assert asked == len(models.seen), "a replay asked the model"
    live = run(project, agent, "live")
    assert asked < len(models.seen)

    assert ["finished"] * 3 == [trial.outcome for trial in (recorded, replayed, live)]
    assert 1 == len({trial.trajectory.digest for trial in (recorded, replayed, live)})
    assert 'Found: {"here": "egg"} {"here": "ham"}' == replayed.trajectory.final_output
    first = next(step for step in replayed.trajectory.steps if step.calls)
    assert [("look", {"q": "egg"}), ("look", {"q": "ham"})] == [(call.name, call.arguments) for call in first.calls]
    assert [{"here": "egg"}, {"here": "ham"}] == [seen.content for seen in first.observations]
    assert first.usage is not None
    assert (100, 10) == (first.usage.input_tokens, first.usage.output_tokens)
    written = [path for path in project.rglob("*") if path.is_file()]
    assert all(key.encode() not in path.read_bytes() for path in written for key in KEYS.values())


@pytest.mark.parametrize("name", REFUSALS)
def test_the_sdk_shows_why_a_tool_of_the_provider_is_refused(project: Path, models: ModelServer, name: str) -> None:
    asked = len(models.seen)
    said = str(run(project, f"{name}-refused", "live").trajectory.final_output)
    assert [] == [
        path for path, _, body in models.seen[asked:] if body
    ]  # whether it can be reached is asked without one
    assert all(part in said for part in REFUSALS[name]), said
    assert "outside of the evaluation, so it is refused" in said


@pytest.mark.parametrize("mode", ["whole", "stream", "anthropic", "gemini"], ids=ACCUMULATED.get)
def test_a_stream_is_put_together_as_the_sdk_does(project: Path, mode: str) -> None:
    trajectory = run(project, f"accumulated-{mode}", "live").trajectory
    calls = [[call.name, call.arguments] for step in trajectory.steps for call in step.calls]
    assert [["look", {"q": "egg"}], ["look", {"q": "ham"}]] == calls == json.loads(str(trajectory.final_output))
