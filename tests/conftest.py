"""What all tests share: container tests that say so when they cannot run, and the base image."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_SKIPPED = pytest.StashKey[int]()
_PROJECT = Path(__file__).parent.parent
_LONG = {"engines", "frameworks", "escape", "soak"}
"""Folders whose files take minutes: they begin first, so that no worker ends long after the others."""


def _why_no_engine() -> str | None:
    from harness.errors import EngineUnavailable
    from harness.sandbox.engine import connect

    try:
        connect().close()
    except EngineUnavailable as error:
        return error.message
    return None


def pytest_configure(config: pytest.Config) -> None:
    """The same generated examples in every run, however slow the machine is; and an interrupt that works.

    Tests in the background of a shell ignore Ctrl-C, and so would what they start to interrupt it: for hours.
    """
    # Other examples are the fuzzers' part (`qa/fuzz`); how long one takes depends on what else the machine does.
    slow = [HealthCheck.too_slow]
    settings.register_profile("harness", derandomize=True, deadline=None, suppress_health_check=slow)
    settings.load_profile("harness")
    os.environ.pop("CI", None)  # `harness run` prints more there; what is told must not depend on where tests run
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.parent.name not in _LONG)
    containers = [item for item in items if item.get_closest_marker("docker")]
    reason = _why_no_engine() if containers else None
    if reason is None:
        return
    config.stash[_SKIPPED] = len(containers)
    for item in containers:
        item.add_marker(pytest.mark.skip(reason=reason))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    skipped = config.stash.get(_SKIPPED, 0)
    if skipped:
        terminalreporter.section("NO CONTAINER ENGINE", red=True, bold=True)
        terminalreporter.line(f"{skipped} container tests did NOT run. Start Docker and run them again.", red=True)


@pytest.fixture(scope="session")
def project() -> Path:
    """This repository, which is a project of its own."""
    return _PROJECT


@pytest.fixture(scope="session")
def first_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `harness init` writes, to be copied."""
    from click.testing import CliRunner

    from harness.cli.main import harness

    made = tmp_path_factory.mktemp("first") / "evals"
    assert 0 == CliRunner().invoke(harness, ["init", str(made)]).exit_code
    return made


@pytest.fixture(scope="session")
def base_image(project: Path) -> Iterator[str]:
    """Tag of the base image, built where it is not there yet."""
    from harness.sandbox.engine import connect
    from harness.sandbox.images.store import ImageStore

    client = connect()
    yield ImageStore(project, client).build("base").tag
    client.close()


@pytest.fixture(autouse=True)
def _same_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test depends on what the developer's shell exports."""
    for name in tuple(os.environ):
        if name.startswith("HARNESS_"):
            monkeypatch.delenv(name)
