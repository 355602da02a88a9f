"""Names, paths and floors that cannot be: refused in words, before anything runs."""

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.cli.main import harness
from harness.errors import HarnessError, InvalidDocument, UsageError


def typed(project: Path, *words: str) -> Result:
    return CliRunner().invoke(harness, ["--project", str(project), *words])


@pytest.fixture
def project(tmp_path: Path, first_project: Path) -> Path:
    return Path(shutil.copytree(first_project, tmp_path / "evals"))


RUN = ("run", "hello", "--sandbox", "local")


@pytest.mark.parametrize("name", ["../../x", "/tmp/x", "", ".x", "a/b", "x" * 121, "a\x1bb"])
def test_a_run_name_that_no_folder_can_have_is_refused(project: Path, name: str) -> None:
    imported = (project / "foreign.json").write_text("{}") and ("import", "otel", str(project / "foreign.json"))
    for words in (RUN, ("merge", "a", "b"), imported, ("drift", "probe", "hello")):
        done = typed(project, *words, "--run-name", name)
        assert isinstance(done.exception, UsageError), (words, done.output)
        assert "120" in str(done.exception)
    assert not (project / "runs").exists()


@pytest.mark.parametrize("pattern", ["/etc/passwd", "../*.yaml", "a/../../b.yaml", "**cases"])
def test_case_files_stay_inside_of_the_suite(project: Path, pattern: str) -> None:
    path = project / "suites/hello/suite.yaml"
    path.write_text(path.read_text().replace("cases: cases.yaml", f"cases: {pattern!r}"))
    done = typed(project, *RUN)
    assert isinstance(done.exception, InvalidDocument), done.output
    assert "suite.yaml" in str(done.exception)
    assert "cases" in str(done.exception)


@pytest.mark.parametrize(
    ("floor", "said"), [("task_sucess=1", "did you mean 'task_success'"), ("steps", "expected METRIC=VALUE")]
)
def test_a_floor_of_no_figure_is_refused_before_anything_runs(project: Path, floor: str, said: str) -> None:
    done = typed(project, *RUN, "--fail-under", floor)
    assert isinstance(done.exception, UsageError), done.output
    assert said in str(done.exception)
    assert not (project / "runs").exists()
    assert 0 == typed(project, *RUN, "--fail-under", "task_success=0.5").exit_code


def test_an_unknown_case_or_run_is_refused_with_the_nearest_name(project: Path) -> None:
    known = re.findall(r"^- id: (\S+)", (project / "suites/hello/cases.yaml").read_text(), re.MULTILINE)
    done = typed(project, *RUN, "--case", known[0][:-1])
    assert isinstance(done.exception, UsageError), done.output
    assert repr(known[0]) in str(done.exception)
    assert not (project / "runs").exists()
    assert 0 == typed(project, *RUN, "--case", known[0], "--run-name", "tour").exit_code
    done = typed(project, "report", "toru")
    assert isinstance(done.exception, UsageError), done.output
    assert "'tour'" in str(done.exception)


def _gated(project: Path, gates: str) -> None:
    path = project / "suites/hello/suite.yaml"
    path.write_text(f"{path.read_text()}\ngates: {gates}\n")


def test_gates_of_the_suite_hold_for_every_run(project: Path) -> None:
    _gated(project, "{fail_under: {task_success: 1.1}}")
    assert 1 == typed(project, *RUN, "--run-name", "gated").exit_code
    assert 1 == typed(project, "run", "--resume", "gated", "--sandbox", "local").exit_code
    assert 0 == typed(project, *RUN, "--fail-under", "task_success=0.5").exit_code  # typed: in place of the suite's


@pytest.mark.parametrize(
    ("gates", "said"),
    [
        ("{fail_under: {task_sucess: 1}}", "did you mean 'task_success'"),
        ("{fail_undr: {}}", "did you mean 'fail_under'"),
        ("{against_baseline: true}", "no baseline"),
    ],
)
def test_gates_of_the_suite_that_cannot_hold_are_refused_before_anything_runs(
    project: Path, gates: str, said: str
) -> None:
    _gated(project, gates)
    done = typed(project, *RUN)
    assert isinstance(done.exception, HarnessError), done.output
    assert said in str(done.exception)
    assert not (project / "runs").exists()


CRASHING = 'raise SystemExit("no such key: MODEL")\n'


def test_a_run_in_which_every_trial_crashed_exits_1_with_the_last_lines(project: Path) -> None:
    agent = project / "suites/hello/agents/v1/main.py"
    honest = agent.read_text()
    agent.write_text(CRASHING)
    crashed = typed(project, *RUN)
    assert 1 == crashed.exit_code, crashed.output
    assert "hello-ada/1: no such key: MODEL (agent_failed" in crashed.stderr

    agent.write_text(honest.replace("Hello, ", "Goodbye, "))  # wrong is not a crash: without a gate a run only reports
    assert 0 == typed(project, *RUN).exit_code


def test_in_ci_a_run_is_compared_by_itself_with_one_of_the_same_agent(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    path = project / "suites/hello/suite.yaml"
    text = path.read_text()
    found = re.search(r"^  v1:(.*\n(?:    .*\n)*)", text, re.MULTILINE)
    assert found is not None
    path.write_text(text.replace(found.group(0), f"{found.group(0)}  v2:{found.group(1)}"))
    assert "pairs:" not in typed(project, *RUN, "--run-name", "one", "--agent", "v1").stdout
    assert "pairs:" not in typed(project, *RUN, "--run-name", "other", "--agent", "v2").stdout
    assert "over 2 pairs:" in typed(project, *RUN, "--run-name", "again", "--agent", "v1").stdout
    monkeypatch.delenv("CI")
    assert "pairs:" not in typed(project, *RUN, "--run-name", "asked", "--agent", "v1").stdout


@pytest.mark.parametrize("name", ["..:Check", "../../outside:Check", ".:Check", ":Check"])
@pytest.mark.parametrize("field", ["metrics: [{name!r}]", "checks: [{{name: k, verifier: {name!r}}}]"])
def test_a_plug_in_that_is_no_module_s_name_is_refused_in_words(project: Path, field: str, name: str) -> None:
    path = project / "suites/hello/suite.yaml"
    path.write_text(f"{path.read_text()}\n{field.format(name=name)}\n")
    done = typed(project, *RUN)
    assert isinstance(done.exception, HarnessError), (done.output, done.exception)


@pytest.mark.parametrize("prompt", ["../../cases.yaml", "/etc/hostname", "no-such", "a\0b", "x" * 5_000])
def test_a_prompt_is_one_of_the_agents_files(project: Path, prompt: str) -> None:
    path = project / "suites/hello/suite.yaml"
    declared = "    files: agents/v1\n"
    path.write_text(path.read_text().replace(declared, f"{declared}    prompts: [{json.dumps(prompt)}]\n"))
    done = typed(project, *RUN)
    assert isinstance(done.exception, UsageError), (done.output, done.exception)
    assert "'prompts'" in str(done.exception)


@pytest.mark.parametrize("name", ["../none.yaml", "..", "a\0b", "x" * 5_000])
def test_a_file_of_tools_that_cannot_be_read_is_named_by_its_field(project: Path, name: str) -> None:
    path = project / "suites/hello/suite.yaml"
    path.write_text(path.read_text().replace("tools:\n  - sandbox: [write_file]\n", f"tools: {json.dumps(name)}\n", 1))
    done = typed(project, *RUN)
    assert isinstance(done.exception, InvalidDocument), (done.output, done.exception)
    assert "field 'tools'" in str(done.exception)
