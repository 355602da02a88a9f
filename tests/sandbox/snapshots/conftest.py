"""A project that declares one state of files."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from harness.sandbox.snapshots import SnapshotStore


@pytest.fixture
def declare(tmp_path: Path) -> Callable[..., SnapshotStore]:
    """Declares the states given as keyword arguments of the environment `desk`, whose files lie in `files`."""

    def write(**states: dict[str, object]) -> SnapshotStore:
        folder = tmp_path / "images" / "desk"
        (folder / "files" / "work").mkdir(parents=True, exist_ok=True)
        (folder / "environment.yaml").write_text(yaml.safe_dump({"states": states}))
        return SnapshotStore(tmp_path)

    return write


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Where the state's files in `/work` lie before they are sealed."""
    folder = tmp_path / "images" / "desk" / "files" / "work"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
