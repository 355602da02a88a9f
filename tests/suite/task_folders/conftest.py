"""Task folders of Harbor's format that a test changes, in a project of its own."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

TASKS = Path(__file__).parent / "tasks"
MAP = '"ubuntu:24.04": base\n"debian:bookworm*": base\n"python:3.*": base\n'


@pytest.fixture
def tasks(tmp_path: Path) -> Callable[..., Path]:
    """Copies the tasks of these names to the project `tmp_path`, and gives their folder."""

    def copied(*names: str) -> Path:
        (tmp_path / "images").mkdir()
        (tmp_path / "images/map.yaml").write_text(MAP)
        for name in names:
            shutil.copytree(TASKS / name, tmp_path / "terminal" / name)
        return tmp_path / "terminal"

    return copied
