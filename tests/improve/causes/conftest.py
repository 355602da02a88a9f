"""A copy of the suite `basics` with one run of each agent, in plain processes: its tools are functions of its own."""

import shutil
from pathlib import Path

import pytest

from tests.walks.conftest import Walk

LOCAL = ("--sandbox", "local")


@pytest.fixture(scope="session")
def basics(tmp_path_factory: pytest.TempPathFactory, project: Path) -> Walk:
    folder = tmp_path_factory.mktemp("causes")
    for name in ("suites/basics", "cassettes/basics"):
        shutil.copytree(project / name, folder / name)
    walk = Walk(folder)
    walk("run", "basics", "--case", "planned-meeting", *LOCAL, "--run-name", "good")
    walk(
        "run",
        "basics",
        "--agent",
        "naive",
        "--case",
        "planned-meeting",
        "--case",
        "five-items",
        *LOCAL,
        "--run-name",
        "naive",
    )
    return walk
