"""What a run stores about how its trials were chosen: matrices, its own suite and its variants."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ResultsError, UsageError
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import Matrix, RunManifest, begin_run, matrix_at, matrix_run_names, write_matrix
from harness.suite.agents import AgentVersion
from harness.suite.cases import Case
from harness.suite.suites import Suite

Manifest = Callable[..., RunManifest]
MATRIX = Matrix(
    name="models", created="2026-01-31T12:00:00Z", suite="s", agent="v1", variables=("model",), runs=("m-a", "m-b")
)


def test_a_matrix_is_read_back_from_its_folder_and_is_no_run(runs: Path) -> None:
    path = write_matrix(runs, MATRIX)
    assert runs / "models" == path
    assert MATRIX == matrix_at(path)
    assert None is matrix_at(runs)
    with pytest.raises(UsageError) as refused:
        RunFolder.open(path)
    assert "m-a, m-b" in str(refused.value.remedy)
    with pytest.raises(ResultsError):
        write_matrix(runs, MATRIX)


@pytest.mark.parametrize("count", [1, 65])
def test_a_matrix_has_from_two_to_64_runs(count: int) -> None:
    with pytest.raises(ValueError, match="runs"):
        Matrix.model_validate(MATRIX.model_dump() | {"runs": [f"m-{number}" for number in range(count)]})


@pytest.mark.parametrize("count", [2, 64])
def test_a_matrix_may_have_two_runs_and_64(count: int) -> None:
    names = tuple(f"m-{number}" for number in range(count))
    assert names == Matrix.model_validate(MATRIX.model_dump() | {"runs": names}).runs


def test_the_runs_of_a_matrix_are_named_after_their_values() -> None:
    assert ["m-gpt-5-low", "m-gpt-5-high"] == matrix_run_names("m", [("gpt-5", "low"), ("gpt-5", "high")])
    assert ["m-a-b", "m-a-b-2", "m-3"] == matrix_run_names("m", [("a/b",), ("a b",), ("///",)])


def test_names_of_a_matrix_stay_names_of_runs_however_long_the_values_are() -> None:
    long = matrix_run_names("n" * 120, [("v" * 300,), ("v" * 300,), ("v",)])
    assert 3 == len(set(long))
    assert f"{'n' * (120 - 48 - 5)}-{'v' * 48}" == long[0]
    assert f"{long[0]}-2" == long[1]
    assert f"{'n' * (120 - 1 - 5)}-v" == long[2]
    assert all(len(name) <= 120 for name in long)


def test_an_imported_run_keeps_its_suite_and_only_a_writer_stores_one(runs: Path, manifest: Manifest) -> None:
    suite = Suite(
        name="s",
        folder=Path(),
        agents={"v1": AgentVersion(command=("true",), files="agent")},
        cases=(
            Case.model_validate(
                {"id": "a", "task": "t", "checks": [{"name": "c", "verifier": "v", "with": {"most": 3}}]}
            ),
        ),
        digest="0" * 64,
    )
    with RunFolder.create(runs, manifest()) as folder:
        assert None is folder.suite
        folder.keep_suite(suite)
        assert suite == folder.suite
    opened = RunFolder.open(runs / "run")
    assert suite == opened.suite
    assert '"with": {' in (runs / "run" / "suite.json").read_text()
    with pytest.raises(ResultsError):
        opened.keep_suite(suite)


def test_the_variant_of_a_trial_is_that_of_its_case_and_attempt(manifest: Manifest) -> None:
    def varied(case_id: str, attempt: int, parent: str) -> dict[str, Any]:
        return {"case_id": case_id, "attempt": attempt, "variant": {"parent": parent}}

    made = manifest(variants=(varied("a", 1, "r/a/1"), varied("a", 2, "r/a/5")))
    assert ["r/a/1", "r/a/5"] == [one.parent for attempt in (1, 2) if (one := made.variant("a", attempt)) is not None]
    assert None is made.variant("b", 1)
    assert None is made.variant("a", 3)


def test_a_run_without_a_given_name_takes_the_first_number_that_is_free(runs: Path) -> None:
    for name in ("day", "day-2"):
        (runs / name).mkdir(parents=True)
    assert "day-3" == begin_run(runs, None, "day", str)
    assert "night" == begin_run(runs, None, "night", str)
    assert "day" == begin_run(runs, "day", "night", str)


def test_names_that_differ_only_behind_the_shortest_form_are_numbered_by_place() -> None:
    names = matrix_run_names("m", [(value,) for value in itertools.repeat("x", 3)])
    assert ["m-x", "m-x-2", "m-x-3"] == names
