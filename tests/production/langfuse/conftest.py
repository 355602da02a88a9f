"""A first project with two runs: one as the template has it, one that was made wrong."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.starting import run_command
from tests.production.langfuse.langfuse_server import LangfuseServer, langfuse_server


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("experiments") / "evals"
    words = ("run", "hello", "--sandbox", "local", "--trials", "2", "--run-name", "first", "--release", "r7")
    for done in (run_command("init", str(folder), folder=folder.parent), run_command(*words, folder=folder)):
        assert 0 == done.returncode, done.stderr
    return folder


@pytest.fixture
def langfuse() -> Iterator[LangfuseServer]:
    with langfuse_server() as server:
        yield server
