"""The workflows that `harness init --ci github` writes: of the published schema, and made of steps that work."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from harness.cli.main import harness
from tests.issues.github_server import REPO, TOKEN, GithubServer

BIN = Path(sys.executable).parent
PULL_REQUEST, NIGHTLY = ".github/workflows/harness-pull-request.yml", ".github/workflows/harness-nightly.yml"
MODEL = "model: {prices: {gpt-x: {input_usd_per_mtok: 1, output_usd_per_mtok: 2}}}\n"
SERVERS = 'secrets: [WEATHER_KEY]\nservers: {weather: {base_url: "http://127.0.0.1:8000"}}\n'


def initialised(folder: Path) -> str:
    done = CliRunner().invoke(harness, ["init", str(folder), "--ci", "github"])
    assert done.exception is None, done.output
    return done.output


def workflow(path: Path) -> dict[str, Any]:
    said = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(said, dict)
    return said


def steps(path: Path) -> list[dict[str, Any]]:
    (job,) = workflow(path)["jobs"].values()
    found: list[dict[str, Any]] = job["steps"]
    return found


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A project inside a repository, with a suite that has a model, a server and a secret."""
    (tmp_path / ".git").mkdir()
    initialised(tmp_path / "evals")
    suite = tmp_path / "evals/suites/hello/suite.yaml"
    suite.write_text(suite.read_text() + MODEL + SERVERS)
    (tmp_path / PULL_REQUEST).unlink()
    initialised(tmp_path / "evals")
    return tmp_path


def test_they_are_of_the_published_schema(outside: Path) -> None:
    checked = subprocess.run(
        [BIN / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", PULL_REQUEST, NIGHTLY],
        cwd=outside, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert 0 == checked.returncode, checked.stdout


@pytest.mark.parametrize("name", [PULL_REQUEST, NIGHTLY])
def test_they_fit_the_suites_of_the_project(outside: Path, name: str) -> None:
    (job,) = workflow(outside / name)["jobs"].values()
    assert [{"suite": "hello", "options": "--model live --budget-usd 2"}] == job["strategy"]["matrix"]["include"]
    assert "evals" == job["env"]["HARNESS_PROJECT"]
    keys = {key: value for key, value in job["env"].items() if "secrets." in value}
    assert {name: f"${{{{ secrets.{name} }}}}" for name in ("OPENAI_API_KEY", "WEATHER_KEY")} == keys


@pytest.mark.parametrize("name", [PULL_REQUEST, NIGHTLY])
def test_actions_have_a_version_and_nothing_names_a_registry(outside: Path, name: str) -> None:
    used = [step["uses"] for step in steps(outside / name) if "uses" in step]
    assert used
    assert all(re.fullmatch(r"actions/[\w-]+@v\d+", one) for one in used)
    assert "http" not in (outside / name).read_text()
    assert "@@" not in (outside / name).read_text()


def test_a_project_without_tools_gets_no_nightly_run_and_nothing_is_overwritten(tmp_path: Path) -> None:
    first = initialised(tmp_path)
    assert "harness-nightly.yml: not written: no suite has tools" in first
    (tmp_path / PULL_REQUEST).write_text("mine")
    assert "is there already" in initialised(tmp_path)
    assert "mine" == (tmp_path / PULL_REQUEST).read_text()


class Runner:
    """Runs a workflow's `run` lines as GitHub does, in their order, in one folder."""

    def __init__(self, folder: Path, server: GithubServer, values: dict[str, str]) -> None:
        self.folder = folder
        self._values = {"github.token": TOKEN, "github.event.pull_request.number": "1", "github.run_id": "7", **values}
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")},
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "PIP_NO_INDEX": "1",  # what is installed already is all that there is
            "GITHUB_API_URL": server.url,
            "GITHUB_REPOSITORY": REPO,
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        }

    def lines(self, name: str) -> Iterator[tuple[str, dict[str, str]]]:
        (job,) = workflow(self.folder / name)["jobs"].values()
        for step in job["steps"]:
            if "run" in step:
                own = {**job.get("env", {}), **step.get("env", {})}
                yield self._said(step["run"]), {key: self._said(value) for key, value in own.items()}

    def run(self, name: str, only: str = "") -> list[str]:
        """What each step printed; every one must end with 0. `only`: those whose line holds this."""
        return [self._run(line, own) for line, own in self.lines(name) if only in line]

    def _run(self, line: str, own: dict[str, str]) -> str:
        done = subprocess.run(
            ["bash", "-e", "-c", line], cwd=self.folder, env={**self._environment, **own},
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert 0 == done.returncode, f"{line}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def _said(self, text: str) -> str:
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda found: self._values[found[1]], str(text))


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.usefixtures("base_image")
def test_their_steps_work_in_their_order(project: Path, tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    for part in ("suites", "images", "snapshots", "cassettes"):
        shutil.copytree(project / part / "drive_thru", folder / part / "drive_thru")
    shutil.copyfile(project / "images/lock.toml", folder / "images/lock.toml")
    (folder / ".gitignore").write_text("runs/\n.harness/\n")
    git(folder, "init", "--quiet")
    initialised(folder)
    with GithubServer() as server:
        server.route("POST", f"/repos/{REPO}/issues", {"title": "the pull request"})
        runner = Runner(
            folder, server, {"matrix.suite": "drive_thru", "matrix.options": "--case order-correctness-000"}
        )
        for command in ("run drive_thru --case order-correctness-000 --run-name first", "baseline set first"):
            subprocess.run(
                [BIN / "harness", *command.split()], cwd=folder, check=True, capture_output=True, timeout=300
            )
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", "with a baseline")
        printed = runner.run(PULL_REQUEST)
        assert "gate baseline: holds" in "".join(printed)
        assert "<testsuites" in (folder / "junit.xml").read_text()
        assert "replay fidelity 100 %" in (folder / "summary.md").read_text()
        runner.run(PULL_REQUEST, only="issue comment")
        assert 1 == len(server.comments[1])
        printed = runner.run(NIGHTLY)
        assert "nightly: nothing to file (tracker github)" in printed[-1]
        assert 1 == len(server.issues)
