"""What only containers can do wrong: images that cannot run, engines that refuse, harnesses that die."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import docker
import pytest

from harness.errors import SandboxError, SandboxLost
from harness.sandbox.conformance.provider_fixture import shell
from harness.sandbox.containers.configuration import TRIAL_LABEL
from harness.sandbox.containers.docker import DockerSandboxProvider
from harness.sandbox.ownership import OWNER_LABEL
from harness.suite.cases import Limits
from tests.sandbox.starting import empty, spec

pytestmark = pytest.mark.docker

_KILLED_HARNESS = """
import sys
from harness.suite.cases import Limits
from harness.sandbox.containers.docker import DockerSandboxProvider
from harness.sandbox.ownership import ProcessIdentity
from harness.sandbox.provider import SandboxSpec
from harness.sandbox.snapshot import Snapshot
provider = DockerSandboxProvider(run="killed", relayed=sys.argv[2] == "relayed")
snapshot = Snapshot(name="empty", environment="base", image=sys.argv[1])
sandbox = provider.start(SandboxSpec(trial_id="killed", limits=Limits()), snapshot)
print(ProcessIdentity.current(), flush=True)
sandbox.exec(["sleep", "600"], {}, 600)
"""


@pytest.fixture
def provider(client: docker.DockerClient) -> Iterator[DockerSandboxProvider]:
    provider = DockerSandboxProvider(run="tests", client=client)
    yield provider
    provider.close()


def _labelled(client: docker.DockerClient, label: str) -> list[str]:
    return [found["Id"] for found in client.api.containers(all=True, filters={"label": label})]


@pytest.mark.parametrize(("how", "containers"), [("mounted", 1), pytest.param("relayed", 2, marks=pytest.mark.slow)])
def test_nothing_is_left_of_a_harness_that_was_killed(
    client: docker.DockerClient, base_image: str, how: str, containers: int
) -> None:
    with tempfile.TemporaryDirectory(prefix="h-", dir="/tmp") as apart:  # others reap too, and would be quicker
        own = {**os.environ, "TMPDIR": apart}
        command = [sys.executable, "-c", _KILLED_HARNESS, base_image, how]
        harness = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=own)
        assert harness.stdout is not None
        owner = harness.stdout.readline().strip()
        running = _labelled(client, f"{OWNER_LABEL}={owner}")
        assert containers == len(running)
        mounts = [mount for one in running for mount in client.api.inspect_container(one)["Mounts"]]
        os.kill(harness.pid, signal.SIGKILL)
        harness.wait()
        harness.stdout.close()
        deadline = time.monotonic() + 60
        while _labelled(client, f"{OWNER_LABEL}={owner}") and time.monotonic() < deadline:
            time.sleep(0.05)
        assert [] == _labelled(client, f"{OWNER_LABEL}={owner}")
        volumes = {mount["Name"] for mount in mounts if mount["Type"] == "volume"}
        assert volumes.isdisjoint(volume["Name"] for volume in client.api.volumes()["Volumes"] or ())
        code = (
            "from harness.sandbox.engine import connect\n"
            "from harness.sandbox.leftovers import reap\n"
            "print(*reap(connect()), sep='\\n')"
        )
        reaped = subprocess.run([sys.executable, "-c", code], env=own, capture_output=True, text=True, check=True)
        assert any(owner in line for line in reaped.stdout.splitlines())


@pytest.mark.slow
def test_image_without_python_is_told_and_leaves_nothing(
    provider: DockerSandboxProvider, client: docker.DockerClient, base_image: str
) -> None:
    container = client.api.create_container(base_image, ["rm", "/usr/bin/python3"])["Id"]
    client.api.start(container)
    client.api.wait(container)
    client.api.commit(container, repository="harness-test-no-python", tag="test")
    client.api.remove_container(container)
    try:
        with pytest.raises(SandboxError, match=r"^the image has no python3, which .*: install it in"):
            provider.start(spec(), empty("harness-test-no-python:test"))
    finally:
        provider.close()
        client.api.remove_image("harness-test-no-python:test", force=True)
    assert _labelled(client, "harness.run=tests") == []


@pytest.mark.slow
def test_closing_during_a_program_ends_it(provider: DockerSandboxProvider, base_image: str) -> None:
    sandbox = provider.start(spec(), empty(base_image))
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(sandbox.exec, ["sleep", "600"], {}, 600.0)
        time.sleep(0.3)
        sandbox.close()
        with pytest.raises(SandboxError):
            running.result(timeout=90)


@pytest.mark.slow
def test_closed_provider_has_nothing_left_and_starts_nothing(client: docker.DockerClient, base_image: str) -> None:
    provider = DockerSandboxProvider(run="closing", client=client)
    sandboxes = [provider.start(spec(), empty(base_image)) for _ in range(2)]
    sandboxes[0].exec(["true"], {}, 10)
    provider.close()
    provider.close()
    assert _labelled(client, "harness.run=closing") == []
    with pytest.raises(SandboxError, match="closed"):
        provider.start(spec(), empty(base_image))
    with pytest.raises(SandboxError):
        sandboxes[1].exec(["true"], {}, 10)


def test_image_of_the_spec_wins_over_the_snapshots(provider: DockerSandboxProvider, base_image: str) -> None:
    sandbox = provider.start(spec(image=base_image), empty("harness-no-such-image:none"))
    assert shell(sandbox, "exit 3").code == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fills", "ends", "by"), [(True, "SIGKILL", "memory"), (True, "engine", "engine"), (False, "SIGKILL", None)]
)
def test_a_sandbox_lost_at_its_memory_limit_is_told_from_one_that_the_engine_killed(
    provider: DockerSandboxProvider, client: docker.DockerClient, base_image: str, fills: bool, ends: str, by: str
) -> None:
    limits = Limits(memory_mb=64, disk_mb=8)
    sandbox = provider.start(spec(trial_id="full", limits=limits), empty(base_image))
    [container] = _labelled(client, f"{TRIAL_LABEL}=full")
    launcher = int(client.api.inspect_container(container)["State"]["Pid"])
    if fills:
        assert 9 == sandbox.exec(["python3", "-c", "b = bytearray(600 << 20)"], {}, 60).signal
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(sandbox.exec, ["sleep", "50"], {}, 60)
        time.sleep(0.5)
        if ends == "engine":
            client.api.kill(container)
        else:
            os.kill(launcher, signal.SIGKILL)  # from outside of its namespace, as the kernel ends a process
        with pytest.raises(SandboxLost) as lost:
            running.result(timeout=60)
    assert by == lost.value.by
