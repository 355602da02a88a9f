"""A run folder that comes from somebody else never says which code runs here."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.cli.main import harness
from harness.errors import HarnessError, ResultsError, UsageError
from harness.suite.loading import load_suite

CODE = """\
from pathlib import Path
Path(r"{marker}").write_text("ran")
class Check:
    version = "1"
    name = "evil"
    def __init__(self, **parameters): ...
    def verify(self, evidence): return True, "fine", {{}}
    def measure(self, evidence): return 1.0, ""
def accepts(answer, expected): return True
"""
ANSWER = {"name": "k", "verifier": "final_answer", "with": {"contains": "Hello"}}
Typed = Callable[..., Result]


class Foreign:
    """A project with a run, which a stranger has changed."""

    def __init__(self, folder: Path, made: Path) -> None:
        self.project = folder / "evals"
        shutil.copytree(made, self.project)
        self.marker = folder / "ran"
        self.run = self.project / "runs" / "r"
        (self.run / "evil.py").write_text(CODE.format(marker=self.marker))

    def __call__(self, *words: str) -> Result:
        return CliRunner().invoke(harness, ["--project", str(self.project), *words])

    def keep_suite(self, **changed: Any) -> None:
        update = {"folder": self.run} | ({"digest": "0" * 64} if changed else {})
        suite = load_suite(self.project, "hello").model_copy(update=update)
        (self.run / "suite.json").write_text(json.dumps(suite.model_dump(mode="json", by_alias=True) | changed))

    def manifest(self, **changed: Any) -> None:
        path = self.run / "manifest.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changed))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new project with a run."""
    project = tmp_path_factory.mktemp("made") / "evals"
    assert 0 == CliRunner().invoke(harness, ["init", str(project)]).exit_code
    words = ["--project", str(project), "run", "hello", "--sandbox", "local", "--run-name", "r"]
    done = CliRunner().invoke(harness, words)
    assert 0 == done.exit_code, done.output
    return project


@pytest.fixture
def foreign(tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> Foreign:
    found = Foreign(tmp_path, made)
    monkeypatch.chdir(found.project)
    return found


def _check(verifier: str, **parameters: Any) -> dict[str, Any]:
    return {"checks": [{"name": "k", "verifier": verifier, "with": parameters}]}


PYTHON = {"s": {"python": "evil.py"}}
PROGRAM = {"s": {"mcp": {"command": ["python3", "evil.py"]}}}
REFUSED = [
    (_check("evil.py:Check"), "evil.py:Check"),
    (_check("evil:Check"), "evil:Check"),
    (_check("an-entry-point"), "an-entry-point"),
    (_check("final_answer", function="evil.py:accepts"), "evil.py:accepts"),
    ({"metrics": ["evil.py:Check"]}, "metrics: evil.py:Check"),
    ({"servers": PYTHON}, "server 's'"),
    ({"servers": PROGRAM}, "server 's'"),
]


@pytest.mark.parametrize(("changed", "named"), REFUSED)
@pytest.mark.parametrize("command", [("score",), ("case", "from-trace")])
def test_a_stored_suite_that_names_code_is_refused(foreign: Foreign, command, changed, named) -> None:
    foreign.keep_suite(**changed)
    more = ("hello-world",) if command[0] != "score" else ()
    done = foreign(*command, "r", *more)
    assert isinstance(done.exception, UsageError), done.output
    assert "suites/" in str(done.exception.remedy)
    assert named in str(done.exception)
    assert not foreign.marker.exists()


def test_the_same_code_in_the_project_runs_and_scores_the_run(foreign: Foreign) -> None:
    suite = foreign.project / "suites/hello"
    (suite / "evil.py").write_text(CODE.format(marker=foreign.marker))
    text = (suite / "suite.yaml").read_text()
    (suite / "suite.yaml").write_text(text + "\nchecks: [{name: mine, verifier: 'evil.py:Check'}]\n")
    foreign.keep_suite()
    done = foreign("score", "r", "--json")
    assert 0 == done.exit_code, done.exception
    assert foreign.marker.exists()


def test_a_stored_suite_without_code_is_used(foreign: Foreign) -> None:
    foreign.keep_suite(checks=[ANSWER])
    assert 0 == foreign("score", "r").exit_code
    scored = foreign.run / "scores/1/scorecards.jsonl"
    for line in scored.read_text().splitlines():
        assert "k" in [one["check"] for one in json.loads(line)["verdicts"]]


def test_rubrics_of_a_run_folder_are_not_found(foreign: Foreign) -> None:
    foreign.keep_suite()
    (foreign.run / "rubrics").mkdir()
    rubric = "name: own\ncriteria: [{id: c, statement: s, kind: code, code: 'evil.py:Check'}]\n"
    (foreign.run / "rubrics/own.yaml").write_text(rubric)
    done = foreign("judge", "run", "r", "--rubric", "own", "--model", "m")
    assert isinstance(done.exception, UsageError)
    assert "'own'" in str(done.exception)
    assert not foreign.marker.exists()


@pytest.mark.parametrize("name", ["runs/r/suite", "/{run}/suite", "..", "../evals/runs/r/suite", "suite"])
@pytest.mark.parametrize(
    "command",
    [("score", "r"), ("run", "--resume", "r"), ("explain", "r", "hello-world", "--transcript", "everything")],
)
def test_the_suite_of_a_manifest_is_never_a_path(foreign: Foreign, command, name) -> None:
    own, stolen = foreign.project / "suites/hello", foreign.run / "suite"
    stolen.mkdir()
    (foreign.project / "suite").symlink_to(stolen)  # what the name alone leads to in the folder that one works in
    for path in own.rglob("*"):
        if path.is_file():
            (stolen / path.relative_to(own)).parent.mkdir(parents=True, exist_ok=True)
            (stolen / path.relative_to(own)).write_bytes(path.read_bytes())
    (stolen / "evil.py").write_text(CODE.format(marker=foreign.marker))
    with (stolen / "suite.yaml").open("a") as text:
        text.write("\nchecks: [{name: theirs, verifier: 'evil.py:Check'}]\n")
    foreign.manifest(suite=name.format(run=foreign.run))
    done = foreign(*command)
    assert isinstance(done.exception, UsageError | ResultsError), done.output
    assert not foreign.marker.exists()


@pytest.mark.parametrize("name", ["runs/r/evil.py:Check", "evil:Check", "no-such"])
def test_the_sandbox_of_a_manifest_is_never_a_module(foreign: Foreign, name) -> None:
    foreign.manifest(provider=name)
    done = foreign("run", "--resume", "r")
    assert isinstance(done.exception, HarnessError), done.output
    assert "--sandbox" in str(done.exception)
    assert not foreign.marker.exists()


def test_a_run_that_chooses_no_isolation_says_so_before_it_goes_on(foreign: Foreign) -> None:
    done = foreign("run", "--resume", "r")
    assert 0 == done.exit_code, done.output
    assert "`local`: the agent is NOT" in done.output
