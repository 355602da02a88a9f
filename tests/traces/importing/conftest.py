"""Where the trajectories of others lie, and a short way to import a file that a test writes."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.runs.foreign_runs import ImportedRun, import_file
from harness.traces.formats.found import ImportOptions
from tests.real_data import real_data as expected

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real trajectories."""
    return expected()


@pytest.fixture
def fixtures() -> Path:
    return Path(__file__).parent / "fixtures"


Importing = Callable[..., ImportedRun]


@pytest.fixture
def importing(tmp_path: Path) -> Importing:
    """Writes a value as a file and imports it."""

    def run(format: str, value: object, *, name: str = "file.json", **options: object) -> ImportedRun:
        path = tmp_path / name
        if isinstance(value, bytes):
            path.write_bytes(value)
        elif isinstance(value, str):
            path.write_text(value)
        elif name.endswith(".jsonl"):
            path.write_text("".join(json.dumps(line) + "\n" for line in value))
        else:
            path.write_text(json.dumps(value))
        return import_file(format, path, ImportOptions.model_validate(options))

    return run
