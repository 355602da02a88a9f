"""A project of its own with the frameworks' suite, the model beside it, and a table of what was proved."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import RunManifest
from harness.scoring.scorecard import Scorecard
from harness.suite.loading import load_suite
from harness.suite.suites import Suite
from harness.traces.trial import Trial
from tests.suites.frameworks.model_server.server import ModelServer, running_model

ROOT = Path(__file__).parents[3]
HARNESS = Path(sys.executable).parent / "harness"
AGENTS = ("openai-agents", "pydantic-ai", "langgraph", "smolagents", "mini-swe-agent", "curl")
_ROWS = pytest.StashKey[list[str]]()


@dataclass(frozen=True)
class Proof:
    """A project with the suite, its model at `model`."""

    folder: Path
    model: ModelServer

    def harness(self, *words: str) -> str:
        """What `harness WORDS` prints; fails the test where it exits with anything but 0."""
        done = subprocess.run(
            [HARNESS, *words], cwd=self.folder, capture_output=True, text=True, timeout=900, env=dict(os.environ)
        )
        assert 0 == done.returncode, f"harness {' '.join(words)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def manifest(self, run: str) -> RunManifest:
        return RunFolder.open(self.folder / "runs" / run).manifest

    def trials(self, run: str) -> dict[str, Trial]:
        """The trials of a run by their case."""
        return {stored.trial.case_id: stored.trial for stored in RunFolder.open(self.folder / "runs" / run).trials()}

    def scorecards(self, run: str) -> dict[str, Scorecard]:
        return {card.case_id: card for card in RunFolder.open(self.folder / "runs" / run).scorecards()}


@pytest.fixture(scope="module")
def suite() -> Suite:
    return load_suite(ROOT, "frameworks")


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with running_model() as server:
        yield server


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Proof:
    """Without recordings: what is replayed was recorded by the test."""
    return Proof(copied_project(tmp_path_factory.mktemp("frameworks"), model), model)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Proof:
    """With the recordings of this repository."""
    project = Proof(copied_project(tmp_path_factory.mktemp("clone"), model), model)
    shutil.copytree(ROOT / "cassettes" / "frameworks", project.folder / "cassettes" / "frameworks")
    return project


@pytest.fixture(scope="module")
def built(proof: Proof, suite: Suite) -> Iterator[Callable[[str], None]]:
    """Waits for the image of an agent. All are built in the background, one after the other: that is mostly
    downloading, and goes on while the agents before are run."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        images: dict[str, Future[str]] = {
            agent: pool.submit(proof.harness, "image", "build", suite.agents[agent].image or "base") for agent in AGENTS
        }
        yield lambda agent: print(images[agent].result())
        for image in images.values():
            image.cancel()


@pytest.fixture
def table(request: pytest.FixtureRequest) -> list[str]:
    """Lines that are shown after the tests."""
    return request.config.stash.setdefault(_ROWS, [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    rows = config.stash.get(_ROWS, [])
    if rows:
        terminalreporter.section("frameworks: trajectory digests of record, replay and live")
        for row in rows:
            terminalreporter.line(row)


def copied_project(folder: Path, model: ModelServer) -> Path:
    """A project without recordings in `folder`, its suite asking `model`."""
    for name in ("suites/drive_thru", "suites/frameworks", "images", "snapshots"):
        shutil.copytree(ROOT / name, folder / name)
    declared = folder / "suites" / "frameworks" / "suite.yaml"
    text = declared.read_text(encoding="utf-8")
    address = load_suite(folder, "frameworks").model
    assert address is not None
    assert address.base_url is not None
    declared.write_text(text.replace(address.base_url, model.base_url), encoding="utf-8")
    return folder
