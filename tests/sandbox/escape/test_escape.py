"""Each try of a determined program fails in every sealed sandbox, and succeeds in a container made weak for it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from docker.models.containers import Container

from harness.sandbox.provider import Sandbox, SandboxProvider, SandboxSpec
from harness.suite.cases import Limits
from tests.sandbox.escape.sealed import sealed_folder
from tests.sandbox.escape.weak import tried_in
from tests.sandbox.escape.world import World, outside_world

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(120)]

PROGRAMS = Path(__file__).parent
NAMES = json.loads(subprocess.run([sys.executable, PROGRAMS / "tries"], stdout=subprocess.PIPE, check=True).stdout)
LACKING = ("[Errno 2]", "[Errno 19]", "[Errno 38]", "[Errno 93]", "[Errno 94]", "[Errno 95]", "[Errno 97]")
"""ENOENT, ENODEV, ENOSYS, and what says that there is no such protocol or family of sockets."""
_LIMITS = Limits(memory_mb=128, processes=64, disk_mb=16)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with outside_world(tmp_path_factory.mktemp("door")) as world:
        yield world


@pytest.fixture(scope="module")
def door(world: World) -> Path:
    return world.door.parent


@pytest.fixture(scope="module")
def sandbox(provider: SandboxProvider, base_image: str, world: World) -> Iterator[Sandbox]:
    spec = SandboxSpec(trial_id="escape", limits=_LIMITS, agent_files=PROGRAMS, gateway_socket=world.gateway)
    sandbox = provider.start(spec, sealed_folder(base_image))
    yield sandbox
    sandbox.close()


@pytest.mark.parametrize("name", NAMES)
def test_a_try_fails_in_the_sandbox(sandbox: Sandbox, world: World, name: str) -> None:
    ended = sandbox.exec(["python3", f"{sandbox.places.agent}/tries", world.told("/work"), name], {}, 60)
    if ended.signal is None:  # else it was ended for what it took
        assert "" != ended.stdout, ended
        tried = json.loads(ended.stdout)
        assert tried["escaped"] is False, f"{name}: {tried['what']}"
    assert 0 == sandbox.exec(["true"], {}, 60).code  # and the sandbox is as good as before


@pytest.mark.parametrize("name", NAMES)
def test_the_same_try_succeeds_in_a_weak_container(weak: Container, world: World, name: str) -> None:
    tried = json.loads(tried_in(weak, world.told("/tmp"), name))
    assert tried["escaped"] or any(word in tried["what"] for word in LACKING), f"{name}: {tried['what']}"
