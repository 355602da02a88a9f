"""Other engines than the machine's own: Docker 26.1 with overlay2, and Podman, with root and without. Each is a second
one; needs root.

`make engines` gets them. What an engine lacks is named here by the check that shows it, and by `harness doctor`.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.sandbox.conformance import checks, run_conformance
from harness.sandbox.engine import engine_facts
from harness.sandbox.providers import open_provider
from qa.soak.second_engine import PodmanEngine, SecondEngine, second_engine
from tests.sandbox.engines import docker_26
from tests.sandbox.engines.rootless import RootlessPodman

pytestmark = [pytest.mark.slow, pytest.mark.docker, pytest.mark.timeout(1800)]
ROOT = Path(__file__).parents[3]


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


@pytest.fixture(scope="module")
def rootless(base_image: str) -> Iterator[RootlessPodman]:
    with second_engine(base_image, kind=RootlessPodman) as running:
        assert isinstance(running, RootlessPodman)
        yield running


@pytest.mark.parametrize(("name", "kind"), [("docker", "docker"), ("podman", "docker"), ("podman", "docker-warm")])
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
    chosen = [check for check in checks() if kind == "docker" or check.needs_isolation]
    found = run_conformance(provider, base_image, tmp_path, chosen)
    provider.close()
    lacks = engine.lacks.get(kind, set())
    assert {} == {check: problem for check, problem in found.items() if problem is not None and check not in lacks}
    assert lacks == {check for check, problem in found.items() if problem is not None}


_LIMITS_BY_CGROUP = {"memory_hog_is_ended", "processes_have_a_limit"}


@pytest.mark.parametrize(
    ("kind", "lacks"),
    [("docker", {*_LIMITS_BY_CGROUP, "number_of_files_has_a_limit"}), ("docker-warm", _LIMITS_BY_CGROUP)],
)
def test_a_rootless_engine_lacks_what_it_is_said_to_lack(
    kind: str, lacks: set[str], rootless: RootlessPodman, base_image: str
) -> None:
    program = Path(__file__).parent / "conformance_of.py"
    found = json.loads(rootless.harness_as_its_user(ROOT, sys.executable, str(program), kind, base_image).stdout)
    assert lacks == {check for check, problem in found.items() if problem is not None}, found
    assert len(found) > len(lacks)


def test_doctor_names_what_a_rootless_engine_lacks(rootless: RootlessPodman) -> None:
    """Limits need cgroup v2 there, which this machine does not have."""
    with rootless.client() as client:
        facts = engine_facts(client)
    said = rootless.harness_as_its_user(ROOT, sys.executable, "-m", "harness", "doctor").stdout
    assert (True, "1") == (facts.rootless, facts.cgroups)
    assert "rootless" in said
    for what in ("memory", "processes", "processors", "the number of files"):
        assert f"no limit on {what}" in said


@pytest.mark.parametrize(("name", "said"), [("docker", ("Docker", "26.1")), ("podman", ("Podman", "4."))])
def test_the_engine_is_the_one_that_was_meant(name: str, said: tuple[str, str], request: pytest.FixtureRequest) -> None:
    engine: Engine = request.getfixturevalue(name)
    with engine.running.client() as client:
        facts = engine_facts(client)
    assert said[0] == facts.name
    assert facts.version.startswith(said[1])
    assert bool(engine.lacks) == bool(facts.lacks)


def test_nothing_escapes_from_the_sandboxes_of_docker_26(docker: Engine) -> None:
    """The escape suite of `docker` as on the machine's own engine, in the network that it takes for the machine's.

    The controls in a weak container are left out: that container is the same on every engine.
    """
    suite = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/sandbox/escape/test_escape.py"]
    suite += ["-k", "fails_in_the_sandbox and not docker-warm"]
    command = docker.running.in_its_network(*suite)
    env = {**os.environ, "DOCKER_HOST": docker.running.host}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert 0 == done.returncode, done.stdout[-6000:]
