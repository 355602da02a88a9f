"""`harness case new`: the case that five answers make, and what is refused."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.cli.main import harness
from harness.errors import UsageError
from harness.suite.loading import load_suite
from harness.suite.suites import case_of


@pytest.fixture
def project(tmp_path: Path) -> Path:
    CliRunner().invoke(harness, ["init", str(tmp_path)])
    return tmp_path


def new(project: Path, *answers: str) -> Result:
    return CliRunner().invoke(harness, ["--project", str(project), "case", "new", "hello"], input="\n".join(answers))


def test_five_answers_make_a_case_beside_the_others(project: Path) -> None:
    file = project / "suites/hello/cases.yaml"
    before = file.read_text()

    done = new(project, "Please greet Bo, in writing.", "Bo", "write_file", "", "", "")

    assert done.exception is None, done.output
    assert f"added please-greet-bo-in to {file}\n" in done.output
    assert file.read_text().startswith(before.rstrip("\n"))
    suite = load_suite(project, "hello")
    case = case_of(suite, "please-greet-bo-in")
    assert ("Please greet Bo, in writing.", ("write_file",), ()) == (
        case.task, case.required_tools, case.forbidden_tools,
    )  # fmt: skip
    assert ["final_answer", "required_tools"] == [check.verifier for check in case.checks]
    assert suite.defaults.seconds == case.limits.seconds


def test_a_case_without_a_check_is_pointed_out(project: Path) -> None:
    done = new(project, "Say nothing.", "", "", "", "silence", "")

    assert "no check" in done.output
    assert () == case_of(load_suite(project, "hello"), "silence").checks


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (("Greet.", "", "write_fiel", "", "x", ""), "did you mean 'write_file'?"),
        (("Greet.", "", "", "", "hello-ada", ""), "case 'hello-ada' already exists in hello"),
        (("Greet.", "", "", "", "no good", ""), "field 'id'"),
    ],
)
def test_a_wrong_answer_is_named_and_nothing_is_written(project: Path, answers: tuple[str, ...], said: str) -> None:
    before = (project / "suites/hello/cases.yaml").read_bytes()

    done = new(project, *answers)

    assert isinstance(done.exception, UsageError)
    assert said in str(done.exception)
    assert before == (project / "suites/hello/cases.yaml").read_bytes()
