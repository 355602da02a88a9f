"""Other engines than the machine's own: Docker 26.1 with overlay2, and Podman. Each is a second one; needs root.

`make engines` gets them. What an engine lacks is named here by the check that shows it, and by `harness doctor`.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.sandbox.conformance import run_conformance
from harness.sandbox.engines.facts import engine_facts
from harness.sandbox.providers import open_provider
from tests.engines import docker_26
from tests.qa.soak.second_engine import PodmanEngine, SecondEngine, second_engine

pytestmark = [pytest.mark.slow, pytest.mark.docker, pytest.mark.timeout(1800)]
ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Engine:
    """One that runs, with what it lacks: provider -> checks that it cannot pass."""

    running: SecondEngine
    lacks: dict[str, set[str]]


@pytest.fixture(scope="module")
def docker(base_image: str) -> Iterator[Engine]:
    programs = docker_26.programs()
    assert programs is not None, "Docker 26.1 is not here: make engines"
    with second_engine(base_image, programs=programs, driver="overlay2") as running:
        yield Engine(running, {})


@pytest.fixture(scope="module")
def podman(base_image: str) -> Iterator[Engine]:
    assert shutil.which("podman") is not None, "Podman is not here: make engines"
    with second_engine(base_image, kind=PodmanEngine) as running:
        yield Engine(running, {"docker": {"number_of_files_has_a_limit"}})


@pytest.mark.parametrize("kind", ["docker", "docker-warm"])
@pytest.mark.parametrize("name", ["docker", "podman"])
def test_every_promise_is_kept_but_what_the_engine_lacks(
    name: str,
    kind: str,
    request: pytest.FixtureRequest,
    base_image: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine: Engine = request.getfixturevalue(name)
    monkeypatch.setenv("DOCKER_HOST", engine.running.host)
    provider = open_provider(kind, run=f"engines-{name}")
    found = run_conformance(provider, base_image, tmp_path)
    provider.close()
    lacks = engine.lacks.get(kind, set())
    assert {} == {check: problem for check, problem in found.items() if problem is not None and check not in lacks}
    assert lacks == {check for check, problem in found.items() if problem is not None}


@pytest.mark.parametrize(("name", "said"), [("docker", ("Docker", "26.1")), ("podman", ("Podman", "4."))])
def test_the_engine_is_the_one_that_was_meant(name: str, said: tuple[str, str], request: pytest.FixtureRequest) -> None:
    engine: Engine = request.getfixturevalue(name)
    with engine.running.client() as client:
        facts = engine_facts(client)
    assert said[0] == facts.name
    assert facts.version.startswith(said[1])
    assert bool(engine.lacks) == bool(facts.lacks)


def test_nothing_escapes_from_the_sandboxes_of_docker_26(docker: Engine) -> None:
    """The escape suite as it runs on the machine's own engine, in the network that the engine takes for the machine's.

    Its databases are left out: their image is not there.
    """
    suite = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/escape/test_escape.py"]
    command = docker.running.in_its_network(*suite)
    env = {**os.environ, "DOCKER_HOST": docker.running.host}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert 0 == done.returncode, done.stdout[-6000:]
