"""The published JSON Schemas accept every file of this project and refuse what the readers refuse."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from harness.cli.main import harness
from harness.runs.schemas import KINDS_OF_DOCUMENT, SHAPES, DocumentKind, published_schema, reference_page
from harness.suite.documents import all_models, field_docs, read_plain, written_fields

ROOT = Path(__file__).parents[2]
MODELS = [model for shapes in SHAPES.values() for model in all_models([*shapes])]


def problems(kind: Any, document: Any) -> list[str]:
    return [error.json_path for error in Draft202012Validator(published_schema(kind)).iter_errors(document)]


def shipped() -> list[tuple[str, Path]]:
    """Every file of the project that has a schema, its templates included."""
    suites = [*ROOT.glob("suites/*/suite.yaml"), *ROOT.glob("harness/cli/template/suites/*/suite.yaml")]
    cases = [
        path
        for suite in suites
        for pattern in _listed(read_plain(suite)[0].get("cases", "cases.yaml"))
        for path in suite.parent.glob(pattern)
    ]
    rubrics = [*ROOT.glob("suites/*/rubrics/*.yaml"), *ROOT.glob("harness/judging/templates/rubrics/*.yaml")]
    return [
        *(("suite", path) for path in suites),
        *(("case", path) for path in cases),
        *(("environment", path) for path in ROOT.glob("images/*/environment.yaml")),
        *(("rubric", path) for path in rubrics),
    ]


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


@pytest.mark.parametrize(("kind", "path"), shipped(), ids=lambda one: str(one).removeprefix(f"{ROOT}/"))
def test_every_file_of_the_project_fits_its_schema(kind: str, path: Path) -> None:
    assert [] == problems(kind, read_plain(path)[0])


def test_there_are_files_of_every_kind() -> None:
    assert set(KINDS_OF_DOCUMENT) == {kind for kind, _ in shipped()}


@pytest.mark.parametrize("kind", KINDS_OF_DOCUMENT)
def test_each_schema_is_valid(kind: DocumentKind) -> None:
    Draft202012Validator.check_schema(published_schema(kind))


SUITE: dict[str, Any] = {"agents": {"v1": {"command": ["x"]}}}
TOOL: dict[str, Any] = {"name": "t", "server": "s", "http": {"path": "/"}}


@pytest.mark.parametrize(
    ("kind", "good", "wrong"),
    [
        ("suite", SUITE, {**SUITE, "agent": {}}),
        ("suite", SUITE, {"agents": {"v1": {"comand": ["x"]}}}),
        ("suite", {**SUITE, "tools": [TOOL]}, {**SUITE, "tools": [{**TOOL, "efect": "read"}]}),
        ("suite", {**SUITE, "tools": [TOOL]}, {**SUITE, "tools": [{"name": "t", "server": "s"}]}),
        ("suite", {**SUITE, "tools": "tools.yaml"}, {**SUITE, "tools": 3}),
        (
            "suite",
            {**SUITE, "tools": [{"openapi": "a.json", "server": "s", "only": ["a*"]}]},
            {**SUITE, "tools": [{"openapi": "a.json", "server": "s", "onyl": ["a*"]}]},
        ),
        ("case", [{"id": "a", "task": "t"}], [{"id": "a"}]),
        ("case", [{"id": "a", "task": "hi", "conversation": {}}], [{"id": "a", "conversation": {"turns": []}}]),
        ("case", [{"evalId": "a", "conversationScenario": {"startingPrompt": "hi"}}], [{"evalId": "a"}]),
        ("case", [{"id": "a", "task": "t", "checks": [{"name": "n", "verifier": "v"}]}], [{"id": "a b", "task": "t"}]),
        (
            "environment",
            {"services": {"db": {"image": "db", "port": 1, "wait": {"http": "/"}}}},
            {"services": {"db": {"image": "db", "prt": 1, "wait": {"http": "/"}}}},
        ),
        (
            "rubric",
            {"name": "r", "criteria": [{"id": "a", "statement": "It holds."}]},
            {"name": "r", "criteria": [{"id": "a", "statment": "It holds."}]},
        ),
    ],
)  # fmt: skip
def test_what_the_readers_take_fits_and_what_they_refuse_does_not(kind: str, good: Any, wrong: Any) -> None:
    assert [] == problems(kind, good)
    assert problems(kind, wrong)


def test_no_field_is_undocumented() -> None:
    missing = {
        model.__name__: sorted(set(written_fields(model)) - set(field_docs(model)))
        for model in MODELS
        if set(written_fields(model)) - set(field_docs(model))
    }
    assert {} == missing
    assert {"ToolSpec", "StateProbe", "OpenApiTools", "ToolServer", "Case"} <= {model.__name__ for model in MODELS}


def test_the_reference_page_is_the_one_that_the_shapes_give() -> None:
    assert reference_page() == (ROOT / "docs/reference/files.md").read_text(encoding="utf-8"), "run `make reference`"
    for field in (
        "only",
        "reads",
        "writes",
        "override",
        "generated_ids",
        "ignore",
        "secrets",
        "session_header",
    ):
        assert f"\n| `{field}` |" in reference_page()


def test_a_new_project_names_schemas_that_are_there_and_its_files_fit(tmp_path: Path) -> None:
    done = CliRunner().invoke(harness, ["init", str(tmp_path / "p")])
    assert done.exception is None, done.output
    named = {}
    for path in (tmp_path / "p/suites").rglob("*.yaml"):
        first = path.read_text(encoding="utf-8").splitlines()[0]
        schema = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)
        assert schema, path
        named[path] = (path.parent / schema[1]).resolve()
    assert {"suite.yaml": "suite.json", "cases.yaml": "case.json"} == {a.name: b.name for a, b in named.items()}
    for path, schema_path in named.items():
        checker = [Path(sys.executable).parent / "check-jsonschema", "--schemafile", schema_path, path]
        checked = subprocess.run(checker, capture_output=True, text=True)
        assert 0 == checked.returncode, checked.stdout
        path.write_text(path.read_text().replace("verifier:", "verifer:").replace("command:", "comand:"))
        assert 1 == subprocess.run(checker, capture_output=True, text=True).returncode


def test_schemas_are_written_anew_for_a_project_that_is_there(tmp_path: Path) -> None:
    for folder in ("schemas", "suites"):
        (tmp_path / folder).mkdir()
    (tmp_path / "schemas/suite.json").write_text("{}")
    assert 0 == CliRunner().invoke(harness, ["init", str(tmp_path), "--schemas"]).exit_code
    assert published_schema("suite") == json.loads((tmp_path / "schemas/suite.json").read_text())
