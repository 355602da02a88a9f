"""An app over a project with runs, and a client that entered by its link."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from harness.cli.view import app_pages
from harness.reports.pages.server import ViewServer
from tests.reports.app.client import entered
from tests.reports.html.browser import Browser
from tests.reports.html.runs import HOSTILE, judge, store


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of one suite, one of another, and one with texts of somebody who wishes the reader ill."""
    folder = tmp_path_factory.mktemp("project")
    runs = folder / "runs"
    judge(store(runs, "after", trials=6))
    store(runs, "before", trials=6, failing=(0, 1, 2), agent="v0", created="2026-01-30T12:00:00Z")
    store(runs, "other", trials=3, suite="another", suite_digest="d2")
    store(runs, "hostile", trials=2, said=HOSTILE, result={HOSTILE: [HOSTILE]}, suite="hostile")
    return folder


@pytest.fixture(scope="session")
def server(project: Path) -> Iterator[ViewServer]:
    with ViewServer(project, app_pages()) as own:
        yield own


@pytest.fixture(scope="session")
def client(server: ViewServer) -> Iterator[httpx.Client]:
    with entered(server) as own:
        yield own


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with Browser() as own:
        yield own
