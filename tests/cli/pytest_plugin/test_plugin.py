"""`pytest --harness SUITE` in a session of its own: one test a trial, one run for all workers, JUnit by pytest."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from harness.cli.main import harness


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "evals"
    done = CliRunner().invoke(harness, ["init", str(folder)])
    assert done.exception is None, done.output
    return folder


def session(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--harness-sandbox", "local", *arguments]
    return subprocess.run(command, cwd=project, env=outside, capture_output=True, text=True, timeout=300)


def runs(project: Path) -> list[str]:
    return sorted(path.name for path in (project / "runs").iterdir())


def test_each_trial_is_a_test_and_junit_has_its_figures(project: Path) -> None:
    done = session(project, "--harness", "hello", "--junitxml", "junit.xml")

    assert 0 == done.returncode, done.stdout
    cases = ElementTree.parse(project / "junit.xml").getroot().findall(".//testcase")
    assert ["hello-ada", "hello-world"] == [case.get("name") for case in cases]
    assert {"suites.hello.suite.yaml"} == {case.get("classname") for case in cases}
    properties = {one.get("name"): one.get("value") for one in cases[0].iter("property")}
    (run,) = runs(project)
    assert (run, "finished", "1.0") == (properties["run"], properties["outcome"], properties["steps"])
    assert abs(float(cases[0].get("time", "")) - float(properties["latency_s"] or "")) < 0.01


@pytest.mark.slow
def test_a_failed_trial_fails_with_its_reasons(project: Path) -> None:
    agent = project / "suites/hello/agents/v1/main.py"
    agent.write_text(agent.read_text().replace("Hello", "Good day"))

    done = session(project, "--harness", "hello")

    assert 1 == done.returncode
    assert "greets: failed:" in done.stdout
    assert f"explain {runs(project)[0]} hello-world/1" in done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.slow
def test_no_control_character_of_an_agent_is_printed(project: Path) -> None:
    hostile = "\x1b[2J\x9b2J\u202egnp.exe\u2028\n===== 1 passed in 0.10s ====="
    agent = project / "suites/hello/agents/v1/main.py"
    agent.write_text(
        agent.read_text().replace('{"message": greeting}', f'{{"message": json.dumps({{{hostile!r}: 1}})}}')
    )
    cases = project / "suites/hello/cases.yaml"
    schema = "{additionalProperties: {type: string}}"
    check = f"checks: [{{name: fits, verifier: json_schema, with: {{of: answer, schema: {schema}}}}}]"
    cases.write_text(f"- {{id: hello-ada, task: x, {check}}}\n")

    done = session(project, "--harness", "hello")

    assert 1 == done.returncode
    assert "fits: failed: " in done.stdout
    assert "\\u001b[2J\\u009b2J\\u202egnp.exe\\u2028" in done.stdout
    assert [] == [raw for raw in "\x1b\x9b\u202e\u2028" if raw in done.stdout]
    assert [] == [line for line in done.stdout.splitlines() if line.startswith("===== 1 passed")]


@pytest.mark.slow
def test_a_trial_of_unknown_success_never_passes(project: Path) -> None:
    cases = project / "suites/hello/cases.yaml"
    cases.write_text(cases.read_text().partition("- id: hello-world")[0].partition("  checks:")[0])

    done = session(project, "--harness", "hello")

    assert 1 == done.returncode
    assert "no check" in done.stdout


@pytest.mark.slow
def test_a_run_that_cannot_be_made_is_an_error_of_every_test(project: Path) -> None:
    done = session(project, "--harness", "hello", "--harness-agent", "v9")

    assert 1 == done.returncode
    assert "2 errors" in done.stdout
    assert "v9" in done.stdout


@pytest.mark.slow
def test_workers_share_one_run_of_what_is_selected(project: Path) -> None:
    done = session(project, "--harness", "hello", "--harness-trials", "2", "-n", "2", "-k", "ada", "-v")

    assert 0 == done.returncode, done.stdout
    assert "2 passed" in done.stdout
    (run,) = runs(project)  # and no lock is left
    assert ["hello-ada"] == [path.name for path in (project / "runs" / run / "trials").iterdir()]


@pytest.mark.slow
def test_suites_stand_beside_tests_and_can_be_named_by_case(project: Path) -> None:
    (project / "test_own.py").write_text(
        "def test_run(harness_run):\n"
        "    summary = harness_run('hello', cases=('hello-world',))\n"
        "    assert (1, 1) == (summary.success.successes, summary.success.n)\n"
    )
    done = session(project, "test_own.py", "suites/hello/suite.yaml::hello-ada", "--harness", "hello")

    assert 0 == done.returncode, done.stdout
    assert "2 passed" in done.stdout
    assert 2 == len(runs(project))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--harness", "hallo"), "--harness hallo: there is no"),
        (("--harness", "hello", "--harness-project", "elsewhere"), "name the project: --harness-project FOLDER"),
    ],
)
def test_a_suite_that_is_not_there_is_named(project: Path, arguments: tuple[str, ...], said: str) -> None:
    done = session(project, *arguments)

    assert 4 == done.returncode
    assert said in done.stderr
