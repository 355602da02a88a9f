"""A matrix: runs of one suite and agent, one for each combination of values of the agent's variables.

It is a folder beside its runs that names them, in their order; all else stands in the runs themselves.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from harness.case import VariableName
from harness.results.manifest import RUN_NAME, SUITE_NAME
from harness.results.storage import commit_folder, json_bytes, read_as
from harness.values import Frozen

_MATRIX = "matrix.json"
_LONGEST_NAME = 120
_LONGEST_VALUES = 48


class Matrix(Frozen):
    """What was begun together, and is resumed together."""

    name: str = Field(pattern=RUN_NAME)
    created: str
    """ISO 8601, UTC."""
    suite: str = Field(pattern=SUITE_NAME)
    agent: str
    variables: tuple[VariableName, ...]
    """Those that have several values, in the order in which they were typed."""
    runs: tuple[Annotated[str, Field(pattern=RUN_NAME)], ...] = Field(min_length=2, max_length=64)
    """Names of run folders beside this one."""


def matrix_at(path: Path) -> Matrix | None:
    """The matrix of that folder; None where it is none. Raises ResultsError where it is damaged."""
    file = path / _MATRIX
    return read_as(file, Matrix) if file.is_file() else None


def write_matrix(runs: Path, matrix: Matrix) -> Path:
    """Stores a new matrix beside its runs, and gives its folder."""
    path = runs / matrix.name
    commit_folder(path, {_MATRIX: json_bytes(matrix)})
    return path


def matrix_run_names(name: str, values: Sequence[Sequence[str]]) -> list[str]:
    """A name for each combination: that of the matrix and the values, `models-gpt-5`; never the same twice."""
    names: list[str] = []
    for number, own in enumerate(values, start=1):
        words = re.sub(r"[^A-Za-z0-9._]+", "-", "-".join(own)).strip("-.")[:_LONGEST_VALUES] or str(number)
        found = f"{name[: _LONGEST_NAME - len(words) - 5]}-{words}"
        names.append(found if found not in names else f"{found}-{number}")
    return names
