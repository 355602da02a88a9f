"""`harness case from-data`: rows as cases, and rows that make none."""

import shutil
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from harness.cli.main import harness
from harness.errors import InvalidDocument, UsageError
from harness.suite.loading import load_suite

TEMPLATE = """\
id: capital-{{row}}
category: geography
task: What is the capital of {{country}}?
expected_output: "{{capital}}"
checks:
  - {name: answer, verifier: final_answer, with: {contains: "{{capital}}"}}
"""


@pytest.fixture
def project(tmp_path: Path, first_project: Path) -> Path:
    folder = Path(shutil.copytree(first_project, tmp_path / "quiz"))
    suite = folder / "suites/hello/suite.yaml"
    suite.write_text(suite.read_text().replace("cases: cases.yaml", "cases: '*s.yaml'"))
    (folder / "template.yaml").write_text(TEMPLATE)
    return folder


def from_data(project: Path, name: str, text: str, *options: str) -> Result:
    (project / name).write_bytes(text.encode())
    chosen = options or ("--template", str(project / "template.yaml"))
    command = ["--project", str(project), "case", "from-data", "hello", str(project / name), *chosen]
    return CliRunner().invoke(harness, command)


def refused(project: Path, name: str, text: str, *options: str) -> InvalidDocument:
    done = from_data(project, name, text, *options)
    assert isinstance(done.exception, InvalidDocument), done.output
    assert not list((project / "suites/hello").glob("capitals.yaml"))
    return done.exception


def test_each_row_becomes_a_case_of_the_suite(project: Path) -> None:
    text = '\ufeffcountry,capital\r\nFrance,Paris\r\n\r\n"Bonaire, and\nothers",Kralendijk\r\n'

    done = from_data(project, "capitals.csv", text)

    assert done.exception is None, done.output
    assert f"wrote 2 cases to {project}/suites/hello/capitals.yaml\n" == done.output
    cases = {case.id: case for case in load_suite(project, "hello").cases}
    assert {"hello-ada", "hello-world", "capital-1", "capital-2"} == set(cases)
    assert "What is the capital of Bonaire, and\nothers?" == cases["capital-2"].task
    assert "Kralendijk" == cases["capital-2"].expected_output


def test_a_lone_placeholder_keeps_the_type_of_a_value(project: Path) -> None:
    done = from_data(project, "capitals.jsonl", '{"country": "France", "capital": 3.5}\n')

    assert done.exception is None, done.output
    (case,) = yaml.safe_load((project / "suites/hello/capitals.yaml").read_text())
    assert 3.5 == case["expected_output"]


def test_a_column_that_names_a_field_may_hold_anything(project: Path) -> None:
    (project / "template.yaml").write_text("{id: one, task: x, '{{country}}': y}\n")
    done = from_data(project, "capitals.jsonl", '{"country": ["a", "list"]}\n')

    assert isinstance(done.exception, InvalidDocument), done.exception
    assert 1 == done.exception.line


@pytest.mark.parametrize(
    ("name", "text", "line", "said"),
    [
        ("capitals.csv", "country,capital\nFrance,Paris\nItaly\n", 3, "the row has 1 fields, the header has 2"),
        ("capitals.csv", "country,town\nFrance,Paris\n", 2, "the row has no 'capital', which template.yaml names"),
        ("capitals.csv", "country,country\n", 1, "two columns have the name 'country'"),
        ("capitals.csv", 'country,capital\n"France,Paris\n', 2, "is not CSV"),
        ("capitals.csv", "country,capital\n", None, "has no row"),
        ("capitals.jsonl", '{"country": "a", "capital": "b"}\n{"country": \n', 2, "is not JSON"),
        ("capitals.jsonl", '\n\n["France", "Paris"]\n', 3, "the row is not an object"),
        ("capitals.jsonl", '{"country": "a", "country": "b", "capital": "c"}\n', 1, "is not JSON"),
    ],
)
def test_an_odd_row_is_named_and_nothing_is_written(
    project: Path, name: str, text: str, line: int | None, said: str
) -> None:
    error = refused(project, name, text)

    assert (line, True) == (error.line, said in str(error)), error


def test_two_rows_of_one_id_are_both_named(project: Path) -> None:
    (project / "template.yaml").write_text(TEMPLATE.replace("{{row}}", "{{country}}"))

    error = refused(project, "capitals.csv", "country,capital\nFrance,Paris\nItaly,Rome\nFrance,Lyon\n")

    assert 4 == error.line
    assert "line 2" in str(error)


def test_a_field_that_cases_do_not_have_is_named_with_the_row(project: Path) -> None:
    (project / "template.yaml").write_text(TEMPLATE + "tsak: x\n")

    error = refused(project, "capitals.csv", "country,capital\nFrance,Paris\n")

    assert (2, "tsak") == (error.line, error.field)


def test_what_is_there_already_is_kept(project: Path) -> None:
    text = "country,capital\nFrance,Paris\n"
    assert from_data(project, "capitals.csv", text).exception is None
    again = from_data(project, "capitals.csv", text)
    assert isinstance(again.exception, UsageError)
    assert "--replace" in str(again.exception)
    other = from_data(project, "towns.csv", text)
    assert "'capital-1'" in str(other.exception)
    template = str(project / "template.yaml")
    assert from_data(project, "capitals.csv", text, "--template", template, "--replace").exception is None
