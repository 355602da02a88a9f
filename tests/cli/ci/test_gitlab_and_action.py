"""The GitLab template that `harness init --ci gitlab` writes, and the composite GitHub Action of this repository."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from harness.cli.main import harness
from tests.drift.issues.gitlab_server import gitlab_server

BIN = Path(sys.executable).parent
ROOT = Path(__file__).parents[3]
SERVERS = 'secrets: [WEATHER_KEY]\nservers: {weather: {base_url: "http://127.0.0.1:8000"}}\n'
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_DRY_RUN": "1"}
"""What is installed already is all that there is."""


def initialised(folder: Path) -> str:
    done = CliRunner().invoke(harness, ["init", str(folder), "--ci", "gitlab"])
    assert done.exception is None, done.output
    return done.output


def checked(schema: str, *arguments: str | Path) -> None:
    command = [BIN / "check-jsonschema", "--builtin-schema", schema, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert 0 == done.returncode, done.stdout


def read(path: Path) -> dict[str, Any]:
    said = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(said, dict)
    return said


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A project below the root of a repository, with a suite that has a server."""
    (tmp_path / ".git").mkdir()
    CliRunner().invoke(harness, ["init", str(tmp_path / "evals")])
    suite = tmp_path / "evals/suites/hello/suite.yaml"
    suite.write_text(suite.read_text() + SERVERS)
    initialised(tmp_path / "evals")
    return tmp_path


def test_the_gitlab_files_are_of_the_published_schema_and_fit_the_suites(repository: Path) -> None:
    files = [repository / ".gitlab" / name for name in ("harness.yml", "harness-nightly.yml")]

    checked("vendor.gitlab-ci", "--data-transform", "gitlab-ci", *files, repository / ".gitlab-ci.yml")
    merge_request, nightly = read(files[0]), read(files[1])["harness-nightly"]
    assert "evals" == merge_request[".harness"]["variables"]["HARNESS_PROJECT"]
    for job in (merge_request["harness-merge-request"], nightly):
        assert [{"SUITE": "hello", "OPTIONS": ""}] == job["parallel"]["matrix"]
    assert ["report.html", "evals/runs/nightly", "evals/issues"] == nightly["artifacts"]["paths"]
    assert "@@" not in "".join(file.read_text() for file in files)
    assert (repository / ".gitlab/harness/requirements.txt").is_file()


def test_no_nightly_job_without_a_service_and_an_existing_pipeline_is_told_what_to_include(tmp_path: Path) -> None:
    (tmp_path / ".gitlab-ci.yml").write_text("stages: [test]\n")

    said = initialised(tmp_path)

    assert not (tmp_path / ".gitlab/harness-nightly.yml").exists()
    assert '- local: "/.gitlab/harness*.yml"' in said
    assert "stages: [test]\n" == (tmp_path / ".gitlab-ci.yml").read_text()


@pytest.mark.slow
def test_the_lines_of_the_merge_request_work(tmp_path: Path) -> None:
    initialised(tmp_path)
    job = read(tmp_path / ".gitlab/harness.yml")["harness-merge-request"]
    lines = [line for line in (*job["script"], *job["after_script"]) if "export PATH" not in line]
    base = "harness run hello --sandbox local --run-name base && harness baseline base"
    outside = {name: value for name, value in os.environ.items() if not name.startswith("HARNESS_")}
    script = "\n".join([base, *(line.replace("$OPTIONS", "--sandbox local") for line in lines)])

    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=300,
        env={**outside, **OFFLINE, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "SUITE": "hello"},
    )  # fmt: skip

    assert 0 == done.returncode, done.stdout + done.stderr
    comment = (tmp_path / "comment.md").read_text()
    assert "100 % → 100 % over 2 trials" in comment
    assert "<testsuites" in (tmp_path / "junit.xml").read_text()
    assert comment == (tmp_path / "comments/hello.md").read_text()


@pytest.mark.slow
def test_the_note_has_the_reports_of_all_suites_and_is_updated(tmp_path: Path) -> None:
    initialised(tmp_path)
    script = "\n".join(read(tmp_path / ".gitlab/harness.yml")["harness-note"]["script"])
    (tmp_path / "comments").mkdir()
    with gitlab_server() as server:
        outside = {name: value for name, value in os.environ.items() if not name.startswith(("HARNESS_", "CI_"))}
        own = {
            **outside, **server.environment(), "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "CI_MERGE_REQUEST_IID": "7",
        }  # fmt: skip
        for text in ("first", "second"):
            for suite in ("a", "b"):
                (tmp_path / "comments" / f"{suite}.md").write_text(f"{suite}: {text}\n")
            subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, env=own, check=True, timeout=120)
    (note,) = server.notes
    assert note["body"].startswith("a: second\nb: second\n")


def test_the_action_is_of_the_published_schema_and_runs_no_text_of_its_inputs() -> None:
    checked("vendor.github-actions", ROOT / "action.yml")
    action = read(ROOT / "action.yml")
    steps = action["runs"]["steps"]
    assert [] == [step["name"] for step in steps if "${{" in step.get("run", "")]
    used = [line.strip(" -") for line in (ROOT / "action.yml").read_text().splitlines() if "uses:" in line]
    assert [] == [one for one in used if not re.fullmatch(r"uses: actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one)]
    named = set(re.findall(r"inputs\.([\w-]+)", str(action)))
    assert set(action["inputs"]) == named


@pytest.mark.slow
def test_the_lines_of_the_action_work(tmp_path: Path) -> None:
    CliRunner().invoke(harness, ["init", str(tmp_path / "evals")])
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("HARNESS_", "GITHUB_"))}
    own = {
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "GITHUB_ACTION_PATH": str(ROOT), "RUNNER_TEMP": "temporary",
        "GITHUB_STEP_SUMMARY": "summary.md", "GITHUB_OUTPUT": "output", "HARNESS_PROJECT": "evals", "SUITE": "hello",
        "OPTIONS": "--sandbox local", "RUN_NAME": "action", **OFFLINE,
    }  # fmt: skip
    for step in read(ROOT / "action.yml")["runs"]["steps"]:
        if "run" in step and step["name"] != "Install":
            done = subprocess.run(
                ["bash", "-e", "-c", step["run"]], cwd=tmp_path, env={**outside, **own},
                capture_output=True, text=True, timeout=300,
            )  # fmt: skip
            assert 0 == done.returncode, done.stdout + done.stderr

    outputs = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    assert {"junit", "html", "comment"} == set(outputs)
    assert all((tmp_path / path).stat().st_size for path in outputs.values())
    assert "2 of 2" in (tmp_path / "summary.md").read_text()
