"""What only warm containers can do wrong: something is left of a trial, or the container dies under one."""

import io
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import docker
import pytest

from harness.errors import SandboxError
from harness.sandbox.conformance.provider_fixture import shell
from harness.sandbox.containers.configuration import AGENT_UID
from harness.sandbox.containers.docker import DockerSandboxProvider
from harness.sandbox.containers.warm import WarmDockerSandboxProvider
from harness.suite.cases import Limits
from tests.sandbox.starting import empty, spec

pytestmark = pytest.mark.docker


@pytest.fixture
def provider(client: docker.DockerClient) -> Iterator[WarmDockerSandboxProvider]:
    provider = WarmDockerSandboxProvider(run="warm-tests", client=client)
    yield provider
    provider.close()


def _containers(client: docker.DockerClient) -> list[str]:
    return [found["Id"] for found in client.api.containers(all=True, filters={"label": "harness.run=warm-tests"})]


def test_trials_one_after_the_other_share_a_container_and_nothing_else(
    provider: WarmDockerSandboxProvider, client: docker.DockerClient, base_image: str
) -> None:
    seen = []
    for _ in range(3):
        sandbox = provider.start(spec(), empty(base_image))
        told = shell(sandbox, "ls -A /work /tmp /dev/shm; set -- /proc/[0-9]*; echo $#; echo mine > /work/mine")
        shell(sandbox, "echo mine > /tmp/mine; echo mine > /dev/shm/mine; setsid sleep 600 &")
        sandbox.close()
        seen.append(told.stdout)
        assert 1 == len(_containers(client))
    assert 1 == len(set(seen)), seen


@pytest.mark.slow
def test_trials_with_other_limits_get_another_container(
    provider: WarmDockerSandboxProvider, client: docker.DockerClient, base_image: str
) -> None:
    for memory_mb in (64, 96):
        provider.start(spec(limits=Limits(memory_mb=memory_mb)), empty(base_image)).close()
    assert 2 == len(_containers(client))


@pytest.mark.slow
def test_a_killed_launcher_fails_its_trial_and_not_the_next(
    provider: WarmDockerSandboxProvider, client: docker.DockerClient, base_image: str
) -> None:
    sandbox = provider.start(spec(), empty(base_image))
    [container] = _containers(client)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(sandbox.exec, ["sleep", "60"], {}, 60.0)
        _kill_the_first_forked(client, container)
        with pytest.raises(SandboxError, match="-9"):
            running.result(timeout=60)
    sandbox.close()
    assert "still here\n" == shell(provider.start(spec(), empty(base_image)), "echo still here").stdout


def _kill_the_first_forked(client: docker.DockerClient, container: str) -> None:
    """The process that the supervisor has forked for the trial; with it goes the trial's world."""
    processes = client.api.top(container, ps_args="-eo pid,ppid")["Processes"]
    pids = sorted((int(pid), int(parent)) for pid, parent in processes)
    supervisor = next(pid for pid, parent in pids if parent not in {other for other, _ in pids})
    os.kill(next(pid for pid, parent in pids if parent == supervisor), signal.SIGKILL)


def test_no_privilege_of_the_supervisor_is_left_in_a_trial(
    provider: WarmDockerSandboxProvider, base_image: str
) -> None:
    told = shell(
        provider.start(spec(), empty(base_image)),
        "grep -h '^Cap\\|^Seccomp:\\|^NoNewPrivs' /proc/self/status; grep '^CapBnd' /proc/1/status;"
        " cut -d' ' -f5 /proc/self/mountinfo | sort -u",
    ).stdout.split("\n")
    states = dict(line.split(":\t") for line in told if ":\t" in line)
    kept = sum(1 << number for number in (2, 5, 6, 7))
    assert {"CapInh": 0, "CapPrm": 0, "CapEff": 0, "CapBnd": kept, "CapAmb": 0} == {
        name: int(value, 16) for name, value in states.items() if name.startswith("Cap")
    }
    assert ("1", "2") == (states["NoNewPrivs"], states["Seccomp"])
    assert not [place for place in told if place.startswith(("/run/harness/shared", "/run/harness/stage"))]


@pytest.mark.slow
def test_a_warm_sandbox_shows_the_image_as_an_ordinary_one_does(
    provider: WarmDockerSandboxProvider, client: docker.DockerClient, base_image: str
) -> None:
    """Its uppermost folders are made anew: nothing is missing in them, and nobody may write there."""
    ordinary = DockerSandboxProvider(run="warm-tests", client=client)
    shown = []
    try:
        for sandbox in (provider.start(spec(), empty(base_image)), ordinary.start(spec(), empty(base_image))):
            told = shell(
                sandbox,
                "find / /usr /usr/lib /usr/local /usr/local/lib -maxdepth 1 -printf '%p %y %M %u %g %l\\n' | sort;"
                "find /usr /usr/lib /usr/local /usr/local/lib -maxdepth 1 -printf '%p %T@\\n' | sort;"
                "for folder in / /usr /usr/lib /usr/local/lib; do mkdir $folder/mine; done",
            )
            shown.append((told.stdout, told.stderr))
            sandbox.close()
    finally:
        ordinary.close()
    assert shown[0] == shown[1]
    assert "/usr/lib/python3 d drwxr-xr-x root root" in shown[0][0]
    assert 4 == shown[0][1].count("Read-only file system"), shown[0][1]


_IMAGES = {
    "only adds": "RUN mkdir /usr/share/added && echo more > /usr/share/added/file && echo other > /usr/share/debconf/x",
    "deletes": "RUN rm /usr/bin/env && rm -r /usr/share/perl5",
    "makes anew": "RUN rm -r /usr/share/perl5 && mkdir /usr/share/perl5 && touch /usr/share/perl5/new",
    "replaces a folder by a link": "RUN rm -r /usr/share/perl5 && ln -s / /usr/share/perl5",
}
_LISTED = "find /usr ! -type d -printf '%p %y %m %U %G %s %l\\n' -o -printf '%p %m %U %G\\n' | LC_ALL=C sort"


def _ordinary_listing(client: docker.DockerClient, image: str) -> str:
    """What an ordinary container of the image lists, read when it has ended: followed logs may lack their end."""
    container = client.containers.run(image, ["sh", "-c", _LISTED], detach=True, user=f"{AGENT_UID}")
    try:
        container.wait(timeout=60)
        listed: bytes = container.logs(stdout=True, stderr=False)
        return listed.decode()
    finally:
        container.remove(force=True)


@pytest.mark.slow
@pytest.mark.parametrize("change", _IMAGES.values(), ids=_IMAGES)
def test_what_the_layers_of_an_image_do_to_each_other_is_seen_in_a_warm_sandbox(
    provider: WarmDockerSandboxProvider, client: docker.DockerClient, base_image: str, change: str
) -> None:
    image, _ = client.images.build(fileobj=io.BytesIO(f"FROM {base_image}\n{change}\n".encode()), forcerm=True)
    try:
        sandbox = provider.start(spec(limits=Limits(output_kb=8192)), empty(str(image.id)))
        ordinary = _ordinary_listing(client, str(image.id))
        shown = shell(sandbox, _LISTED).stdout
        mounts = shell(sandbox, "grep ' /usr' /proc/mounts").stdout
        sandbox.close()
        assert ordinary == shown
        assert shown.count("\n") > 1000
        if change == _IMAGES["only adds"]:
            assert "fuse" not in mounts  # an engine that mounts by a program shows the layers to the kernel
    finally:
        provider.close()
        client.images.remove(image.id, force=True)
