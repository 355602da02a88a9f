"""`harness.run` and `harness.compare` give what the command line prints."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

import harness
from harness.api import RunOptions, UsageError
from tests.cli.starting import run_command


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs") / "evals"
    command(folder.parent, "init", str(folder))
    return folder


def command(folder: Path, *words: str) -> str:
    done = run_command(*words, folder=folder)
    assert 0 == done.returncode, done.stderr
    return done.stdout


def test_a_run_and_a_comparison_are_what_the_command_line_prints(project: Path) -> None:
    options = RunOptions(suite="hello", sandbox="local", run_name="mine", trials=2)
    summary = harness.run(options, project=project)
    printed = json.loads(
        command(project, "run", "hello", "--sandbox", "local", "--run-name", "typed", "--trials", "2", "--json")
    )
    mine = summary.model_dump(mode="json")
    assert mine["counts"] == printed["counts"]
    assert mine.keys() == printed.keys()
    scores = [[one["metric"], one["mean"]] for one in mine["figures"]]
    assert scores == [[one["metric"], one["mean"]] for one in printed["figures"]]
    shown = json.loads(command(project, "report", "mine", "--json"))
    assert mine == shown
    comparison = harness.compare("mine", "typed", project=project)
    from harness.reports.render.markdown import comparison_json

    assert comparison_json(comparison, []) == command(project, "compare", "mine", "typed", "--json")


def test_a_run_that_exists_is_refused_before_anything_is_started(project: Path) -> None:
    with pytest.raises(UsageError, match="'hallo'"):
        harness.run(RunOptions(suite="hallo"), project=project)


def test_options_that_cannot_be_are_refused_by_name() -> None:
    with pytest.raises(ValidationError, match="trials"):
        RunOptions(suite="hello", trials=0)
    with pytest.raises(ValidationError, match="repeat"):
        RunOptions.model_validate({"suite": "hello", "repeat": 2})


def test_the_package_has_no_other_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        harness.runn  # noqa: B018 - the access itself is what fails
