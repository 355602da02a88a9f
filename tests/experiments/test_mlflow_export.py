"""Runs as runs of MLflow, by its own client on a file store and against servers that refuse."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import web

from tests.commands.starting import HARNESS, run_command
from tests.judge.judge.serving import served
from tests.supply.test_no_telemetry import reached

FILES = {"MLFLOW_ALLOW_FILE_STORE": "true"}


def export(folder: Path, *words: str, status: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
    done = run_command("export", "mlflow", *words, folder=folder, env=FILES | env)
    assert status == done.returncode, done.stdout + done.stderr
    return done


@pytest.fixture
def copy(project: Path, tmp_path: Path) -> Path:
    shutil.copytree(project, tmp_path / "evals")
    return tmp_path / "evals"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    return f"file:{tmp_path / 'store'}"


def runs_of(store: str, experiment: str = "hello") -> list:
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=store)
    found = client.get_experiment_by_name(experiment)
    return [] if found is None else client.search_runs([found.experiment_id])


def artifact(run, name: str) -> str:
    return (Path(run.info.artifact_uri.removeprefix("file://")) / name).read_text()


def test_a_run_has_parameters_metrics_tags_and_the_report(project: Path, store: str) -> None:
    assert "created run " in export(project, "first", "--tracking-uri", store).stdout
    (run,) = runs_of(store)
    manifest = json.loads((project / "runs/first/manifest.json").read_text())
    assert ("first", "FINISHED") == (run.info.run_name, run.info.status)
    params = ("suite", "agent", "agent_digest", "suite_digest", "tools_digest", "tool_mode", "release")
    assert {name: manifest[name] for name in params}.items() <= run.data.params.items()
    assert {"harness.run": "first", "harness.release": "r7"}.items() <= run.data.tags.items()
    reported = run_command("report", "first", "--format", "json", folder=project)
    summary = json.loads(reported.stdout)
    assert summary["success"]["rate"] == run.data.metrics["success_rate"]
    means = {f"mean.{one['metric']}": one["mean"] for one in summary["figures"] if one["mean"] is not None}
    assert len(means) > 5
    assert means.items() <= run.data.metrics.items()
    assert 4 == run.data.metrics["trials.measured"]
    assert artifact(run, "report.md").startswith("#")
    assert summary == json.loads(artifact(run, "summary.json"))


def test_what_is_not_known_is_no_metric(project: Path, store: str) -> None:
    export(project, "first", "--tracking-uri", store)
    (run,) = runs_of(store)
    assert not [name for name in run.data.metrics if "cost_usd" in name or "latency" in name]


def test_a_run_that_is_exported_again_is_updated(copy: Path, store: str) -> None:
    export(copy, "first", "--tracking-uri", store)
    (before,) = runs_of(store)
    again = export(copy, "first", "--tracking-uri", store)
    assert f"updated run {before.info.run_id} " in again.stdout
    assert " 0 new metric" in again.stdout
    (after,) = runs_of(store)
    assert (before.data.metrics, before.data.params) == (after.data.metrics, after.data.params)
    cases = copy / "suites/hello/cases.yaml"
    check = "{name: never, verifier: final_answer, with: {contains: nothing of the kind}}"
    cases.write_text(cases.read_text().replace("checks:", f"checks:\n    - {check}", 1))
    scored = run_command("score", "first", folder=copy)
    assert 0 == scored.returncode, scored.stderr
    export(copy, "first", "--tracking-uri", store)
    (changed,) = runs_of(store)
    assert before.info.run_id == changed.info.run_id
    assert changed.data.metrics["success_rate"] < before.data.metrics["success_rate"]
    assert before.data.params == changed.data.params
    assert before.data.params["suite_digest"] != changed.data.tags["harness.suite_digest"]


def test_other_runs_and_experiments_are_other_runs_of_mlflow(copy: Path, store: str) -> None:
    run_command("run", "hello", "--sandbox", "local", "--run-name", "second", folder=copy)
    for words in (("first",), ("second",), ("first", "--experiment", "apart")):
        export(copy, *words, "--tracking-uri", store)
    assert {"first", "second"} == {run.info.run_name for run in runs_of(store)}
    assert ["first"] == [run.info.run_name for run in runs_of(store, "apart")]


def test_what_keeps_an_export_back_is_named_with_its_remedy(project: Path, tmp_path: Path) -> None:
    untold = export(project, "first", status=2, MLFLOW_TRACKING_URI="").stderr
    assert "--tracking-uri http://HOST:PORT, or MLFLOW_TRACKING_URI" in untold
    files = export(project, "first", "--tracking-uri", f"file:{tmp_path}", status=3, MLFLOW_ALLOW_FILE_STORE="false")
    assert "MLFLOW_ALLOW_FILE_STORE=true" in files.stderr
    away = export(
        project, "first", "--tracking-uri", "http://u:hidden-pass@127.0.0.1:9", status=3,
        MLFLOW_HTTP_REQUEST_MAX_RETRIES="0",
    ).stderr  # fmt: skip
    assert "--tracking-uri" in away
    assert "hidden-pass" not in away


def test_without_the_extra_it_is_named(project: Path, tmp_path: Path) -> None:
    (tmp_path / "mlflow").mkdir()
    (tmp_path / "mlflow/__init__.py").write_text("raise ImportError('not installed')\n")
    done = subprocess.run(
        [HARNESS, "export", "mlflow", "first", "--tracking-uri", "http://127.0.0.1:9"],
        cwd=project, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
    )  # fmt: skip
    assert 2 == done.returncode
    assert "`mlflow`" in done.stderr
    assert "[mlflow]'" in done.stderr


def test_wrong_credentials_are_told_and_not_shown(project: Path) -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=401, text="You are not authenticated.")

    with served(refuse, path="") as url:
        env = {"MLFLOW_TRACKING_USERNAME": "ann", "MLFLOW_TRACKING_PASSWORD": "not-the-password"}
        said = export(project, "first", "--tracking-uri", url, status=3, **env).stderr
    assert "MLFLOW_TRACKING_PASSWORD" in said
    assert "not-the-password" not in said


def test_the_credentials_stay_with_their_server(project: Path) -> None:
    came: list[str | None] = []

    async def keep(request: web.Request) -> web.Response:
        came.append(request.headers.get("Authorization"))
        return web.json_response({})

    with served(keep, path="") as other:

        async def send_on(request: web.Request) -> web.Response:
            return web.Response(status=307, headers={"Location": f"{other}{request.path_qs}"})

        with served(send_on, path="") as url:
            export(project, "first", "--tracking-uri", url, status=3, MLFLOW_TRACKING_TOKEN="token-of-ours-1")
    assert [] == came


def test_the_client_reports_its_use_to_nobody(copy: Path, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a test and in CI the client reports nothing by itself, so their variables are taken away."""
    for name in ("PYTEST_CURRENT_TEST", "CI", "GITHUB_ACTIONS", "GITLAB_CI", "MLFLOW_DISABLE_TELEMETRY"):
        monkeypatch.delenv(name, raising=False)
    assert [] == reached(copy, HARNESS, "export", "mlflow", "first", "--tracking-uri", store)
    assert 1 == len(runs_of(store))
